"""Install MCP servers into folders of their own: never into our environment or during a trial.

Only the installation needs the network: a sandbox sees the folder read-only.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from filelock import FileLock

import environments
from environments.mcp.servers import NodeServer, PackagedServer, PythonServer
from taskdata.errors import ToolUnavailable

THIS_PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"

_OWN_UV = Path(environments.__file__).parents[1] / ".uv" / "bin" / "uv"
"""Where `scripts/setup` puts uv on machines without it."""

_SECONDS = 600
_STAMP = "installed.json"
# Variables that installers need to reach a registry; no API key is passed to their code.
_PASSED_ON = (
    *("PATH", "HOME", "LANG", "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS"),
    *("HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "https_proxy", "http_proxy", "no_proxy"),
)
_PASSED_ON_PREFIXES = ("UV_", "PIP_", "NPM_CONFIG_", "npm_config_")


def folder_of(server: PackagedServer, home: Path, python: str = THIS_PYTHON) -> Path:
    """Return where `server` is, or would be, installed.

    Args:
        server: The server.
        home: Folder of this installation's state.
        python: Version of the Python that will run the server, such as `3.11`; libraries depend on
            it.
    """
    kind = f"python{python}" if isinstance(server, PythonServer) else "node"
    return home.resolve() / "mcp" / server.name / kind


def is_installed(server: PackagedServer, home: Path, python: str = THIS_PYTHON) -> bool:
    """Return whether exactly this version of `server` is installed."""
    stamp = folder_of(server, home, python) / _STAMP
    return stamp.is_file() and stamp.read_text(encoding="utf-8") == _stamp(server)


def is_installed_for_some_python(server: PackagedServer, home: Path) -> bool:
    """Return whether this version of `server` is installed for any version of Python."""
    folders = folder_of(server, home).parent.glob("python*")
    pythons = [THIS_PYTHON, *(folder.name.removeprefix("python") for folder in folders)]
    return any(is_installed(server, home, python) for python in pythons)


def install(server: PackagedServer, home: Path, python: str = THIS_PYTHON) -> Path:
    """Install `server` if needed, and return its folder; safe to interrupt and to run concurrently.

    Raises:
        ToolUnavailable: uv or npm is missing or failed; includes its error output.
    """
    folder = folder_of(server, home, python)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.parent / ".lock", fallback_to_soft=False):
        if is_installed(server, home, python):
            return folder
        partial = Path(tempfile.mkdtemp(prefix=".partial-", dir=folder.parent))
        try:
            _fill(server, partial, python)
            (partial / _STAMP).write_text(_stamp(server), encoding="utf-8")
            _open_to_readers(partial)
            shutil.rmtree(folder, ignore_errors=True)
            partial.rename(folder)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    return folder


def _stamp(server: PackagedServer) -> str:
    """Return what identifies an installation; the way the server is started is not part of it."""
    constraints = server.constraints if isinstance(server, PythonServer) else ()
    what = {"package": server.package, "version": server.version, "constraints": constraints}
    return json.dumps(what, sort_keys=True)


def _fill(server: PackagedServer, folder: Path, python: str) -> None:
    if isinstance(server, NodeServer):
        # No install scripts: code of a package runs in the sandbox only.
        options = ("--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock")
        what = f"{server.package}@{server.version}"
        _run(server, [_npm(server), "install", *options, "--prefix", str(folder), what])
        return
    command = [str(uv_program(server.name)), "pip", "install", "--quiet", "--only-binary", ":all:"]
    command += ["--python", sys.executable, "--python-version", python, "--target", str(folder)]
    _run(server, [*command, f"{server.package}=={server.version}", *server.constraints])
    if python == THIS_PYTHON:
        # Sandboxes cannot write the bytecode cache. Some packages contain files that do not
        # compile.
        compiling = [sys.executable, "-m", "compileall", "-q", str(folder)]
        subprocess.run(compiling, check=False, capture_output=True, timeout=_SECONDS)


def _run(server: PackagedServer, command: list[str]) -> None:
    variables = {
        name: value
        for name, value in os.environ.items()
        if name in _PASSED_ON or name.startswith(_PASSED_ON_PREFIXES)
    }
    try:
        done = subprocess.run(
            command,
            check=False,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_SECONDS,
            env=variables,
            cwd="/",
        )
    except (OSError, subprocess.TimeoutExpired) as exc:
        raise ToolUnavailable(f"MCP server {server.name!r} cannot be installed: {exc}") from exc
    if done.returncode != 0:
        said = " ".join((done.stderr or done.stdout).split())[-500:]
        raise ToolUnavailable(
            f"MCP server {server.name!r} cannot be installed: {Path(command[0]).name} ended with "
            f"code {done.returncode}: {said or 'it said nothing'}"
        )


def uv_program(server: str) -> Path:
    """Return uv; raises `ToolUnavailable`, which names the server that is to be installed."""
    return _program(server, "uv", str(_OWN_UV) if _OWN_UV.is_file() else shutil.which("uv"))


def node_program(server: str) -> Path:
    """Return Node.js, which every sandbox sees regardless of its own system.

    Raises:
        ToolUnavailable: there is none; names the server that needs it.
    """
    found = shutil.which("node")
    if found is None:
        raise ToolUnavailable(
            f"MCP server {server!r} needs Node.js: there is no `node` on the PATH"
        )
    return Path(found).resolve()


def _npm(server: PackagedServer) -> str:
    return str(_program(server.name, "npm", shutil.which("npm")))


def _program(server: str, name: str, found: str | None) -> Path:
    if found is None:
        raise ToolUnavailable(
            f"MCP server {server!r} cannot be installed: there is no {name} on the PATH"
        )
    return Path(found)


def _open_to_readers(folder: Path) -> None:
    """Make everything readable for the sandbox's user, whatever our umask is."""
    for here, _, names in os.walk(folder):
        os.chmod(here, 0o755)  # noqa: S103
        for name in names:
            file = Path(here) / name
            if not file.is_symlink():
                file.chmod(file.stat().st_mode | 0o444)
