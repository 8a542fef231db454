"""handle_overlong_tool_outputs: read and search results that are too long to be shown whole.

The beginning of a long result is shown and the whole is kept; from then on this tool is offered,
whether the task lists it or not (Toolathlon, appendix B).
"""

import asyncio
import re
from collections.abc import Sequence

from pydantic import Field

from environments.toolkit.definition import Arguments
from environments.toolkit.host_tool import HostCall, HostDefinition
from environments.toolkit.kept_results import KeptResults, page_of, pages_in
from environments.tools.session.patterns import matches
from taskdata.errors import ToolRefused
from taskdata.schema.task import Capability
from taskdata.schema.tool import ToolResult

OVERLONG = "handle_overlong_tool_outputs"

_NOTICE_CHARS = 300
"""More than the length of the notice at a cut."""
_MAX_PLACES = 20
_AROUND = 120

Place = tuple[int, int]
"""Start and end of a match."""


class OverlongArguments(Arguments):
    """Arguments of handle_overlong_tool_outputs."""

    result: int = Field(ge=1, description="Number of the result, as the cut names it.")
    page: int = Field(
        default=1,
        ge=1,
        description="Page to read; in a search, the page from which to search on.",
    )
    search: str | None = Field(
        default=None,
        min_length=1,
        max_length=200,
        description="Words to find; shows the places instead of a page.",
    )
    pattern: str | None = Field(
        default=None,
        min_length=1,
        max_length=200,
        description="The same with a regular expression (RE2: no look-around, no back-references).",
    )


def cut_overlong(result: ToolResult, kept: KeptResults) -> ToolResult:
    """Return `result`; if it is too long, keep it and return its beginning."""
    if len(result.text) <= kept.shown_chars:
        return result
    number, chars = kept.keep(result.text), len(result.text)
    page = (kept.shown_chars - _NOTICE_CHARS) // kept.page_chars + 1
    pages = pages_in(result.text, kept.page_chars)
    notice = (
        f"\n[cut: the beginning of result {number}, which has {chars} characters on "
        f'{pages} pages; read on with {OVERLONG} {{"result": {number}, "page": {page}}}, '
        "or find words in it with search or pattern]"
    )
    shown = result.text[: kept.shown_chars - len(notice)] + notice
    return result.model_copy(update={"text": shown})


async def read_overlong(args: OverlongArguments, call: HostCall) -> ToolResult:
    """Return a page of a kept result, or the positions of matches in it."""
    kept = call.context.kept
    text, page_chars = kept.find(args.result), kept.page_chars
    if text is None:
        numbers = ", ".join(map(str, kept.numbers)) or "none"
        raise ToolRefused(f"There is no long result {args.result}; there are: {numbers}.")
    pages = pages_in(text, page_chars)
    if args.page > pages:
        raise ToolRefused(f"Result {args.result} has {pages} pages; there is no page {args.page}.")
    if args.search is not None and args.pattern is not None:
        raise ToolRefused("Give search or pattern, not both.")
    wanted = args.pattern if args.search is None else args.search
    if wanted is not None:
        pattern = wanted if args.search is None else re.escape(wanted)
        start = (args.page - 1) * page_chars
        places = await asyncio.to_thread(matches, pattern, text, start)
        return ToolResult(text=_places_text(text, places, repr(wanted), page_chars))
    rest = f"; go on with page={args.page + 1}" if args.page < pages else "; that is the end"
    shown = page_of(text, args.page, page_chars)
    return ToolResult(text=f"{shown}\n[page {args.page} of {pages} of result {args.result}{rest}]")


def _places_text(text: str, places: Sequence[Place], wanted: str, page_chars: int) -> str:
    lines: list[str] = []
    for start, end in places:
        page = start // page_chars + 1
        if len(lines) == _MAX_PLACES:
            lines.append(
                f"(only {_MAX_PLACES} places are shown; go on with page={page}, or search for more "
                "words)"
            )
            break
        around = text[max(0, start - _AROUND) : min(end, start + _AROUND) + _AROUND]
        lines.append(f"- page {page}: …{' '.join(around.split())}…")
    return "\n".join(lines) or f"{wanted} does not occur in it."


TOOLS = (
    HostDefinition(
        name=OVERLONG,
        description=(
            "Read on in a result that was too long to be shown whole, page by page, or find words "
            "or a pattern in it. Such a result ends with its number."
        ),
        category=Capability.OPERATION,
        arguments=OverlongArguments,
        run=read_overlong,
        backend="the results of this trial",
    ),
)
