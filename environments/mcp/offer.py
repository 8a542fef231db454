"""What a trial offers: the task's tools and servers, mixed with its distractors."""

from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from environments.mcp.pool.starting import PoolEntry
from environments.ports import Sandbox, Tool, Workspace
from taskdata.schema.task import Resources, Task

SERVER_PREFIX = "mcp:"
"""Prefix of a distractor that is a server."""


@dataclass(frozen=True)
class Offer:
    """Names of the tools and servers that an agent may use."""

    tools: tuple[str, ...]
    """Names of tools in the catalogue."""
    servers: tuple[str, ...]
    """Names of MCP servers."""


def offered(task: Task) -> Offer:
    """Return what a trial of `task` offers; distractors are mixed in, so order reveals nothing."""
    if task.planning is not None:
        # What a planning case offers is named in plans, and never run.
        return Offer((), ())
    around = task.environment
    if around is None:
        return Offer(task.tools, ())
    if not around.distractors:
        return Offer(task.tools, around.servers)
    servers = {
        name.removeprefix(SERVER_PREFIX)
        for name in around.distractors
        if name.startswith(SERVER_PREFIX)
    }
    tools = {name for name in around.distractors if not name.startswith(SERVER_PREFIX)}
    return Offer(tuple(sorted({*task.tools, *tools})), tuple(sorted({*around.servers, *servers})))


@asynccontextmanager
async def server_tools(
    offer: Offer,
    sandbox: Sandbox,
    workspace: Workspace,
    resources: Resources,
    home: Path,
    taken: Collection[str] = (),
    pool: Sequence[PoolEntry] = (),
) -> AsyncIterator[tuple[Tool, ...]]:
    """Yield the tools of the offered servers, which live as long as the block.

    Args:
        offer: What the task offers.
        sandbox: The trial's sandbox; installed servers are started in it.
        workspace: The trial's workspace.
        resources: The task's resources.
        home: Folder of this installation's state, where servers are installed.
        taken: Names of other tools; a server's tool with such a name gets the server's name as
            prefix.
        pool: Servers that the task's pool brings; they come before those of the catalogue.

    Raises:
        Misuse: the catalogue has no such server.
        ToolUnavailable: a server is not installed, or does not start; says what to do.
        SandboxFailed: the sandbox could not start a server.
    """
    if not offer.servers:
        yield ()
        return
    # The SDK takes a second to import.
    from environments.mcp.client.trial import tools_of_servers

    async with tools_of_servers(
        offer.servers, sandbox, workspace, resources, home, taken, pool
    ) as tools:
        yield tools
