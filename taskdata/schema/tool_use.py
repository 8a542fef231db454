"""How often the agent of a trial called each tool, and why calls gave no result."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable

from pydantic import Field

from taskdata.schema.base import Value
from taskdata.schema.task import Capability
from taskdata.schema.tool import ToolErrorKind, ToolSpec
from taskdata.schema.transcript import ToolEvent, Transcript

FINISH = "finish"
"""The tool that ends a trial, whose calls are counted nowhere."""
ENDING_TOOLS = frozenset({FINISH, "claim_done"})
"""The tools that end a trial; the second is Toolathlon's."""
_NAME_LENGTH = 80
_MOST_UNKNOWN = 20
OTHERS = "(other names)"


OVERLONG_CHARS = 100_000
"""A longer result is too long for any agent to be shown whole (Toolathlon, section 5.2)."""
_CUT_ON_RECORD = re.compile(r"\[cut: \d+ of (\d+) characters are on record\]\Z")


class ToolUse(Value):
    """The calls of one tool in one trial."""

    tool: str
    category: Capability | None = None
    """As GTA sorts tools; None: the agent was offered no tool of that name."""
    calls: int = Field(ge=1)
    errors: dict[ToolErrorKind, int] = Field(default_factory=dict)
    """Calls without a result, by cause."""
    overlong: int | None = Field(default=None, ge=0)
    """Results of more than 100,000 characters; None: stored before they were counted."""


def tool_uses(transcript: Transcript) -> tuple[ToolUse, ...] | None:
    """Return the tools that were called, by name; None where not all calls are known.

    What an agent calls a tool that there is not may be anything: such names are cut, and of more
    than 20 the others are counted together.
    """
    if not transcript.calls_are_known:
        return None
    events: dict[str, list[ToolEvent]] = defaultdict(list)
    categories = _categories(transcript.tools)
    unknown: set[str] = set()
    for event in transcript.tool_events:
        name = event.call.tool
        if name == FINISH:
            continue
        if name not in categories:
            name = name[:_NAME_LENGTH]
            name = name if name in unknown or len(unknown) < _MOST_UNKNOWN else OTHERS
            unknown.add(name)
        events[name].append(event)
    return tuple(_use(name, categories.get(name), events[name]) for name in sorted(events))


def _categories(tools: Iterable[ToolSpec]) -> dict[str, Capability]:
    return {spec.name: spec.category for spec in tools}


def _use(name: str, category: Capability | None, events: list[ToolEvent]) -> ToolUse:
    errors = Counter(event.error for event in events if event.error is not None)
    return ToolUse(
        tool=name,
        category=category,
        calls=len(events),
        errors=dict(sorted(errors.items())),
        overlong=sum(result_chars(event) > OVERLONG_CHARS for event in events),
    )


def result_chars(event: ToolEvent) -> int:
    """Return how long the result was, also of one of which only the beginning is on record."""
    cut = _CUT_ON_RECORD.search(event.text[-_NAME_LENGTH:])
    return len(event.text) if cut is None else int(cut[1])
