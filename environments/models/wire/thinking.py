"""The readable part of a model's thinking, in each wire format.

Providers show all of it, a summary, or nothing. It is only recorded: `ModelReply.replay` is what is
sent back to the model. Invalid parts are left out, since no answer depends on them.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from environments.models.wire.arguments import clean_text
from environments.models.wire.parts import objects_of

MAX_THINKING_CHARS = 200_000
"""Characters per reply; the rest is left out."""


def chat_thinking(message: Mapping[str, Any]) -> str:
    """Return the thinking in a chat completion's message; servers use four different fields."""
    for name in ("reasoning_content", "reasoning"):
        if said := _kept([message.get(name)]):
            return said
    details = objects_of(message.get("reasoning_details"))
    if said := _kept(detail.get("text") or detail.get("summary") for detail in details):
        return said
    parts = [p for p in objects_of(message.get("content")) if p.get("type") == "thinking"]
    return _kept(text for part in parts for text in _texts(part.get("thinking")))


def messages_thinking(content: object) -> str:
    """Return the thinking among the content blocks of an Anthropic message."""
    blocks = objects_of(content)
    return _kept(block.get("thinking") for block in blocks if block.get("type") == "thinking")


def responses_thinking(output: object) -> str:
    """Return the thinking among a response's output items: in full, else its summary."""
    items = [item for item in objects_of(output) if item.get("type") == "reasoning"]
    return _kept(
        text
        for item in items
        for text in _texts(item.get("content")) or _texts(item.get("summary"))
    )


def _texts(written: object) -> list[object]:
    if isinstance(written, str):
        return [written]
    return [part.get("text") for part in objects_of(written) if part.get("text")]


def _kept(pieces: Iterable[object]) -> str:
    said = [piece.strip() for piece in pieces if isinstance(piece, str) and piece.strip()]
    return clean_text("\n\n".join(said))[:MAX_THINKING_CHARS]
