"""handle_overlong_tool_outputs: read and search results that are too long to be shown whole.

Where a task offers this tool, a long result is shown as its first page and kept (Toolathlon,
appendix B). Results that their tool has cut itself end with how to ask it for the rest.
"""

from collections.abc import Iterator

from pydantic import Field

from environments.tools.host.definition import HostCall, HostDefinition
from environments.tools.session.kept import PAGE_CHARS, KeptResults, page_of, pages_in
from environments.tools.toolkit import Arguments
from taskdata.errors import ToolRefused
from taskdata.schema.task import Capability
from taskdata.schema.tool import ToolResult

OVERLONG = "handle_overlong_tool_outputs"
SHOWN_CHARS = 2 * PAGE_CHARS
"""A result up to this length is shown whole."""

_MAX_PLACES = 20
_AROUND = 120


class OverlongArguments(Arguments):
    """Arguments of handle_overlong_tool_outputs."""

    result: int = Field(ge=1, description="Number of the result, as its first page names it.")
    page: int = Field(default=1, ge=1, description="Page to read.")
    search: str | None = Field(
        default=None,
        min_length=1,
        max_length=200,
        description="Words to find; shows the places instead of a page.",
    )


def first_page(result: ToolResult, kept: KeptResults) -> ToolResult:
    """Return `result`, or if it is too long its first page, the whole being kept."""
    if len(result.text) <= SHOWN_CHARS:
        return result
    number = kept.keep(result.text)
    text = (
        f"{page_of(result.text, 1)}\n[page 1 of {pages_in(result.text)} of result {number}, which "
        f"has {len(result.text)} characters; read on with {OVERLONG}, result={number}, page=2, or "
        "find words in it with search]"
    )
    return result.model_copy(update={"text": text})


async def read_overlong(args: OverlongArguments, call: HostCall) -> ToolResult:
    """Return a page of a kept result, or the places where words occur in it."""
    text = call.desk.kept.find(args.result)
    if text is None:
        numbers = ", ".join(map(str, call.desk.kept.numbers)) or "none"
        raise ToolRefused(f"There is no long result {args.result}; there are: {numbers}.")
    if args.search is not None:
        return ToolResult(text=_places_text(text, args.search))
    pages = pages_in(text)
    if args.page > pages:
        raise ToolRefused(f"Result {args.result} has {pages} pages; there is no page {args.page}.")
    rest = f"; go on with page={args.page + 1}" if args.page < pages else "; that is the end"
    shown = page_of(text, args.page)
    return ToolResult(text=f"{shown}\n[page {args.page} of {pages} of result {args.result}{rest}]")


def _places_text(text: str, words: str) -> str:
    lines = []
    for number, place in enumerate(_places(text, words)):
        if number == _MAX_PLACES:
            lines.append(f"(only the first {_MAX_PLACES} places are shown; search for more words)")
            break
        around = text[max(0, place - _AROUND) : place + len(words) + _AROUND]
        lines.append(f"- page {place // PAGE_CHARS + 1}: …{' '.join(around.split())}…")
    return "\n".join(lines) or f"{words!r} does not occur in it."


def _places(text: str, words: str) -> Iterator[int]:
    """Yield where `words` begin, whatever their letter case."""
    # Not casefold: places in the text must stay what they are.
    haystack = "".join(c.lower() if len(c.lower()) == 1 else c for c in text)
    place = haystack.find(words.lower())
    while place >= 0:
        yield place
        place = haystack.find(words.lower(), place + len(words))


TOOLS = (
    HostDefinition(
        name=OVERLONG,
        description=(
            "Read on in a long result of another tool, page by page, or find words in it. Long "
            "results come as their first page with a number."
        ),
        category=Capability.OPERATION,
        arguments=OverlongArguments,
        run=read_overlong,
        backend="the results of this trial",
    ),
)
