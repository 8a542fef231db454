"""Replies in Anthropic's format of messages."""

from collections.abc import Mapping
from typing import Any

from environments.models.formats.reply import WireReply, WrittenCall, call_id_of, stop_reason
from environments.models.wire.parts import objects_of, text_of
from environments.models.wire.reading import Count, Wire, read_usage
from environments.models.wire.thinking import messages_thinking
from taskdata.schema.transcript import Usage


class _OutputDetails(Wire):
    thinking_tokens: Count | None = None


class _Usage(Wire):
    input_tokens: Count
    output_tokens: Count
    cache_read_input_tokens: Count | None = None
    cache_creation_input_tokens: Count | None = None
    output_tokens_details: _OutputDetails | None = None


def messages_reply(body: Mapping[str, Any]) -> WireReply:
    """Return the content of a message's blocks."""
    blocks = blocks_of(body.get("content"))
    return WireReply(
        text="".join(text_of(b.get("text")) for b in blocks if b.get("type") == "text"),
        model=text_of(body.get("model")),
        stop_reason=stop_reason(text_of(body.get("stop_reason"))),
        calls=tuple(
            WrittenCall(call_id_of(block.get("id")), text_of(block.get("name")), block.get("input"))
            for block in blocks
            if block.get("type") == "tool_use"
        ),
        usage=_usage_of(body.get("usage")),
        thinking=messages_thinking(blocks),
    )


def blocks_of(content: object) -> list[dict[str, Any]]:
    """Return the blocks of a content, which some servers send as plain text."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return objects_of(content)


def _usage_of(raw: object) -> Usage | None:
    usage = read_usage(raw, _Usage)
    if usage is None:
        return None
    # Anthropic does not include cached tokens, read or written, in the input tokens.
    read, written = usage.cache_read_input_tokens or 0, usage.cache_creation_input_tokens or 0
    thought = usage.output_tokens_details and usage.output_tokens_details.thinking_tokens
    return Usage(
        input_tokens=usage.input_tokens + read + written,
        output_tokens=usage.output_tokens,
        cached_input_tokens=read,
        cache_write_tokens=written,
        reasoning_tokens=thought or 0,
    )
