"""Whether the MCP servers of the catalogue work here: each is started and called once."""

import asyncio
from pathlib import Path

from environments.mcp.client.launch import not_installed
from environments.mcp.install import is_installed, is_installed_for_some_python
from environments.mcp.servers import RemoteServer, Server, known_servers, server
from environments.ports import SandboxProvider
from environments.reaper.owner import working_folder
from environments.sandbox.providers import sandbox_provider
from environments.sandbox.workspace import new_workspace
from taskdata.errors import NightshiftError
from taskdata.schema.task import Resources

READY = "ready"

_CALL_SECONDS = 30.0


def server_states(home: Path, sandbox: str = "bubblewrap") -> dict[str, str]:
    """Return `ready`, or in one line what is lacking and how to get it, by server's name.

    Args:
        home: Where servers are installed, with a catalogue of its own.
        sandbox: The provider in whose sandbox all are tried at once; it takes a second or more.

    Raises:
        Misuse: there is no such provider, or the catalogue cannot be read.
    """
    provider = sandbox_provider(sandbox)

    async def tried() -> list[str]:
        entries = known_servers(home).values()
        return await asyncio.gather(*(_state(entry, home, provider) for entry in entries))

    return dict(zip(known_servers(home), asyncio.run(tried()), strict=True))


async def _state(entry: Server, home: Path, provider: SandboxProvider) -> str:
    missing = _missing(entry, home, provider.name)
    if missing:
        return missing
    reason = await asyncio.to_thread(provider.unavailable)
    if reason:
        return f"the {provider.name} sandbox does not work here: {reason}"
    try:
        return await _tried(entry, home, provider)
    except NightshiftError as exc:
        return str(exc)


def missing_server(name: str, home: Path, sandbox: str = "bubblewrap") -> str | None:
    """Return why the server cannot start, as far as that is known without starting it.

    Raises:
        Misuse: there is no such server.
    """
    return _missing(server(name, home), home, sandbox)


def _missing(entry: Server, home: Path, sandbox: str) -> str | None:
    if isinstance(entry, RemoteServer):
        return None
    # In Docker, the image's Python version decides which installed libraries are used.
    installed = is_installed_for_some_python if sandbox == "docker" else is_installed
    return None if installed(entry, home) else not_installed(entry)


async def _tried(entry: Server, home: Path, provider: SandboxProvider) -> str:
    # The SDK takes a second to import, so a server that is not installed is reported before.
    from mcp import MCPError
    from pydantic import ValidationError

    from environments.mcp.client.connection import Lost
    from environments.mcp.client.trial import connected

    check, resources = entry.check, Resources()
    with working_folder() as parent, new_workspace(parent, {}) as workspace:
        async with provider.open(workspace, resources, "doctor") as sandbox:
            connection = await connected(entry, sandbox, workspace, resources, home)
            try:
                result = await connection.call(check.tool, dict(check.arguments), _CALL_SECONDS)
            except TimeoutError:
                return f"it does not answer {check.tool} within {_CALL_SECONDS:.0f} s"
            except (Lost, MCPError, ValidationError) as exc:
                return f"it cannot do {check.tool}: {exc}"
            finally:
                await connection.close()
    if result.is_error and not check.may_refuse:
        return f"it refuses {check.tool}: {str(result.content)[:300]}"
    return READY
