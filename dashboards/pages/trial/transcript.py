"""The events of a transcript as the page shows them: who, a line of facts, and texts."""

import json
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from dashboards.pages import formats
from dashboards.pages.trial.caps import Cap, Shown, shown, shown_json
from dashboards.pages.trial.files import named, save_as
from taskdata.schema.transcript import (
    Event,
    MessageEvent,
    ModelEvent,
    ResultPicture,
    SimulatedTurn,
    ToolCall,
    ToolEvent,
    Transcript,
)

Entry = dict[str, Any]


def entries(transcript: Transcript, cap: Cap, deliverables: Sequence[str] = ()) -> list[Entry]:
    """Return the transcript in order; of a long one, its beginning and its end.

    `turn` is the number of the turn that an entry belongs to, as the budget counts turns: 0 before
    the first reply of the model, None of a gap.

    Args:
        transcript: The record of a trial.
        cap: How much is shown.
        deliverables: Names of the files that were delivered; the last call that wrote one has its
            place in this list under `wrote`.
    """
    events = transcript.events
    if transcript.is_outcome_only:
        return [_gap("The result was imported; how it came about is unknown")]
    answered = {event.call.id for event in transcript.tool_events}
    turns = accumulate(isinstance(event, ModelEvent) for event in events)
    numbered = list(zip(turns, events, strict=True))

    wrote = _last_writers(transcript, deliverables)

    def shown_entries(part: Sequence[tuple[int, Event]]) -> list[Entry]:
        return [
            _entry(event, answered, cap) | wrote.get(id(event), {}) | {"turn": int(turn)}
            for turn, event in part
        ]

    if len(events) <= cap.events:
        return shown_entries(numbered)
    half = cap.events // 2
    gap = _gap(f"{formats.plural(len(events) - 2 * half, 'event')} not shown")
    return [*shown_entries(numbered[:half]), gap, *shown_entries(numbered[-half:])]


def _last_writers(
    transcript: Transcript, deliverables: Sequence[str]
) -> dict[int, dict[str, list[int]]]:
    """Return by event what it has written last, as places among the deliverables."""
    places = {f"output/{name}": place for place, name in enumerate(deliverables)}
    found: dict[int, dict[str, list[int]]] = {}
    for event in reversed(transcript.tool_events):
        own = [places.pop(name) for name in event.files if name in places]
        if own:
            found[id(event)] = {"wrote": own}
    return found


def _gap(title: str) -> Entry:
    return {"who": "gap", "title": title, "turn": None}


def _entry(event: Event, answered: set[str], cap: Cap) -> Entry:
    if isinstance(event, MessageEvent):
        return _message(event, cap)
    if isinstance(event, ModelEvent):
        return _model(event, answered, cap)
    return _tool(event, cap)


def _message(event: MessageEvent, cap: Cap) -> Entry:
    # A user may end a talk without a word.
    parts = [_part("", event.text, cap)] if event.text or event.simulated is None else []
    entry: Entry = {"who": event.role, "title": "", "facts": "", "parts": parts}
    if event.simulated is not None:
        entry |= _simulated(event.simulated, cap)
    if event.shown:
        entry["files"] = [
            {
                "name": shown(file.name, cap.reason),
                "type": shown(file.media_type, cap.reason),
                "sha256": file.sha256,
                **named(file.name),
            }
            for file in event.shown[: cap.deliverables]
        ]
        entry["more_files"] = len(event.shown) - len(entry["files"])
    return entry


def _simulated(made: SimulatedTurn, cap: Cap) -> Entry:
    paid = "unknown cost" if made.cost_usd is None else formats.money(made.cost_usd)
    facts = [formats.duration(made.seconds), f"{paid}, not in the agent's cost"]
    facts += ["ends the talk"] if made.ends else []
    return {
        "who": "simulated_user",
        "title": shown(made.model, cap.reason),
        "facts": shown(" · ".join(facts), cap.reason),
    }


def _part(title: str, text: str, cap: Cap) -> list[Shown]:
    return [title, shown(text, cap.text)]


def _model(event: ModelEvent, answered: set[str], cap: Cap) -> Entry:
    usage = event.usage
    facts = [
        f"{usage.input_tokens:,} tokens in, {usage.output_tokens:,} out",
        formats.duration(event.seconds),
    ]
    facts += [f"{usage.cached_input_tokens:,} cached"] if usage.cached_input_tokens else []
    facts += [] if event.cost_usd is None else [formats.money(event.cost_usd)]
    facts += [f"stop: {event.stop_reason}"] if event.stop_reason else []
    parts = [_part("", event.text, cap)] if event.text else []
    # What was called shows with its result; here only what never came to a result.
    parts += [
        [shown(f"call {call.tool}", cap.reason), shown_arguments(call, cap)]
        for call in event.tool_calls
        if call.id not in answered
    ]
    entry: Entry = {
        "who": "model",
        "title": shown(event.model, cap.reason),
        "facts": shown(" · ".join(facts), cap.reason),
        "parts": parts,
    }
    return entry | ({"thinking": shown(event.thinking, cap.text)} if event.thinking else {})


def _tool(event: ToolEvent, cap: Cap) -> Entry:
    facts = [formats.duration(event.seconds)]
    facts += [f"wrote {', '.join(event.files)}"] if event.files else []
    entry: Entry = {
        "who": "tool",
        "title": shown(event.call.tool, cap.reason),
        "facts": shown(" · ".join(facts), cap.reason),
        "error": "" if event.error is None else formats.words(event.error.value),
        "parts": [
            ["arguments", shown_arguments(event.call, cap)],
            _part("result", event.text, cap),
        ],
    }
    return entry | (_pictures(event.pictures, cap) if event.pictures else {})


def _pictures(pictures: Sequence[ResultPicture], cap: Cap) -> Entry:
    """Return the pictures of a result; the page embeds those that it has room for."""
    kept = pictures[: cap.deliverables]
    return {
        "files": [
            {
                "name": shown(picture.name, cap.reason),
                "type": f"{picture.width:,} × {picture.height:,} pixels",
                "sha256": picture.sha256,
                "size": picture.size_bytes,
                "save_as": save_as(f"{picture.name}.{picture.media_type.rpartition('/')[2]}"),
                "recording": None,
            }
            for picture in kept
        ],
        "more_files": len(pictures) - len(kept),
        "unseen": not any(picture.was_shown for picture in pictures),
    }


def shown_arguments(call: ToolCall, cap: Cap) -> Shown:
    """Return the arguments: multi-line texts as they are, since JSON would fold a program."""
    if call.arguments is None:
        return shown(call.raw, cap.text)
    long = {k: v for k, v in call.arguments.items() if isinstance(v, str) and "\n" in v}
    short = {k: v for k, v in call.arguments.items() if k not in long}
    if not long:
        return shown_json(short, cap.text)
    texts = [f"{name}:\n{text}" for name, text in long.items()]
    if short:
        texts.insert(0, json.dumps(short, indent=2, ensure_ascii=False, default=str))
    return shown("\n\n".join(texts), cap.text)
