"""A trial as spans of OpenTelemetry's semantic conventions for generative AI.

One trace per trial: `invoke_agent` around a `chat` per model call and an `execute_tool` per tool
call, at the times that were recorded. The names are those of the GenAI conventions
(open-telemetry/semantic-conventions-genai); what they have no name for is under `nightshift.`.

Messages, arguments and schemas are JSON texts, which the conventions allow beside structured
values: what a model wrote may nest deeper, or hold larger numbers, than OTLP can carry. The input
of a `chat` is what came since the model's previous reply; instructions and tool schemas stand on
`invoke_agent` and on the first `chat`. With all of it on every span, a trace would grow with the
square of its turns.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from taskdata.schema.transcript import (
    PROGRAMS_INSTRUCTIONS,
    Ending,
    GivenStep,
    MessageEvent,
    ModelEvent,
    ToolCall,
    ToolEvent,
)
from taskdata.schema.usage import Usage
from taskdata.traces.recorded import RecordedTrial

Attribute = str | int | float | bool | Sequence[str]
_NO_MODEL = "nightshift"
_FINISH_REASONS = {"refused": "content_filter", "tool_calls": "tool_call", "tool_use": "tool_call"}
_SECOND = 10**9


@dataclass(frozen=True)
class Notice:
    """Something that the framework noted while the agent worked."""

    at: int
    """Nanoseconds since 1970."""
    text: str


@dataclass(frozen=True)
class Span:
    """One span; times are nanoseconds since 1970."""

    name: str
    kind: Literal["client", "internal"]
    start: int
    end: int
    attributes: Mapping[str, Attribute]
    error: str | None = None
    """Why it failed, for people; its class is the attribute `error.type`."""
    notices: tuple[Notice, ...] = ()


@dataclass(frozen=True)
class Trace:
    """The spans of one trial: the first is the parent of all others."""

    key: str
    """The same trial, exported again, is the same trace."""
    spans: tuple[Span, ...]

    @property
    def trace_id(self) -> int:
        """128 bits, never 0."""
        return int.from_bytes(hashlib.sha256(self.key.encode()).digest()[:16], "big") or 1

    def span_id(self, index: int) -> int:
        """64 bits, never 0."""
        digest = hashlib.sha256(f"{self.key}\n{index}".encode()).digest()
        return int.from_bytes(digest[:8], "big") or 1


def trace(recorded: RecordedTrial) -> Trace:
    """Return the spans of a trial."""
    children = _Children(recorded)
    children.spans += _planned(recorded)
    opening = recorded.opening
    for at, event in enumerate(recorded.transcript.events):
        if at not in opening:
            children.take(event)
    root = _root(recorded, children)
    key = f"{recorded.trial.id}\n{recorded.outcome.attempt}"
    return Trace(key, (root, *children.spans))


class _Children:
    """The spans of model and tool calls, made event by event."""

    def __init__(self, recorded: RecordedTrial) -> None:
        self.spans: list[Span] = []
        self.notices: list[Notice] = []
        self._recorded = recorded
        self._descriptions = {tool.name: tool.description for tool in recorded.transcript.tools}
        self._given = _given(recorded)
        self._told = _told(recorded)
        self._predictions = recorded.predictions
        self._now = _nanoseconds(recorded.outcome.started_at)

    def take(self, event: MessageEvent | ModelEvent | ToolEvent) -> None:
        if isinstance(event, MessageEvent):
            if event.given is not None:
                self._given += _given_step(event.given)
            elif event.role == "system":
                self.notices.append(Notice(self._now, event.text))
            else:
                self._take_user(event)
            return
        start = _nanoseconds(event.started_at)
        waited = event.waited_seconds if isinstance(event, ModelEvent) else 0.0
        self._now = start + round((waited + event.seconds) * _SECOND)
        make = self._chat if isinstance(event, ModelEvent) else self._execute_tool
        self.spans.append(make(event, start, self._now))  # type: ignore[arg-type]

    def _take_user(self, event: MessageEvent) -> None:
        made = event.simulated
        if made is not None:
            self._now = _nanoseconds(made.started_at) + round(made.seconds * _SECOND)
            ends = ", which ends the talk" if made.ends else ""
            said = f"Turn of the simulated user, {made.model}{ends}: {event.text}"
            self.notices.append(Notice(self._now, said))
        if made is None or not made.ends:
            self._given.append(_message("user", _text(event.text)))

    def _chat(self, event: ModelEvent, start: int, end: int) -> Span:
        agent = self._recorded.agent
        asked = event.model if agent.model is None else agent.model.model
        attributes: dict[str, Attribute] = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": _provider(self._recorded),
            "gen_ai.conversation.id": self._recorded.trial.id,
            "gen_ai.request.model": asked,
            "gen_ai.response.model": event.model,
            **_usage(event.usage),
            **_cost(event.cost_usd),
            "gen_ai.input.messages": _json(self._given),
            "gen_ai.output.messages": _json([_reply(event)]),
            **self._told,
        }
        if event.waited_seconds:
            attributes["nightshift.waited_seconds"] = event.waited_seconds
        if event.failed_attempts:
            attempts = [attempt.model_dump(mode="json") for attempt in event.failed_attempts]
            attributes["nightshift.failed_attempts"] = _json(attempts)
        if event.cached:
            attributes["nightshift.cached"] = True
        if (prediction := next(self._predictions)) is not None:
            attributes["nightshift.prediction"] = prediction.model_dump_json(exclude_none=True)
        if agent.temperature is not None:
            attributes["gen_ai.request.temperature"] = agent.temperature
        if event.stop_reason:
            reason = _FINISH_REASONS.get(event.stop_reason, event.stop_reason)
            attributes["gen_ai.response.finish_reasons"] = [reason]
        self._given, self._told = [], {}
        return Span(f"chat {asked}", "client", start, end, attributes)

    def _execute_tool(self, event: ToolEvent, start: int, end: int) -> Span:
        call = event.call
        self._given.append(_result(call, event.text))
        attributes: dict[str, Attribute] = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": call.tool,
            "gen_ai.tool.type": "function",
            "gen_ai.tool.call.id": call.id,
            "gen_ai.tool.call.arguments": _arguments(call),
            "gen_ai.tool.call.result": event.text,
        }
        if call.tool in self._descriptions:
            attributes["gen_ai.tool.description"] = self._descriptions[call.tool]
        if event.files:
            attributes["nightshift.tool.files"] = list(event.files)
        if event.pictures:
            pictures = [picture.model_dump() for picture in event.pictures]
            attributes["nightshift.tool.pictures"] = _json(pictures)
        if event.usage.total or event.cost_usd is None:
            attributes |= {**_usage(event.usage), **_cost(event.cost_usd)}
        if event.error is not None:
            attributes["error.type"] = event.error.value
        error = None if event.error is None else event.text
        return Span(f"execute_tool {call.tool}", "internal", start, end, attributes, error)


def _planned(recorded: RecordedTrial) -> list[Span]:
    """Return a `chat` for each model call in which a plan was asked for."""
    plan, agent = recorded.transcript.plan, recorded.agent
    spans = list[Span]()
    for version, reply in () if plan is None else plan.calls:
        asked = reply.model if agent.model is None else agent.model.model
        attributes: dict[str, Attribute] = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": _provider(recorded),
            "gen_ai.conversation.id": recorded.trial.id,
            "gen_ai.request.model": asked,
            "gen_ai.response.model": reply.model,
            **_usage(reply.usage),
            **_cost(reply.cost_usd),
            "gen_ai.output.messages": _json([_message("assistant", _text(reply.text))]),
            "nightshift.plan": version,
        }
        if reply.cached:
            attributes["nightshift.cached"] = True
        start = _nanoseconds(reply.started_at)
        end = start + round((reply.waited_seconds + reply.seconds) * _SECOND)
        error = None
        if reply.fault:
            attributes["error.type"], error = "unreadable_plan", reply.fault
        spans.append(Span(f"chat {asked}", "client", start, end, attributes, error))
    return spans


def _root(recorded: RecordedTrial, children: _Children) -> Span:
    transcript, outcome = recorded.transcript, recorded.outcome
    attributes: dict[str, Attribute] = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.provider.name": _provider(recorded),
        "gen_ai.agent.name": recorded.agent.name,
        "gen_ai.agent.version": outcome.code_version,
        "gen_ai.conversation.id": recorded.trial.id,
        **_usage(outcome.usage),
        **_cost(outcome.cost_usd),
        **{f"nightshift.{name}": value for name, value in recorded.facts.items()},
        **_told(recorded),
    }
    if given := _given(recorded):
        attributes["gen_ai.input.messages"] = _json(given)
    if transcript.final_answer:
        answer = _message("assistant", _text(transcript.final_answer))
        attributes["gen_ai.output.messages"] = _json([answer])
    if recorded.model_name is not None:
        attributes["gen_ai.request.model"] = recorded.model_name
    if transcript.is_outcome_only:
        attributes["nightshift.is_outcome_only"] = True
    if transcript.has_unseen_calls:
        attributes["nightshift.has_unseen_calls"] = True
    error = None
    if transcript.ending is not Ending.FINISHED:
        attributes["error.type"] = transcript.ending.value
        error = f"the trial ended {transcript.ending.value.replace('_', ' ')}"
    start, end = _nanoseconds(outcome.started_at), _nanoseconds(outcome.finished_at)
    return Span(
        f"invoke_agent {recorded.agent.name}",
        "internal",
        min([start, *(span.start for span in children.spans)]),
        max([end, *(span.end for span in children.spans)]),
        attributes,
        error,
        tuple(children.notices),
    )


def _provider(recorded: RecordedTrial) -> str:
    return _NO_MODEL if recorded.agent.model is None else recorded.agent.model.provider


def _told(recorded: RecordedTrial) -> dict[str, Attribute]:
    """Return the instructions and the tool schemas, where there are any."""
    told = _opening(recorded, "system")
    instructions = [_text(text.removeprefix(PROGRAMS_INSTRUCTIONS)) for text in told]
    tools = [
        {
            "type": "function",
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.parameters,
        }
        for tool in recorded.transcript.tools
    ]
    found = {"gen_ai.system_instructions": instructions, "gen_ai.tool.definitions": tools}
    return {name: _json(value) for name, value in found.items() if value}


def _given(recorded: RecordedTrial) -> list[dict[str, Any]]:
    return [_message("user", _text(text)) for text in _opening(recorded, "user")]


def _opening(recorded: RecordedTrial, role: Literal["system", "user"]) -> list[str]:
    events = (recorded.transcript.events[at] for at in recorded.opening)
    return [e.text for e in events if isinstance(e, MessageEvent) and e.role == role]


def _given_step(given: GivenStep) -> list[dict[str, Any]]:
    thought = [_text(given.thought)] if given.thought else []
    return [
        _message("assistant", *thought, _tool_call(given.call)),
        _result(given.call, given.result),
    ]


def _message(role: str, *parts: dict[str, Any]) -> dict[str, Any]:
    return {"role": role, "parts": list(parts)}


def _text(content: str) -> dict[str, Any]:
    return {"type": "text", "content": content}


def _tool_call(call: ToolCall) -> dict[str, Any]:
    arguments = call.raw if call.arguments is None else call.arguments
    return {"type": "tool_call", "id": call.id, "name": call.tool, "arguments": arguments}


def _result(call: ToolCall, text: str) -> dict[str, Any]:
    return _message("tool", {"type": "tool_call_response", "id": call.id, "response": text})


def _reply(event: ModelEvent) -> dict[str, Any]:
    calls = [_tool_call(call) for call in event.tool_calls]
    thought = [{"type": "reasoning", "content": event.thinking}] if event.thinking else []
    said = [_text(event.text)] if event.text else []
    return _message("assistant", *thought, *said, *calls)


def _arguments(call: ToolCall) -> str:
    return call.raw if call.arguments is None else _json(call.arguments)


def _usage(usage: Usage | None) -> dict[str, Attribute]:
    """Return the token counts; those that not every provider tells apart only where there are."""
    if usage is None or not usage.total:
        return {}
    counts: dict[str, Attribute] = {
        "gen_ai.usage.input_tokens": usage.input_tokens,
        "gen_ai.usage.output_tokens": usage.output_tokens,
    }
    told_apart = {
        "gen_ai.usage.cache_read.input_tokens": usage.cached_input_tokens,
        "gen_ai.usage.cache_write.input_tokens": usage.cache_write_tokens,
        "gen_ai.usage.reasoning.output_tokens": usage.reasoning_tokens,
    }
    return counts | {name: count for name, count in told_apart.items() if count}


def _cost(cost_usd: float | None) -> dict[str, Attribute]:
    return {} if cost_usd is None else {"nightshift.cost_usd": cost_usd}


def _nanoseconds(at: datetime) -> int:
    # Not `timestamp() * 1e9`, which is off by some hundred nanoseconds.
    return round(at.timestamp() * 1_000_000) * 1_000


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
