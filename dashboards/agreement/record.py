"""A transcript as a person reads it who labels a failure: every turn and call with its place.

It leaves out what would tell whose trial it is: models, prices, times. What an agent wrote passes
the templates' escaping.
"""

from collections.abc import Iterator
from typing import Any

from dashboards.pages import formats
from dashboards.pages.trial.caps import Cap, shown
from dashboards.pages.trial.transcript import shown_arguments
from taskdata.schema.transcript import Event, MessageEvent, ModelEvent, ToolEvent, Transcript

Entry = dict[str, Any]


def record_entries(transcript: Transcript, cap: Cap) -> list[Entry]:
    """Return the events in order; of a long transcript, its beginning and its end."""
    if transcript.is_outcome_only:
        return [_gap("The result was imported; how it came about is unknown.")]
    found = list(_numbered(transcript, cap))
    if len(found) <= cap.events:
        return found
    half = cap.events // 2
    gap = _gap(f"{formats.plural(len(found) - 2 * half, 'event')} not shown")
    return [*found[:half], gap, *found[-half:]]


def _numbered(transcript: Transcript, cap: Cap) -> Iterator[Entry]:
    answered = {event.call.id for event in transcript.tool_events}
    turn = 0
    for event in transcript.events:
        turn += isinstance(event, ModelEvent)
        yield _entry(event, turn, answered, cap)


def _entry(event: Event, turn: int, answered: set[str], cap: Cap) -> Entry:
    if isinstance(event, ModelEvent):
        return _reply(event, turn, answered, cap)
    if isinstance(event, ToolEvent):
        return _call(event, cap)
    return _message(event, cap)


def _gap(title: str) -> Entry:
    return {"who": "gap", "title": title, "place": "", "error": "", "parts": []}


def _message(event: MessageEvent, cap: Cap) -> Entry:
    title = "Instructions" if event.role == "system" else "To the agent"
    if event.simulated is not None:
        title = "User (simulated)"
    parts = [["", shown(event.text, cap.text)]]
    if event.shown:
        names = ", ".join(file.name for file in event.shown)
        parts.append(["files shown", shown(names, cap.reason)])
    return {"who": event.role, "title": title, "place": "", "error": "", "parts": parts}


def _reply(event: ModelEvent, turn: int, answered: set[str], cap: Cap) -> Entry:
    parts = [["thoughts", shown(event.thinking, cap.text)]] if event.thinking else []
    parts += [["", shown(event.text, cap.text)]] if event.text else []
    # What was called shows with its result; here only what never came to a result.
    parts += [
        [shown(f"calls {call.tool} ({call.id})", cap.reason), shown_arguments(call, cap)]
        for call in event.tool_calls
        if call.id not in answered
    ]
    reason = f"stop reason: {event.stop_reason}" if event.stop_reason else ""
    return {
        "who": "model",
        "title": "Agent",
        "facts": shown(reason, cap.reason),
        "place": f"turn {turn}",
        "error": "",
        "parts": parts,
    }


def _call(event: ToolEvent, cap: Cap) -> Entry:
    facts = [f"wrote {', '.join(event.files)}"] if event.files else []
    facts += [formats.plural(len(event.pictures), "picture")] if event.pictures else []
    return {
        "who": "tool",
        "title": shown(event.call.tool, cap.reason),
        "facts": shown(" · ".join(facts), cap.reason),
        "place": f"call {event.call.id}",
        "error": "" if event.error is None else formats.words(event.error.value),
        "parts": [
            ["arguments", shown_arguments(event.call, cap)],
            ["result", shown(event.text, cap.text)],
        ],
    }
