"""Client of the chat completions format: OpenAI itself, compatible servers, local models.

Compatible servers implement the format in part. What they leave out stays unknown, unambiguous
variants are parsed, and anything else is a failed attempt.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from pydantic import Field

from environments.models.client import ProviderClient
from environments.models.faults import ProviderError
from environments.models.formats.chat import chat_reply
from environments.models.formats.reply import ParsedReply, read_calls
from environments.models.openai.account import cache_key, data_url, opened_message, refuses
from environments.models.openai.sdk import openai_client
from environments.models.wire.reading import (
    CallId,
    Wire,
    read_form,
    replayed,
)
from environments.models.wire.sdk import SdkClient
from environments.models.wire.writing import (
    in_list,
    list_in_pieces,
    message_json,
    tool_name,
    with_parts,
)
from environments.ports import Media, Message, ModelRequest
from taskdata.schema.tool import ToolSpec
from taskdata.schema.transcript import ToolCall

_FORMAT = "chat"
_THOUGHTLESS = "chat without reasoning"
_PICTURES = "chat, pictures of a result"
_STOP = "stop"
_MAX_TOKENS = "max_tokens"
_MAX_COMPLETION_TOKENS = "max_completion_tokens"
_REASONING = "reasoning"
_REASONING_FIELDS = ("reasoning_content", "reasoning", "reasoning_details")
"""Fields in which servers return thinking, and want it back with the tool results."""


class _Function(Wire):
    name: str | None = None
    arguments: Any = None


class _Call(Wire):
    id: CallId = None
    function: _Function
    extra_content: dict[str, Any] | None = None
    """Gemini's signature of the thinking before the call, wanted back with the call."""


class _Part(Wire):
    type: str = "text"
    text: str | None = None


class _Message(Wire):
    content: str | list[str | _Part] | None = None
    tool_calls: list[_Call] | None = None
    function_call: Any = None
    """The format's older field for a single call."""
    refusal: str | None = None
    reasoning_content: Any = None
    reasoning: Any = None
    reasoning_details: Any = None


class _Choice(Wire):
    message: _Message
    finish_reason: str | None = None


class _Completion(Wire):
    model: str | None = None
    choices: list[_Choice] = Field(min_length=1)
    usage: Any = None


class OpenAIClient(ProviderClient):
    """One model behind a chat completions endpoint; safe to share within one event loop."""

    path = "/chat/completions"

    def _new_sdk(self) -> SdkClient:
        return openai_client(self.endpoint)

    @staticmethod
    def _tool(spec: ToolSpec) -> dict[str, Any]:
        return {
            "type": "function",
            "function": {
                "name": spec.name,
                "description": spec.description,
                "parameters": spec.parameters,
            },
        }

    def _body(self, request: ModelRequest) -> bytes:
        fields: dict[str, Any] = {
            "model": self.endpoint.spec.model,
            self._limit_field(): request.max_tokens,
        }
        if request.temperature is not None:
            fields["temperature"] = request.temperature
        if request.reasoning_effort is not None:
            fields["reasoning_effort"] = request.reasoning_effort
        if request.stop and _STOP not in self._without:
            fields["stop"] = list(request.stop)
        if request.json_schema is not None:
            schema = {"name": "reply", "schema": request.json_schema, "strict": True}
            fields["response_format"] = {"type": "json_schema", "json_schema": schema}
        if self._is_openai:
            fields["prompt_cache_key"] = cache_key(request)
        if _REASONING in self._without:
            turns = _turns(request.messages, _THOUGHTLESS, _thoughtless)
        else:
            turns = _turns(request.messages, _FORMAT, _message)
        parts: dict[str, bytes | Sequence[bytes]] = {"messages": list_in_pieces(turns)}
        if request.tools:
            parts["tools"] = in_list(self._tools.json(request.tools))
        return with_parts(fields, parts)

    @property
    def _is_openai(self) -> bool:
        return self.endpoint.spec.provider.startswith("openai")

    def _limit_field(self) -> str:
        # Newer OpenAI models refuse the older field; most compatible servers know only that one.
        is_refused = self._is_openai or _MAX_TOKENS in self._without
        return _MAX_COMPLETION_TOKENS if is_refused else _MAX_TOKENS

    def _refused_way(self, request: ModelRequest, error: ProviderError) -> str | None:
        if request.stop and refuses(error, _STOP):
            return _STOP
        # A reply limit that is merely too high is refused with the same field name.
        if refuses(error, _MAX_TOKENS) and _MAX_COMPLETION_TOKENS in error.message:
            return _MAX_TOKENS
        sent = any(replayed(m.replay, _FORMAT) for m in request.messages)
        if sent and any(refuses(error, field) for field in _REASONING_FIELDS):
            return _REASONING
        return None

    def _answer(self, body: Any) -> ParsedReply:
        read_form(str(self.endpoint), body, _Completion)
        reply = chat_reply(body)
        calls = read_calls(reply.calls)
        signed = {
            call.id: {"extra_content": written.extra}
            for call, written in zip(calls, reply.calls, strict=True)
            if written.extra
        }
        return ParsedReply.of(reply, calls, _replay(body["choices"][0]["message"], signed))


def _turns(
    messages: Sequence[Message], wire_format: str, write: Callable[[Message], Any]
) -> Iterator[tuple[bytes, ...]]:
    """Yield the messages as JSON in pieces.

    A tool's message has no place for pictures in this format. They follow in a message of the user,
    after the results of all calls, because nothing may stand between a call and its result.
    """
    pictures: list[bytes] = []
    for message in messages:
        if pictures and message.role != "tool":
            yield _of_user(pictures)
            pictures = []
        yield _encoded(message, wire_format, write)
        if message.role == "tool" and message.media:
            pictures.append(message_json(message, _PICTURES, _labelled)[1:-1])
    if pictures:
        yield _of_user(pictures)


def _of_user(parts: Sequence[bytes]) -> tuple[bytes, ...]:
    return (b'{"role":"user","content":', in_list(parts), b"}")


def _labelled(message: Message) -> list[dict[str, Any]]:
    """Return the pictures of a tool's message as parts, each after a line that says what it is."""
    return [
        _part(piece)
        for media in message.media
        for piece in (f"From the result of call {message.call_id}: {media.name}", media)
    ]


def _encoded(
    message: Message, wire_format: str, write: Callable[[Message], Any]
) -> tuple[bytes, ...]:
    """Return the message as JSON in pieces."""
    if message.opening is None:
        return (message_json(message, wire_format, write),)
    return opened_message(message, message.opening, _FORMAT, _part)


def _message(message: Message) -> dict[str, Any]:
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": message.call_id, "content": message.text}
    if message.role != "assistant":
        return {"role": message.role, "content": _content(message)}
    kept = replayed(message.replay, _FORMAT)
    thought = {name: kept[name] for name in _REASONING_FIELDS if name in kept}
    if not message.tool_calls:
        return {"role": "assistant", "content": message.text} | thought
    signed = kept.get("extra_content", {})
    calls = [_written(call) | signed.get(call.id, {}) for call in message.tool_calls]
    return {"role": "assistant", "content": message.text or None, "tool_calls": calls} | thought


def _thoughtless(message: Message) -> dict[str, Any]:
    return {k: v for k, v in _message(message).items() if k not in _REASONING_FIELDS}


def _written(call: ToolCall) -> dict[str, Any]:
    # Some servers parse the arguments again and fail on the model's invalid JSON.
    readable = call.raw or "{}"
    if call.arguments is None:
        readable = json.dumps({"unreadable": call.raw})
    return {
        "id": call.id,
        "type": "function",
        "function": {"name": tool_name(call.tool), "arguments": readable},
    }


def _content(message: Message) -> str | list[dict[str, Any]]:
    if not message.media:
        return message.text
    text = [_part(message.text)] if message.text else []
    return [*map(_part, message.media), *text]


def _part(piece: str | Media) -> dict[str, Any]:
    return {"type": "text", "text": piece} if isinstance(piece, str) else _media_part(piece)


def _media_part(media: Media) -> dict[str, Any]:
    url = data_url(media)
    if media.media_type.startswith("image/"):
        return {"type": "image_url", "image_url": {"url": url}}
    if media.media_type == "application/pdf":
        return {"type": "file", "file": {"filename": media.name, "file_data": url}}
    kind = {"audio/wav": "wav", "audio/mpeg": "mp3"}[media.media_type]
    encoded = url.partition(",")[2]
    return {"type": "input_audio", "input_audio": {"data": encoded, "format": kind}}


def _replay(said: Mapping[str, Any], signed: dict[str, Any]) -> tuple[dict[str, Any], ...]:
    thought = {name: value for name in _REASONING_FIELDS if (value := said.get(name))}
    if not thought and not signed:
        return ()
    return ({"format": _FORMAT} | thought | ({"extra_content": signed} if signed else {}),)
