"""How a pool's server starts in a trial's sandbox: placeholders filled in, folders mounted.

Servers of this format may write into their own folder, so each trial has a copy of the folder
beside its workspace; the libraries in it are shared and read-only. As in the format's own runner,
the variables of the task's PostgreSQL service replace those that a configuration sets.
"""

import asyncio
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from environments.mcp.install import node_program
from environments.mcp.pool.installed import (
    SERVERS,
    folder_of,
    interpreter_of,
    is_installed,
    not_installed,
)
from environments.mcp.pool.interpreters import sandbox_interpreter
from environments.mcp.pool.recipes import NODE_INSIDE, SERVERS_INSIDE
from environments.ports import Mount, Sandbox, Workspace
from environments.renderers.pages.formats import browser
from environments.sandbox.identity import owner_of_output
from taskdata.errors import SandboxFailed, ToolUnavailable
from taskdata.schema.pool_server import PoolServer, filled_in
from taskdata.schema.service import HOST, PostgresqlService, Service, ports_of
from taskdata.schema.task import Capability, Task

_COPIES = "pool-servers"
_LIBRARIES = (".venv", "node_modules")

WORKSPACE_INSIDE = "/workspace/output"
TASK_INSIDE = "/opt/task"
TOKEN_PREFIX = "NIGHTSHIFT_TOKEN_"  # noqa: S105 - the beginning of a variable's name


@dataclass(frozen=True)
class Launch:
    """The command and the mounts with which a sandbox starts a server."""

    argv: Sequence[str]
    mounts: Sequence[Mount]


@dataclass(frozen=True)
class PoolEntry:
    """A pool's server in one trial, used in place of an entry of the catalogue."""

    server: PoolServer
    database: Mapping[str, str] = field(default_factory=dict)
    """Variables that lead to the task's database."""
    task_folder: Path | None = None
    """Folder with the task's files that the server may see."""
    bank: str = "BANK"

    @property
    def name(self) -> str:
        """Return the name that tasks use."""
        return self.server.name

    @property
    def category(self) -> Capability:
        """Return the capability that the server's tools exercise."""
        return Capability.OPERATION


def database_variables(services: tuple[Service, ...]) -> dict[str, str]:
    """Return the variables with which the format's servers find the first PostgreSQL service."""
    for service, ports in zip(services, ports_of(services), strict=True):
        if isinstance(service, PostgresqlService):
            return {
                "PG_HOST": HOST,
                "PG_PORT": str(ports[0]),
                "PG_DATABASE": service.database,
                "PG_USER": service.user,
                "PG_PASSWORD": service.password,
                "PGHOST": HOST,
                "PGPORT": str(ports[0]),
                "PGDATABASE": service.database,
                "PGUSER": service.user,
                "PGPASSWORD": service.password,
            }
    return {}


def pool_servers(task: Task) -> tuple[PoolServer, ...]:
    """Return the servers that the task's pool brings, including those that cannot be used."""
    return task.environment.pool_servers if task.environment else ()


def pool_entries(
    task: Task, task_folder: Path | None = None, bank: str = "BANK"
) -> tuple[PoolEntry, ...]:
    """Return the servers that the task's pool brings and that can be used.

    Args:
        task: The task.
        task_folder: Folder with the task's files that its servers may see, if there are any.
        bank: The task's bank, as commands name it.
    """
    database = database_variables(task.services)
    usable = (server for server in pool_servers(task) if not server.refused)
    return tuple(PoolEntry(server, database, task_folder, bank) for server in usable)


def missing_tokens(server: PoolServer) -> tuple[str, ...]:
    """Return the variables that hold the server's tokens and are not set here."""
    names = (f"{TOKEN_PREFIX}{token.upper()}" for token in server.tokens)
    return tuple(name for name in names if not os.environ.get(name))


async def launch_from_pool(
    entry: PoolEntry, home: Path, sandbox: Sandbox, workspace: Workspace
) -> Launch:
    """Return how to start the server in `sandbox` over `workspace`.

    Raises:
        ToolUnavailable: the server is not installed, or a token is missing; says what to do.
        SandboxFailed: the sandbox's own Python does not run, or the folder cannot be copied.
    """
    server = entry.server
    if unset := missing_tokens(server):
        raise ToolUnavailable(
            f"MCP server {server.name!r} of the pool needs a token: set {unset[0]}"
        )
    own = await sandbox_interpreter(sandbox) if server.kind == "python" else None
    interpreter = interpreter_of(server, own) if own else None
    if not is_installed(server, home, interpreter):
        raise ToolUnavailable(not_installed(server, entry.bank))
    source = folder_of(server, home, interpreter) / SERVERS / (server.folder or "")
    inside = f"{SERVERS_INSIDE}/{server.folder}"
    mounts = await asyncio.to_thread(_copied, source, inside, workspace)
    argv = [_value(text) for text in server.argv]
    if interpreter is None:
        mounts.append(Mount(node_program(server.name), f"{NODE_INSIDE}/node"))
        argv[0] = f"{NODE_INSIDE}/node"
    else:
        mounts += interpreter.mounts
    if entry.task_folder is not None:
        mounts.append(Mount(entry.task_folder, TASK_INSIDE))
    stated = {name: _value(text) for name, text in server.variables.items()}
    variables = {**_browser_variables(server), **stated, **entry.database}
    named = (f"{name}={value}" for name, value in variables.items())
    # Without PYTHONPATH a server cannot import Nightshift's packages instead of its own.
    beginning = ("/usr/bin/env", "-u", "PYTHONPATH", f"--chdir={_value(server.directory)}")
    return Launch((*beginning, *named, *argv), tuple(mounts))


def _browser_variables(server: PoolServer) -> dict[str, str]:
    """Return the variables that make Playwright's server use the sandbox's Chromium.

    Chromium's own sandbox is off, because it needs rights that programs here do not have.
    """
    program = browser() if server.uses_browser else None
    if program is None:
        return {}
    return {"PLAYWRIGHT_MCP_EXECUTABLE_PATH": program, "PLAYWRIGHT_MCP_SANDBOX": "false"}


def _copied(source: Path, inside: str, workspace: Workspace) -> list[Mount]:
    """Return the mounts of a copy of `source` that the programs of `workspace` may change."""
    libraries: list[Path] = []

    def shared(place: str, names: list[str]) -> list[str]:
        found = [Path(place, name) for name in names if name in _LIBRARIES]
        # Links are copied as links, so that no file of the host gets into the sandbox.
        folders = [path for path in found if path.is_dir() and not path.is_symlink()]
        libraries.extend(path.relative_to(source) for path in folders)
        return [path.name for path in folders]

    try:
        above = workspace.root / _COPIES
        above.mkdir(exist_ok=True)
        copy = Path(tempfile.mkdtemp(dir=above))
        shutil.copytree(source, copy, symlinks=True, ignore=shared, dirs_exist_ok=True)
        for path in libraries:
            (copy / path).mkdir()
        owner = owner_of_output(workspace.output)
        for place, _, names in os.walk(copy):
            for path in (Path(place), *(Path(place, name) for name in names)):
                os.chown(path, *owner, follow_symlinks=False)
        for path in (above, copy):
            path.chmod(0o755)
    except (OSError, shutil.Error) as error:
        raise SandboxFailed(f"cannot copy {source} for a trial: {error}") from error
    return [
        Mount(copy, inside, writable=True),
        *(Mount(source / path, f"{inside}/{path}") for path in libraries),
    ]


def _value(text: str) -> str:
    return filled_in(text, _placeholder)


def _placeholder(name: str) -> str:
    known = {
        "local_servers_paths": SERVERS_INSIDE,
        "agent_workspace": WORKSPACE_INSIDE,
        "task_dir": TASK_INSIDE,
    }
    if name in known:
        return known[name]
    return os.environ.get(f"{TOKEN_PREFIX}{name.removeprefix('token.').upper()}", "")
