"""How an installed server starts inside a sandbox: its command line and what it sees."""

import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from environments.mcp.install import THIS_PYTHON, folder_of, is_installed, node_program
from environments.mcp.pool.starting import Launch
from environments.mcp.servers import OwnServer, PackagedServer, PythonServer
from environments.ports import Mount, Sandbox
from taskdata.errors import SandboxFailed, ToolUnavailable

_INSIDE = "/opt/mcp"
_NODE_INSIDE = "/opt/node"
_OWN = "environments.mcp.inside"
_PLACEHOLDER = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")

_python_versions: dict[tuple[str, ...], str] = {}


async def launch(server: PackagedServer | OwnServer, home: Path, sandbox: Sandbox) -> Launch:
    """Return how to start `server` in `sandbox`.

    Raises:
        ToolUnavailable: the server is not installed, or Node.js is missing; says what to do.
        SandboxFailed: the sandbox's own Python does not run.
    """
    if isinstance(server, OwnServer):
        return Launch([*sandbox.python(), "-P", "-m", _OWN, *server.tools], ())
    python = THIS_PYTHON
    if isinstance(server, PythonServer):
        python = await _python_version(sandbox)
    if not is_installed(server, home, python):
        raise ToolUnavailable(not_installed(server, python))
    inside = f"{_INSIDE}/{server.name}"
    mount = Mount(folder_of(server, home, python), inside)
    variables = [f"{name}={value}" for name, value in server.variables.items()]
    if isinstance(server, PythonServer):
        argv = [f"PYTHONPATH={inside}", *sandbox.python(), "-S", "-P", *_started(server)]
        return Launch(_resolved([*variables, *argv, *server.arguments]), (mount,))
    argv = [_NODE_INSIDE, f"{inside}/node_modules/{server.script}"]
    return Launch(
        _resolved([*variables, *argv, *server.arguments]),
        (mount, Mount(node_program(server.name), _NODE_INSIDE)),
    )


def _started(server: PythonServer) -> Sequence[str]:
    """Return the options that make Python start the server."""
    if server.function is None:
        return ("-m", server.module)
    called = f"import sys; from {server.module} import {server.function} as main; sys.exit(main())"
    return ("-c", called)


def _resolved(argv: Sequence[str]) -> Sequence[str]:
    """Return the command of `env` in which a shell inside replaces each `${NAME}`.

    Services set their variables inside the sandbox only, so the host does not know the values.
    """
    if not any(_PLACEHOLDER.search(word) for word in argv):
        return ["/usr/bin/env", *argv]
    words = " ".join(_shell_word(word) for word in argv)
    return ["/bin/sh", "-c", f"exec /usr/bin/env {words}"]


def _shell_word(text: str) -> str:
    """Return a text as one word of a shell command in which `${NAME}` is expanded."""
    word = ""
    for position, part in enumerate(_PLACEHOLDER.split(text)):
        if position % 2:
            word += f'"${{{part}:?is not set: the task brings no such service}}"'
        elif part:
            word += shlex.quote(part)
    return word or "''"


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
