"""How an installed server starts inside a sandbox: its command line and what it sees."""

from pathlib import Path

from environments.mcp.install import THIS_PYTHON, folder_of, is_installed, node_program
from environments.mcp.pool.starting import Launch
from environments.mcp.servers import PackagedServer, PythonServer
from environments.ports import Mount, Sandbox
from taskdata.errors import SandboxFailed, ToolUnavailable

_INSIDE = "/opt/mcp"
_NODE_INSIDE = "/opt/node"

_python_versions: dict[tuple[str, ...], str] = {}


async def launch(server: PackagedServer, home: Path, sandbox: Sandbox) -> Launch:
    """Return how to start `server` in `sandbox`.

    Raises:
        ToolUnavailable: the server is not installed, or Node.js is missing; says what to do.
        SandboxFailed: the sandbox's own Python does not run.
    """
    python = THIS_PYTHON
    if isinstance(server, PythonServer):
        python = await _python_version(sandbox)
    if not is_installed(server, home, python):
        raise ToolUnavailable(not_installed(server, python))
    inside = f"{_INSIDE}/{server.name}"
    mount = Mount(folder_of(server, home, python), inside)
    variables = [f"{name}={value}" for name, value in server.variables.items()]
    if isinstance(server, PythonServer):
        # -S: only the interpreter's standard library, whatever is installed beside it.
        start = [f"PYTHONPATH={inside}", *sandbox.python(), "-S", "-P", "-m", server.module]
        argv = ["/usr/bin/env", *variables, *start, *server.arguments]
        return Launch(argv, (mount,))
    start = [_NODE_INSIDE, f"{inside}/node_modules/{server.script}"]
    return Launch(
        ["/usr/bin/env", *variables, *start, *server.arguments],
        (mount, Mount(node_program(server.name), _NODE_INSIDE)),
    )


def not_installed(server: PackagedServer, python: str = THIS_PYTHON) -> str:
    """Return on one line that `server` is not installed, and how to install it."""
    options = "" if python == THIS_PYTHON else f" --python {python}"
    return (
        f"MCP server {server.name!r} ({server.package} {server.version}) is not installed: "
        f"run `nightshift mcp install {server.name}{options}`"
    )


async def _python_version(sandbox: Sandbox) -> str:
    """Return the version of the sandbox's Python, determined once per process."""
    python = tuple(sandbox.python())
    if python not in _python_versions:
        code = "import sys; print('%d.%d' % sys.version_info[:2])"
        done = await sandbox.run([*python, "-S", "-c", code])
        version = done.stdout.decode(errors="replace").strip()
        if done.exit_code != 0 or not version:
            raise SandboxFailed(f"the sandbox's Python {python[0]} does not start")
        _python_versions[python] = version
    return _python_versions[python]
