"""A transcript as prose, turn by turn, for reading in a terminal."""

import json
from typing import Any

from flows.cli import console
from taskdata.schema.transcript import (
    GivenStep,
    MessageEvent,
    ModelEvent,
    Prediction,
    ToolCall,
    ToolEvent,
    Transcript,
)

_SHOWN_LINES = 15
_SHOWN_LETTERS = 1200

_SPEAKERS = {"system": "Instructions to the agent", "user": "To the agent"}


def write_transcript(transcript: Transcript, *, full: bool) -> None:
    """Write the events in order; texts that are long are cut, unless `full`."""
    console.heading("Transcript")
    if transcript.is_outcome_only:
        console.say("Nobody saw the agent work: only what it delivered is known.")
    if transcript.has_unseen_calls:
        console.say("The agent is a program: tools that it has of its own are not in here.")
    _Writer(transcript, full).write()
    if transcript.predictions:
        console.heading("Predicted, where the reference's steps were given until there")
        for number, prediction in enumerate(transcript.predictions, start=1):
            console.block(f"{number}. {_predicted(prediction)}")
    console.say(f"Ended: {transcript.ending.value.replace('_', ' ')}")


class _Writer:
    """Numbers the turns and remembers which calls were carried out."""

    def __init__(self, transcript: Transcript, full: bool) -> None:
        self._events = transcript.events
        self._full = full
        self._turn = 0
        self._has_model = any(isinstance(event, ModelEvent) for event in self._events)
        self._carried_out = {event.call.id for event in transcript.tool_events}

    def write(self) -> None:
        for event in self._events:
            match event:
                case MessageEvent():
                    self._message(event)
                case ModelEvent():
                    self._reply(event)
                case ToolEvent():
                    self._tool(event)

    def _message(self, event: MessageEvent) -> None:
        console.heading(f"\n{_speaker(event)}")
        if event.given is not None:
            self._given(event.given)
        self._text(event.text)
        for file in event.shown:
            console.block(f"[shown to the model: {file.name}, {file.media_type}]")

    def _given(self, given: GivenStep) -> None:
        console.block(f"Given as the agent's own last turn, step {given.number} of the reference:")
        self._text(given.thought, indent=4)
        self._call(given.call, indent=4)
        self._text(given.result, indent=4)

    def _reply(self, event: ModelEvent) -> None:
        self._turn += 1
        console.heading(f"\nTurn {self._turn}: {event.model} ({_effort(event)})")
        for failed in event.failed_attempts:
            console.block(f"[an attempt before it failed: {failed.cause}]")
        if event.thinking:
            console.block("It thought:")
            self._text(event.thinking, indent=4)
        if event.text:
            console.block("It said:")
            self._text(event.text, indent=4)
        if not event.text and not event.tool_calls:
            console.block("It said nothing.")
        for call in event.tool_calls:
            if call.id not in self._carried_out:
                console.block("It asked for a call that was not carried out:")
                self._call(call, indent=4)

    def _tool(self, event: ToolEvent) -> None:
        if not self._has_model:
            self._turn += 1
            console.heading(f"\nTurn {self._turn}: call of a tool")
        self._call(event.call, indent=2)
        how = "answered" if event.error is None else f"failed ({event.error.value})"
        console.block(f"{event.call.tool} {how} after {event.seconds:.1f} s:")
        self._text(event.text or "(nothing)", indent=4)
        for name in event.files:
            console.block(f"[file: {name}]", indent=4)
        for picture in event.pictures:
            how = "shown to the model" if picture.was_shown else "described to the model"
            size = f"{picture.width} x {picture.height} pixels"
            console.block(
                f"[{how}: {picture.name}, {picture.media_type}, {size}, "
                f"sha256 {picture.sha256[:12]}]",
                indent=4,
            )

    def _call(self, call: ToolCall, indent: int) -> None:
        console.block(f"Call of {call.tool}", indent)
        if call.arguments is None:
            console.block("with arguments that are no JSON object:", indent + 2)
            self._text(call.raw, indent + 4)
            return
        for name, value in call.arguments.items():
            text = _argument(value)
            if "\n" in text:
                console.block(f"{name}:", indent + 2)
                self._text(text, indent + 4)
            else:
                self._text(f"{name}: {text}", indent + 2)

    def _text(self, text: str, indent: int = 2) -> None:
        if not text.strip():
            return
        shown = text.strip("\n")
        if not self._full:
            shown = "\n".join(shown.splitlines()[:_SHOWN_LINES])[:_SHOWN_LETTERS]
        console.block(shown, indent)
        left = len(text.strip("\n")) - len(shown)
        if left > 0:
            console.block(f"[... {left:,} more characters; --full shows them]", indent)


def _speaker(event: MessageEvent) -> str:
    made = event.simulated
    if made is None:
        return _SPEAKERS[event.role]
    cost = "unknown cost" if made.cost_usd is None else f"${made.cost_usd:.4f}"
    ends = ", who ends the talk with it" if made.ends else ""
    paid = f"{cost}, not in the agent's cost"
    return f"Simulated user{ends}: {made.model} ({made.seconds:.1f} s, {paid})"


def _effort(event: ModelEvent) -> str:
    parts = [
        f"{event.seconds:.1f} s",
        f"{event.usage.input_tokens:,} tokens in, {event.usage.output_tokens:,} out",
    ]
    if event.cost_usd:
        parts.append(f"${event.cost_usd:.4f}")
    if event.cached:
        parts.append("kept reply")
    return ", ".join(parts)


def _argument(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _predicted(prediction: Prediction) -> str:
    if prediction.error is not None:
        return f"could not be carried out: {prediction.error}"
    if prediction.call is not None:
        arguments = prediction.call.arguments
        given = prediction.call.raw if arguments is None else _argument(arguments)
        return f"call of {prediction.call.tool} with {given}"
    if prediction.answer is not None:
        return f"answer: {prediction.answer}"
    return "neither a call nor an answer"
