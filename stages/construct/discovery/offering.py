"""The tools of the catalogue and the MCP servers that proposed scenarios may use."""

from collections.abc import Sequence
from pathlib import Path

from environments.mcp.servers import server
from environments.tool_runtime.catalogue import catalogue
from environments.tool_runtime.states import READY, tool_state
from environments.tool_runtime.toolbox import ALWAYS_PRESENT
from stages.construct.discovery.proposals import LEAST_TOOLS
from stages.construct.material.base import OF_THE_SESSION
from taskdata.errors import Misuse
from taskdata.schema.discovery import OfferedTool


def offered(
    tools: Sequence[str] | None, servers: Sequence[str], home: Path
) -> tuple[OfferedTool, ...]:
    """Return the named tools and servers.

    Args:
        tools: Names in the catalogue. None: no tool if servers are named, otherwise every tool
            that is ready on this machine.
        servers: Names of MCP servers.
        home: Folder of this installation's state, which may describe more servers.

    Raises:
        Misuse: a name is unknown, or there are too few for a task that needs several.
    """
    known = catalogue()
    if unknown := [name for name in tools or () if name not in known]:
        raise Misuse(f"--tools: {', '.join(unknown)}: docs/tools.md has no such tools")
    if tools is None:
        ready = (name for name in known if not servers and tool_state(name) == READY)
        tools = [name for name in ready if name not in {*OF_THE_SESSION, *ALWAYS_PRESENT}]
    specs = (known[name].spec for name in tools)
    found = [
        *(OfferedTool(name=s.name, category=s.category, description=s.description) for s in specs),
        *(_server(name, home) for name in servers),
    ]
    if len(found) < LEAST_TOOLS:
        raise Misuse(
            f"--tools, --servers: {len(found)} named; a scenario needs at least {LEAST_TOOLS}"
        )
    return tuple(found)


def _server(name: str, home: Path) -> OfferedTool:
    found = server(name, home)
    return OfferedTool(name=found.name, category=found.category, description=found.about)
