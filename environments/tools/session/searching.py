"""GoogleSearch (GTA, appendix B.1) and web_search (Toolathlon, appendix B): the same search."""

from pydantic import Field

from environments.search.ports import SearchHit
from environments.toolkit.definition import Arguments
from environments.toolkit.host_tool import HostCall, HostDefinition
from environments.toolkit.services import Service
from environments.tools.wording import count_of
from taskdata.schema.task import Capability
from taskdata.schema.tool import ToolResult

MAX_RESULTS = 20

_MAX_QUERY_CHARS = 400


class GoogleSearchArguments(Arguments):
    """Arguments of GoogleSearch."""

    query: str = Field(min_length=1, max_length=_MAX_QUERY_CHARS, description="What to look for.")
    k: int = Field(default=10, ge=1, le=MAX_RESULTS, description="Results to show.")


class WebSearchArguments(Arguments):
    """Arguments of web_search."""

    query: str = Field(min_length=1, max_length=_MAX_QUERY_CHARS, description="What to look for.")
    num_results: int = Field(default=10, ge=1, le=MAX_RESULTS, description="Results to show.")


async def google_search(args: GoogleSearchArguments, call: HostCall) -> ToolResult:
    """Return title, address and excerpt of each result."""
    return _shown(args.query, await call.search(args.query, args.k))


async def web_search(args: WebSearchArguments, call: HostCall) -> ToolResult:
    """Return title, address and excerpt of each result."""
    return _shown(args.query, await call.search(args.query, args.num_results))


def _shown(query: str, hits: tuple[SearchHit, ...]) -> ToolResult:
    if not hits:
        return ToolResult(text=f"Nothing was found for {query!r}. Use fewer or other words.")
    lines = [f"{count_of(len(hits), 'result')}, best first:"]
    for number, hit in enumerate(hits, start=1):
        lines.append(f"{number}. {hit.title}\n   {hit.url}\n   {hit.snippet}")
    return ToolResult(text="\n".join(lines))


TOOLS = (
    HostDefinition(
        name="GoogleSearch",
        description="Search the web; shows title, address and a piece of each result.",
        category=Capability.OPERATION,
        arguments=GoogleSearchArguments,
        run=google_search,
        backend="the configured search",
        needs=Service.SEARCH,
        paging="Ask for fewer results.",
    ),
    HostDefinition(
        name="web_search",
        description="Search the web; shows title, address and a piece of each result.",
        category=Capability.OPERATION,
        arguments=WebSearchArguments,
        run=web_search,
        backend="the configured search",
        needs=Service.SEARCH,
        paging="Ask for fewer results.",
    ),
)
