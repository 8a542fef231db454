"""history: search the events of this trial, including those that have left the context."""

from collections.abc import Sequence

from pydantic import Field

from environments.toolkit.definition import Arguments
from environments.toolkit.host_tool import HostCall, HostDefinition
from taskdata.errors import ToolRefused
from taskdata.schema.task import Capability
from taskdata.schema.tool import ToolResult
from taskdata.schema.transcript import Event, MessageEvent, ModelEvent

HISTORY = "history"

_MAX_LISTED = 20
_MAX_SHOWN = 160


class HistoryArguments(Arguments):
    """Arguments of history."""

    event: int | None = Field(
        default=None, ge=1, description="Number of an event to show in full; 1 is the first."
    )
    search: str | None = Field(
        default=None, min_length=1, max_length=200, description="List events with these words only."
    )
    before: int | None = Field(
        default=None, ge=1, description="List events before this number; the newest by default."
    )


async def look_back(args: HistoryArguments, call: HostCall) -> ToolResult:
    """Return one event in full, or a list of the newest ones, each on a line."""
    texts = [_text(event) for event in call.context.events()]
    if args.event is not None:
        if args.event > len(texts):
            raise ToolRefused(f"There is no event {args.event}: so far there are {len(texts)}.")
        return ToolResult(text=texts[args.event - 1])
    return ToolResult(text=_listed(texts, args))


def _listed(texts: Sequence[str], args: HistoryArguments) -> str:
    words = (args.search or "").lower()
    wanted = [
        number
        for number, text in enumerate(texts, start=1)
        if (args.before is None or number < args.before) and words in text.lower()
    ]
    if not wanted:
        return "No event fits."
    lines = [f"{number}. {_line(texts[number - 1], words)}" for number in wanted[-_MAX_LISTED:]]
    if len(wanted) > _MAX_LISTED:
        lines.insert(
            0, f"({len(wanted)} events fit; for earlier ones, before={wanted[-_MAX_LISTED]})"
        )
    return "\n".join(lines)


def _line(text: str, words: str) -> str:
    start = max(0, text.lower().find(words) - _MAX_SHOWN // 2) if words else 0
    piece = " ".join(text[start : start + _MAX_SHOWN].split())
    return f"{'…' if start else ''}{piece}{'…' if start + _MAX_SHOWN < len(text) else ''}"


def _text(event: Event) -> str:
    if isinstance(event, MessageEvent):
        return f"{event.role}: {event.text}"
    if isinstance(event, ModelEvent):
        calls = "".join(f"\ncalls {call.tool} {call.raw}" for call in event.tool_calls)
        return f"you: {event.text}{calls}"
    mark = "" if event.error is None else " (error)"
    return f"{event.call.tool} {event.call.raw}{mark}: {event.text}"


TOOLS = (
    HostDefinition(
        name=HISTORY,
        description=(
            "Look back at what has happened in this task so far, your own steps and all results, "
            "also those that have left the conversation: a list, a search, or one event in full."
        ),
        category=Capability.OPERATION,
        arguments=HistoryArguments,
        run=look_back,
        backend="the record of this trial",
        paging="Search for words in it.",
    ),
)
