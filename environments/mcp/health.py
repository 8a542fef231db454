"""Whether the MCP servers of the catalogue work here: each is started and called once."""

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, cast

from environments.mcp.client.launch import not_installed
from environments.mcp.install import folder_of, is_installed, is_installed_for_some_python
from environments.mcp.servers import (
    NodeServer,
    OwnServer,
    PackagedServer,
    RemoteServer,
    Server,
    ServiceKind,
    known_servers,
    server,
)
from environments.ports import ExposedPort, Sandbox, SandboxProvider, Workspace
from environments.reaper.owner import working_folder
from environments.sandbox.providers import sandbox_provider
from environments.sandbox.workspace import new_workspace
from environments.services.kinds import service_state
from environments.services.running import running_services
from environments.services.starting import ServiceHost
from environments.tool_runtime.states import tool_state
from taskdata.artifacts import ArtifactStore
from taskdata.errors import NightshiftError, ServiceFailed, ToolUnavailable
from taskdata.schema.base import Value
from taskdata.schema.service import MailAccount, MailService, PostgresqlService, Service
from taskdata.schema.task import Resources

if TYPE_CHECKING:
    from taskdata.schema.run import SandboxName

READY = "ready"

_CALL_SECONDS = 60.0
_SERVICES: Mapping[ServiceKind, Service] = {
    "postgresql": PostgresqlService(name="check"),
    "mail": MailService(name="check", accounts=(MailAccount(address="check@example.org"),)),
}


class ServerState(Value):
    """Whether a server works, and which tools it has."""

    name: str
    is_installed: bool
    tools: tuple[str, ...] = ()
    """Names of its tools, if it was started."""
    state: str
    """`ready`, or one line that says what is missing and how to get it."""


def server_states(home: Path, sandbox: str = "bubblewrap") -> dict[str, str]:
    """Return by server's name `ready`, or one line that says what is missing and how to get it.

    Servers of Nightshift's own tools are not started for this. Raises the errors of `examined`.
    """
    known = known_servers(home)
    others = [name for name, entry in known.items() if not isinstance(entry, OwnServer)]
    found = examined(home, sandbox, others)
    return {
        name: found[name].state if name in found else _missing(entry, home, sandbox) or READY
        for name, entry in known.items()
    }


def examined(
    home: Path, sandbox: str = "bubblewrap", names: Collection[str] = ()
) -> dict[str, ServerState]:
    """Start each installed server and call one of its tools; return the states by server's name.

    Args:
        home: Where servers are installed, with a catalogue of its own.
        sandbox: The provider whose sandboxes the servers run in, as many at once as there are
            CPUs; each takes a second or more.
        names: Servers of the catalogue; none: all of them.

    Raises:
        Misuse: there is no such provider or server, or the catalogue cannot be read.
    """
    provider = sandbox_provider(sandbox)
    entries = [server(name, home) for name in names] or list(known_servers(home).values())

    async def tried() -> list[ServerState]:
        places = asyncio.Semaphore(os.cpu_count() or 1)

        async def one(entry: Server) -> ServerState:
            async with places:
                return await _examined(entry, home, provider)

        return await asyncio.gather(*map(one, entries))

    return {found.name: found for found in asyncio.run(tried())}


async def _examined(entry: Server, home: Path, provider: SandboxProvider) -> ServerState:
    missing = _missing(entry, home, provider.name)
    is_here = not isinstance(entry, PackagedServer) or _is_installed(entry, home, provider.name)
    tools: tuple[str, ...] = ()
    if missing is None and (reason := await asyncio.to_thread(provider.unavailable)):
        missing = f"the {provider.name} sandbox does not work here: {reason}"
    if missing is None:
        try:
            tools, missing = await _tried(entry, home, provider)
        except ToolUnavailable as exc:
            missing = str(exc)
            if isinstance(entry, PackagedServer):
                again = f"rm -r {folder_of(entry, home)} && nightshift mcp install {entry.name}"
                missing += f"; to install it afresh, run `{again}`"
        except NightshiftError as exc:
            missing = str(exc)
    return ServerState(name=entry.name, is_installed=is_here, tools=tools, state=missing or READY)


def missing_server(name: str, home: Path, sandbox: str = "bubblewrap") -> str | None:
    """Return why the server cannot start, as far as that is known without starting it.

    Raises:
        Misuse: there is no such server.
    """
    return _missing(server(name, home), home, sandbox)


def _missing(entry: Server, home: Path, sandbox: str) -> str | None:
    if isinstance(entry, RemoteServer):
        return None
    if isinstance(entry, OwnServer):
        known = cast("SandboxName", sandbox)
        states = ((name, tool_state(name, sandbox=known)) for name in entry.tools)
        return next((f"tool {name}: {state}" for name, state in states if state != READY), None)
    if not _is_installed(entry, home, sandbox):
        return not_installed(entry)
    if sandbox == "docker":
        return None
    programs = [*entry.needs.programs, *(("node",) if isinstance(entry, NodeServer) else ())]
    lacking = next((name for name in programs if shutil.which(name) is None), None)
    return lacking and f"MCP server {entry.name!r} needs the program {lacking}: install it"


def _is_installed(entry: PackagedServer, home: Path, sandbox: str) -> bool:
    # In Docker, the image's Python version decides which installed libraries are used.
    found = is_installed_for_some_python if sandbox == "docker" else is_installed
    return found(entry, home)


async def _tried(
    entry: Server, home: Path, provider: SandboxProvider
) -> tuple[tuple[str, ...], str | None]:
    """Return the server's tools and the reason why the server does not work, None if it does.

    Raises:
        NightshiftError: the server does not start.
    """
    # The SDK takes a second to import, so a server that is not installed is reported before.
    from mcp import MCPError
    from pydantic import ValidationError

    from environments.mcp.client.connection import Lost
    from environments.mcp.client.trial import connected

    check, resources = entry.check, Resources()
    async with _sandbox(entry, home, provider) as (sandbox, workspace):
        connection = await connected(entry, sandbox, workspace, resources, home)
        tools = tuple(tool.name for tool in connection.tools)
        try:
            result = await connection.call(check.tool, dict(check.arguments), _CALL_SECONDS)
        except TimeoutError:
            return tools, f"its tool {check.tool} did not answer within {_CALL_SECONDS:.0f} s"
        except (Lost, MCPError, ValidationError) as exc:
            return tools, f"its tool {check.tool} failed: {exc}"
        finally:
            await connection.close()
    if result.is_error and not check.may_refuse:
        return tools, f"its tool {check.tool} returned an error: {str(result.content)[:300]}"
    return tools, None


@asynccontextmanager
async def _sandbox(
    entry: Server, home: Path, provider: SandboxProvider
) -> AsyncIterator[tuple[Sandbox, Workspace]]:
    """Yield a sandbox and its workspace, with the check's files and the server's service."""
    kind = entry.needs.service if isinstance(entry, PackagedServer) else None
    files = dict(entry.check.files)
    with working_folder() as parent, new_workspace(parent, files) as workspace:
        room = ServiceHost(ArtifactStore(str(parent)), provider, parent, home, "doctor")
        async with (
            _ports(kind, room) as ports,
            provider.open(workspace, Resources(), "doctor", ports) as sandbox,
        ):
            yield sandbox, workspace


@asynccontextmanager
async def _ports(
    kind: ServiceKind | None, room: ServiceHost
) -> AsyncIterator[Sequence[ExposedPort]]:
    if kind is None:
        yield ()
        return
    state = service_state(kind, room.provider.name)
    if state != READY:
        raise ServiceFailed(f"its service {kind}: {state}")
    async with running_services((_SERVICES[kind],), room) as running:
        yield running.exposed_ports
