"""What a provider answered, read from a whole body or put together from a stream.

Programs get every byte of it whatever it is; this is for the record and for the bill, so a field
that is missing or odd is left out, and usage that cannot be read is unknown.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from environments.metering.formats.dialects import Dialect
from environments.models.client import Answer
from environments.models.faults import AttemptFailed
from environments.models.openai.usage import usage_of
from environments.models.wire.arguments import clean_text, read_arguments
from environments.models.wire.http import MAX_ANSWER_BYTES
from environments.models.wire.parts import object_of, objects_of, text_of
from environments.models.wire.reading import arguments_text
from environments.models.wire.thinking import (
    chat_thinking,
    messages_thinking,
    responses_thinking,
)
from taskdata.schema.transcript import ToolCall
from taskdata.schema.usage import Usage

if TYPE_CHECKING:
    import aiohttp

MAX_TEXT_CHARS = 200_000
_MAX_CALLS = 128
_MAX_NAME_CHARS = 200

_MESSAGES_COUNTS = {
    "input_tokens": "input_tokens",
    "output_tokens": "output_tokens",
    "cached_input_tokens": "cache_read_input_tokens",
    "cache_write_tokens": "cache_creation_input_tokens",
}
_STOP_REASONS = {
    "content_filter": "refused",
    "function_call": "tool_calls",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "max_output_tokens": "length",
    "refusal": "refused",
}


def read_answer(dialect: Dialect, body: Mapping[str, Any]) -> Answer:
    """Return a successful reply's text, thinking, calls and usage, as far as they can be read."""
    return replace(_READERS[dialect.name](body), thinking=_THINKING[dialect.name](body))


def _chat(body: Mapping[str, Any]) -> Answer:
    choice, message = _choice(body)
    functions = [
        (text_of(call.get("id")), object_of(call.get("function")))
        for call in objects_of(message.get("tool_calls"))
    ]
    calls = ((id_, text_of(f.get("name")), text_of(f.get("arguments"))) for id_, f in functions)
    said = text_of(message.get("refusal")) or text_of(message.get("content"))
    return _answer(
        body, said, calls, text_of(choice.get("finish_reason")), usage_of(body.get("usage"))
    )


def _choice(body: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    choice = next(iter(objects_of(body.get("choices"))), {})
    return choice, object_of(choice.get("message"))


def _responses(body: Mapping[str, Any]) -> Answer:
    items = objects_of(body.get("output"))
    parts = [
        part
        for item in items
        if item.get("type") == "message"
        for part in objects_of(item.get("content"))
    ]
    said = "".join(text_of(part.get("text")) or text_of(part.get("refusal")) for part in parts)
    calls = [
        (
            text_of(item.get("call_id")),
            text_of(item.get("name")),
            text_of(item.get("arguments")) or text_of(item.get("input")),
        )
        for item in items
        if item.get("type") in ("function_call", "custom_tool_call")
    ]
    reason = text_of(object_of(body.get("incomplete_details")).get("reason"))
    stop = reason or ("tool_calls" if calls else "stop")
    return _answer(body, said, calls, stop, usage_of(body.get("usage")))


def _messages(body: Mapping[str, Any]) -> Answer:
    blocks = objects_of(body.get("content"))
    said = "".join(text_of(block.get("text")) for block in blocks if block.get("type") == "text")
    calls = (
        (
            text_of(block.get("id")),
            text_of(block.get("name")),
            arguments_text(block.get("input") or {}),
        )
        for block in blocks
        if block.get("type") == "tool_use"
    )
    return _answer(body, said, calls, text_of(body.get("stop_reason")), _usage_of_messages(body))


_READERS: Mapping[str, Callable[[Mapping[str, Any]], Answer]] = {
    "chat": _chat,
    "responses": _responses,
    "messages": _messages,
}

_THINKING: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "chat": lambda body: chat_thinking(_choice(body)[1]),
    "responses": lambda body: responses_thinking(body.get("output")),
    "messages": lambda body: messages_thinking(body.get("content")),
}


def _answer(
    body: Mapping[str, Any],
    text: str,
    calls: Iterable[tuple[str, str, str]],
    stop: str,
    usage: Usage | None,
) -> Answer:
    return Answer(
        text=clean_text(text)[:MAX_TEXT_CHARS],
        model=clean_text(text_of(body.get("model")))[:_MAX_NAME_CHARS],
        stop_reason=_STOP_REASONS.get(stop, clean_text(stop)[:_MAX_NAME_CHARS]),
        tool_calls=tuple(_call(*call) for call in list(calls)[:_MAX_CALLS]),
        usage=usage,
    )


def _call(id_: str, tool: str, raw: str) -> ToolCall:
    raw = clean_text(raw)[:MAX_TEXT_CHARS]
    return ToolCall(
        id=clean_text(id_)[:_MAX_NAME_CHARS],
        tool=clean_text(tool)[:_MAX_NAME_CHARS],
        arguments=read_arguments(raw),
        raw=raw,
    )


def _usage_of_messages(body: Mapping[str, Any]) -> Usage | None:
    used = object_of(body.get("usage"))
    counts = {name: used.get(told) for name, told in _MESSAGES_COUNTS.items()}
    try:
        parts = Usage.model_validate({n: c for n, c in counts.items() if c is not None})
    except ValidationError:
        return None
    if counts["input_tokens"] is None or counts["output_tokens"] is None:
        return None
    # Anthropic counts what it read from or wrote to its cache beside the input.
    read = parts.input_tokens + parts.cached_input_tokens + parts.cache_write_tokens
    return parts.model_copy(update={"input_tokens": read})


async def all_of(answered: "aiohttp.ClientResponse", where: str) -> bytes:
    """Return the answer's body; raises `AttemptFailed` where it is too long."""
    content = bytearray()
    async for piece in answered.content.iter_any():
        content += piece
        if len(content) > MAX_ANSWER_BYTES:
            raise AttemptFailed(f"{where}: the answer has more than {MAX_ANSWER_BYTES} bytes")
    return bytes(content)


def decoded(content: bytes) -> Any:
    """Return what the JSON says; None where it is none."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None
