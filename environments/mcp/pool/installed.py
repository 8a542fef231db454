"""Where the servers of pools are installed, and which of them are installed.

The folder of an installation is named after the content of the server's source. Pools with the same
version of a server share it, and pools with different versions do not affect each other.
"""

import json
from pathlib import Path

from environments.mcp.pool.interpreters import Interpreter, fitting, own_interpreter
from environments.renderers.pages.formats import browser
from taskdata.errors import ToolUnavailable
from taskdata.schema.pool_server import PoolServer

STAMP = "installed.json"
FOLDER = "pool-servers"
SERVERS = "local_servers"
"""Folder of an installation that holds the server's own folder."""

_MADE_AS = 1
"""Version of the build: increase it when servers are built in another way."""


def folder_of(server: PoolServer, home: Path, interpreter: Interpreter | None) -> Path:
    """Return the server's folder, installed or not; `interpreter` is None for Node.js servers."""
    return _folder_of_source(server, home) / (interpreter.key if interpreter else "node")


def locks_of(server: PoolServer, home: Path) -> Path:
    """Return the folder with the locks that builds of the server have created."""
    return _folder_of_source(server, home) / "locks"


def is_installed(server: PoolServer, home: Path, interpreter: Interpreter | None) -> bool:
    """Return whether the server is installed for this interpreter."""
    return _is_whole(folder_of(server, home, interpreter), server)


def missing(server: PoolServer, home: Path, sandbox: str, bank: str) -> str | None:
    """Return on one line why the server cannot start, None if no reason is known.

    Args:
        server: The server.
        home: Folder of this installation's state.
        sandbox: Name of the provider that will run it.
        bank: The bank whose tasks need it.
    """
    if sandbox == "docker":
        # The version of the image's Python is unknown until a container runs.
        folders = _folder_of_source(server, home).glob("*")
        return None if any(_is_whole(f, server) for f in folders) else not_installed(server, bank)
    if server.uses_browser and browser() is None:
        return (
            f"MCP server {server.name!r} of the pool needs Chromium: on Debian, "
            "apt install --no-install-recommends chromium"
        )
    try:
        interpreter = interpreter_of(server, own_interpreter())
    except ToolUnavailable as exc:
        return f"MCP server {server.name!r} of the pool cannot run: {exc}"
    return None if is_installed(server, home, interpreter) else not_installed(server, bank)


def interpreter_of(server: PoolServer, own: Interpreter) -> Interpreter | None:
    """Return the Python that runs the server, None for Node.js; `own` is the sandbox's Python.

    Raises:
        ToolUnavailable: the host has no Python version that the server supports.
    """
    return fitting(server.requires_python, own) if server.kind == "python" else None


def not_installed(server: PoolServer, bank: str) -> str:
    """Return one line that says that the server is not installed, and how to install it."""
    return (
        f"MCP server {server.name!r} of the pool is not installed: "
        f"run `nightshift mcp install --bank {bank} {server.name}`"
    )


def stamp(server: PoolServer) -> str:
    """Return the text that identifies an installation of the server."""
    what = {"made_as": _MADE_AS, "source": _sha256(server)}
    return json.dumps(what, sort_keys=True)


def _is_whole(folder: Path, server: PoolServer) -> bool:
    file = folder / STAMP
    return file.is_file() and file.read_text(encoding="utf-8") == stamp(server)


def _folder_of_source(server: PoolServer, home: Path) -> Path:
    return home.resolve() / "mcp" / FOLDER / _sha256(server)[:16] / _project(server)


def _project(server: PoolServer) -> str:
    """Return a name for the built package, because one source may hold several packages."""
    inner = server.project if server.kind == "python" else (server.entry or "")
    return inner.replace("/", "+") or "all"


def _sha256(server: PoolServer) -> str:
    if server.source is None:
        raise ToolUnavailable(f"MCP server {server.name!r}: {server.refused}")
    return server.source.sha256
