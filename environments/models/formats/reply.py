"""The content of a model's reply, independent of the wire format."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Self

from environments.models.wire.reading import CallId, distinct, read_call
from taskdata.schema.transcript import ToolCall, Usage

_STOP_REASONS = {
    "content_filter": "refused",
    "refusal": "refused",
    "function_call": "tool_calls",
    "tool_use": "tool_calls",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "max_output_tokens": "length",
    "model_context_window_exceeded": "length",
}


@dataclass(frozen=True)
class WrittenCall:
    """A tool call as received: not validated."""

    id: CallId
    name: str | None
    arguments: object
    """JSON text, or the decoded value that some servers send instead."""
    extra: dict[str, Any] = field(default_factory=dict)
    """Data that the provider wants back with the call."""
    is_custom: bool = False
    """The arguments are free text; our own clients offer no such tools."""


@dataclass(frozen=True)
class WireReply:
    """The content of an answer, as far as it can be parsed; missing or invalid parts are empty."""

    text: str
    model: str
    stop_reason: str
    calls: tuple[WrittenCall, ...]
    usage: Usage | None
    thinking: str


@dataclass(frozen=True)
class ParsedReply:
    """The parsed content of one successful response."""

    text: str
    model: str
    stop_reason: str
    """`stop`, `tool_calls`, `length` or `refused`, whatever the provider calls it; an unknown
    reason is kept as received, a missing one is empty."""
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage | None = None
    """None: the server did not report usage, or reported it invalidly."""
    replay: tuple[dict[str, Any], ...] = ()
    """See `ModelReply.replay`."""
    thinking: str = ""
    """See `ModelReply.thinking`."""

    @classmethod
    def of(
        cls, reply: WireReply, calls: tuple[ToolCall, ...], replay: tuple[dict[str, Any], ...] = ()
    ) -> Self:
        """Return a reply with its calls parsed."""
        return cls(
            text=reply.text,
            model=reply.model,
            stop_reason=reply.stop_reason,
            tool_calls=calls,
            usage=reply.usage,
            replay=replay,
            thinking=reply.thinking,
        )


def read_calls(written: Iterable[WrittenCall]) -> tuple[ToolCall, ...]:
    """Return the calls with unique ids."""
    ours = [call for call in written if not call.is_custom]
    return distinct(read_call(call.id, call.name, call.arguments) for call in ours)


def call_id_of(value: object) -> CallId:
    """Return the id of a call; None if it is invalid."""
    return value if isinstance(value, str | int) else None


def stop_reason(named: str) -> str:
    """Return a provider's finish reason in our terms; unknown reasons unchanged."""
    return _STOP_REASONS.get(named, named)
