"""What a trial offers: the task's tools and servers, and its distractors among them."""

from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from environments.ports import Sandbox, Tool, Workspace
from taskdata.schema.task import Resources, Task

SERVER_PREFIX = "mcp:"
"""In front of a distractor that is a server."""


@dataclass(frozen=True)
class Offer:
    """Names of what an agent may use."""

    tools: tuple[str, ...]
    """Of the catalogue."""
    servers: tuple[str, ...]
    """MCP servers."""


def offered(task: Task) -> Offer:
    """Return what a trial of `task` offers; with distractors, in an order that tells nothing."""
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
) -> AsyncIterator[tuple[Tool, ...]]:
    """Yield the tools of the offered servers, which live as long as the block.

    Args:
        offer: Of the task.
        sandbox: Of the trial; servers that were installed are started in it.
        workspace: Of the trial.
        resources: Of the task.
        home: Where servers are installed.
        taken: Names of the other tools; a tool of the same name gets its server's in front.

    Raises:
        Misuse: the catalogue has no such server.
        ToolUnavailable: a server is not installed, or does not start; says what to do.
        SandboxFailed: the sandbox could not start it.
    """
    if not offer.servers:
        yield ()
        return
    # The SDK takes a second to import.
    from environments.mcp.client.trial import tools_of_servers

    async with tools_of_servers(offer.servers, sandbox, workspace, resources, home, taken) as tools:
        yield tools
