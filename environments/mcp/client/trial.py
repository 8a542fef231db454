"""The servers of one trial: started concurrently, offered as tools, and ended with the trial."""

import asyncio
import logging
import os
import re
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from mcp_types import Tool as DeclaredTool

from environments.mcp.client.connection import Connection
from environments.mcp.client.launch import launch
from environments.mcp.client.live import LiveServer, McpTool, all_closed
from environments.mcp.client.schemas import MAX_DESCRIPTION_CHARS, safe_schema, shortened
from environments.mcp.client.transport import over_http
from environments.mcp.pool.starting import PoolEntry, launch_from_pool
from environments.mcp.servers import RemoteServer, Server, server
from environments.ports import Sandbox, Tool, Workspace
from environments.sandbox.shielding import to_the_end
from taskdata.errors import ToolUnavailable
from taskdata.schema.task import Resources
from taskdata.schema.tool import ToolSpec

_logger = logging.getLogger(__name__)

_MAX_NAME_CHARS = 64
_OTHER_CHARACTERS = re.compile(r"[^A-Za-z0-9_-]")


@asynccontextmanager
async def tools_of_servers(
    names: Sequence[str],
    sandbox: Sandbox,
    workspace: Workspace,
    resources: Resources,
    home: Path,
    taken: Collection[str] = (),
    pool: Sequence[PoolEntry] = (),
) -> AsyncIterator[tuple[Tool, ...]]:
    """Yield the tools of the named servers, which live as long as the block.

    Args:
        names: Names of servers in the catalogue; each is started once.
        sandbox: Installed servers are started in it.
        workspace: The trial's workspace; its output folder shows which files a call changed.
        resources: Their wall time limits each call.
        home: Folder of this installation's state, where servers are installed.
        taken: Names of other tools; a server's tool with such a name gets the server's name as
            prefix.
        pool: Servers that the task's pool brings; they come before those of the catalogue.

    Raises:
        Misuse: the catalogue has no such server.
        ToolUnavailable: a server is not installed, or does not start; says what to do.
        SandboxFailed: the sandbox could not start a server.
    """
    own = {entry.name: entry for entry in pool}
    entries = [own.get(name) or server(name, home) for name in dict.fromkeys(names)]
    makers = [_connector(entry, sandbox, workspace, resources, home) for entry in entries]
    connections = await _all_connected(makers)
    live = [
        LiveServer(entry, connect, connection, workspace, resources.wall_seconds)
        for entry, connect, connection in zip(entries, makers, connections, strict=True)
    ]
    try:
        yield _named(entries, connections, live, taken)
    finally:
        await to_the_end(all_closed(live))


async def connected(
    entry: Server | PoolEntry,
    sandbox: Sandbox,
    workspace: Workspace,
    resources: Resources,
    home: Path,
) -> Connection:
    """Return a connection to `entry`; raises like `tools_of_servers`."""
    return await _connector(entry, sandbox, workspace, resources, home)()


def _connector(
    entry: Server | PoolEntry,
    sandbox: Sandbox,
    workspace: Workspace,
    resources: Resources,
    home: Path,
) -> Callable[[], Awaitable[Connection]]:
    async def connect() -> Connection:
        if isinstance(entry, RemoteServer):
            transport = over_http(entry.url, _token(entry), resources.wall_seconds)
            return await Connection.over_transport(entry.name, transport)
        if isinstance(entry, PoolEntry):
            start = await launch_from_pool(entry, home, sandbox, workspace)
        else:
            start = await launch(entry, home, sandbox)
        return await Connection.over_process(
            entry.name,
            lambda: sandbox.start(start.argv, mounts=start.mounts, reserves_memory=True),
            # Pools greet servers this way, and some servers exit on any other first request.
            "legacy" if isinstance(entry, PoolEntry) else "auto",
        )

    return connect


def _token(entry: RemoteServer) -> str | None:
    if entry.token_variable is None:
        return None
    token = os.environ.get(entry.token_variable)
    if not token:
        raise ToolUnavailable(
            f"MCP server {entry.name!r} needs a token in the environment: "
            f"set {entry.token_variable}"
        )
    return token


async def _all_connected(makers: Sequence[Callable[[], Awaitable[Connection]]]) -> list[Connection]:
    """Return all connections; after the first failure the others are closed and it is raised."""
    connecting = [asyncio.ensure_future(make()) for make in makers]
    try:
        return list(await asyncio.gather(*connecting))
    except BaseException:
        await to_the_end(_abandoned(connecting))
        raise


async def _abandoned(connecting: "Sequence[asyncio.Future[Connection]]") -> None:
    """Cancel connections that are still being made, and close those that are open."""
    for future in connecting:
        future.cancel()
    await asyncio.wait(connecting)
    started = [f.result() for f in connecting if not f.cancelled() and f.exception() is None]
    await asyncio.gather(*(connection.close() for connection in started))


def _named(
    entries: Sequence[Server | PoolEntry],
    connections: Sequence[Connection],
    live: Sequence[LiveServer],
    taken: Collection[str],
) -> tuple[Tool, ...]:
    """Return the tools under unique names that do not depend on the order of the servers."""
    offered = [
        (entry, tool, server)
        for entry, connection, server in zip(entries, connections, live, strict=True)
        for tool in connection.tools
    ]
    counts = Counter(_plain_name(tool.name) for _, tool, _ in offered)
    used = set(taken)
    tools: list[Tool] = []
    for entry, declared, running in offered:
        name = _plain_name(declared.name)
        if name in taken or counts[name] > 1:
            name = _plain_name(f"{entry.name}_{declared.name}")
        if name in used:
            _logger.warning("MCP server %s offers %r twice: left out", entry.name, name)
            continue
        used.add(name)
        tools.append(McpTool(_spec(name, entry, declared), running, declared.name))
    return tuple(tools)


def _spec(name: str, entry: Server | PoolEntry, declared: DeclaredTool) -> ToolSpec:
    said = declared.description or declared.title or ""
    return ToolSpec(
        name=name,
        description=shortened(said, MAX_DESCRIPTION_CHARS) or f"{declared.name} of {entry.name}",
        category=entry.category,
        parameters=safe_schema(declared.input_schema),
    )


def _plain_name(name: str) -> str:
    """Return `name` with only the characters that every provider accepts."""
    return _OTHER_CHARACTERS.sub("_", name)[:_MAX_NAME_CHARS] or "tool"
