"""What a reply of a model says, whatever the wire format."""

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
    """A tool call as it came: nothing of it is checked."""

    id: CallId
    name: str | None
    arguments: object
    """Text, or what the text should have said."""
    extra: dict[str, Any] = field(default_factory=dict)
    """What the provider wants back with the call."""
    is_custom: bool = False
    """Its arguments are free text; our own clients offer no such tools."""


@dataclass(frozen=True)
class WireReply:
    """What a body says, as far as it can be read; what is missing or odd is left out."""

    text: str
    model: str
    stop_reason: str
    calls: tuple[WrittenCall, ...]
    usage: Usage | None
    thinking: str


@dataclass(frozen=True)
class ParsedReply:
    """What was read from one successful response."""

    text: str
    model: str
    stop_reason: str
    """`stop`, `tool_calls`, `length` or `refused`, whatever the provider calls it; a reason that
    is none of these stays as it came, and is empty where there is none."""
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage | None = None
    """None: the server did not say, or said nonsense."""
    replay: tuple[dict[str, Any], ...] = ()
    """See `ModelReply.replay`."""
    thinking: str = ""
    """See `ModelReply.thinking`."""

    @classmethod
    def of(
        cls, reply: WireReply, calls: tuple[ToolCall, ...], replay: tuple[dict[str, Any], ...] = ()
    ) -> Self:
        """Return a reply whose calls were read."""
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
    """Return the calls to our own tools, each with an id that no other has."""
    ours = [call for call in written if not call.is_custom]
    return distinct(read_call(call.id, call.name, call.arguments) for call in ours)


def call_id_of(value: object) -> CallId:
    """Return the id of a call; None where it is none."""
    return value if isinstance(value, str | int) else None


def stop_reason(named: str) -> str:
    """Return a provider's reason to stop in our terms; one that has no such term as it came."""
    return _STOP_REASONS.get(named, named)
