"""Client of OpenAI's Responses API, in which a reasoning model gets its own thinking back.

Nothing is stored at the provider (`store: false`): reasoning arrives encrypted and is sent back
unchanged, with the items around it.
"""

import json
from collections.abc import Sequence, Set
from typing import Any, Literal

from environments.models.client import ProviderClient
from environments.models.faults import AttemptFailed, ProviderError
from environments.models.formats.reply import ParsedReply, read_calls
from environments.models.formats.responses import responses_reply
from environments.models.openai.account import cache_key, data_url, opened_message, refuses
from environments.models.openai.sdk import openai_client
from environments.models.wire.parts import text_of
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

_FORMAT = "responses"
_ENCRYPTED = "reasoning.encrypted_content"
_SUMMARY = "reasoning.summary"
_LEAST_OUTPUT_TOKENS = 16
"""The service refuses a lower limit."""


class _Part(Wire):
    type: str
    text: str | None = None
    refusal: str | None = None


class _Item(Wire):
    type: str
    content: list[_Part] | None = None
    phase: str | None = None
    call_id: CallId = None
    name: str | None = None
    arguments: Any = None


class _Why(Wire):
    reason: str | None = None


class _Response(Wire):
    model: str | None = None
    status: Literal["completed", "incomplete", "failed", "cancelled", "queued", "in_progress"]
    incomplete_details: _Why | None = None
    output: list[dict[str, Any]]
    usage: Any = None


class OpenAIResponsesClient(ProviderClient):
    """One model behind a responses endpoint; safe to share within one event loop."""

    takes_audio = False
    path = "/responses"

    def _new_sdk(self) -> SdkClient:
        return openai_client(self.endpoint)

    @staticmethod
    def _tool(spec: ToolSpec) -> dict[str, Any]:
        # This format is strict by default, and strict mode refuses schemas with optional arguments.
        return {
            "type": "function",
            "name": spec.name,
            "description": spec.description,
            "parameters": spec.parameters,
            "strict": False,
        }

    def _body(self, request: ModelRequest) -> bytes:
        fields: dict[str, Any] = {
            "model": self.endpoint.spec.model,
            "store": False,
            "max_output_tokens": max(_LEAST_OUTPUT_TOKENS, request.max_tokens),
            "prompt_cache_key": cache_key(request),
        }
        if _ENCRYPTED not in self._without:
            fields["include"] = [_ENCRYPTED]
        if request.temperature is not None:
            fields["temperature"] = request.temperature
        reasoning = {} if _SUMMARY in self._without else {"summary": "auto"}
        if request.reasoning_effort is not None:
            reasoning["effort"] = request.reasoning_effort
        if reasoning:
            fields["reasoning"] = reasoning
        if request.json_schema is not None:
            schema = {"name": "reply", "schema": request.json_schema, "strict": True}
            fields["text"] = {"format": {"type": "json_schema"} | schema}
        items = [_encoded(message) for message in request.messages]
        parts: dict[str, bytes | Sequence[bytes]] = {
            "input": list_in_pieces([item for item in items if item != (b"",)])
        }
        if request.tools:
            parts["tools"] = in_list(self._tools.json(request.tools))
        return with_parts(fields, parts)

    def _refused_way(self, request: ModelRequest, error: ProviderError) -> str | None:
        # Models that do not reason refuse to include encrypted reasoning.
        if "encrypted content" in error.message.lower() or refuses(error, "include"):
            return _ENCRYPTED
        # They also refuse summaries, and unverified organisations get no summaries.
        alone = request.reasoning_effort is None and refuses(error, "reasoning")
        return _SUMMARY if alone or refuses(error, "summary") else None

    def _answer(self, body: Any) -> ParsedReply:
        where = str(self.endpoint)
        form = read_form(where, body, _Response)
        if form.status not in ("completed", "incomplete"):
            raise AttemptFailed(f"{where}: the response ended as {form.status!r}")
        items = [read_form(where, item, _Item) for item in form.output]
        reply = responses_reply(body)
        calls = read_calls(reply.calls)
        return ParsedReply.of(reply, calls, _replay(form.output, items, calls))


def _replay(
    output: list[dict[str, Any]], items: list[_Item], calls: Sequence[ToolCall]
) -> tuple[dict[str, Any], ...]:
    """Return the items to send back, if text and calls alone do not hold everything."""
    plain = all(item.type in ("message", "function_call") and not item.phase for item in items)
    # Items that are sent back need the ids that their results name, and arguments as text.
    written = [item for item in items if item.type == "function_call"]
    given = [item.call_id for item in written if isinstance(item.arguments, str)]
    if plain or given != [call.id for call in calls]:
        return ()
    return ({"format": _FORMAT, "output": output},)


def _encoded(message: Message) -> tuple[bytes, ...]:
    """Return the items of a message as JSON in pieces."""
    if message.opening is None:
        return (_listed(message_json(message, _FORMAT, _items)),)
    return opened_message(message, message.opening, _FORMAT, _part)


def _items(message: Message) -> list[dict[str, Any]]:
    if message.role == "tool":
        output = _output(message)
        return [{"type": "function_call_output", "call_id": message.call_id, "output": output}]
    if message.role != "assistant":
        return [{"role": message.role, "content": _content(message)}]
    if (kept := replayed(message.replay, _FORMAT).get("output")) is not None:
        return _kept_items(kept, {call.id for call in message.tool_calls})
    text = [{"role": "assistant", "content": message.text}] if message.text else []
    return text + [_function_call(call) for call in message.tool_calls]


def _kept_items(output: Sequence[dict[str, Any]], answered: Set[str]) -> list[dict[str, Any]]:
    """Return the items of a reply unchanged, except those that the service would refuse.

    Refused are calls without a result or of an invalid name, and reasoning that no item follows.
    """
    items: list[dict[str, Any]] = []
    leads_on = False
    for item in reversed(output):
        is_reasoning = item.get("type") == "reasoning"
        is_call = item.get("type") == "function_call"
        is_kept = leads_on if is_reasoning else not is_call or item.get("call_id") in answered
        if is_kept:
            named = {"name": tool_name(text_of(item.get("name")))} if is_call else {}
            items.append(item | named)
        leads_on = is_kept and not is_reasoning
    return items[::-1]


def _function_call(call: ToolCall) -> dict[str, Any]:
    readable = call.raw or "{}"
    if call.arguments is None:
        readable = json.dumps({"unreadable": call.raw})
    return {
        "type": "function_call",
        "call_id": call.id,
        "name": tool_name(call.tool),
        "arguments": readable,
    }


def _listed(items: bytes) -> bytes:
    """Return the items of an encoded array without its brackets: a turn may be several items."""
    return items[1:-1]


def _output(message: Message) -> str | list[dict[str, Any]]:
    """Return a tool's result, text before its pictures."""
    if not message.media:
        return message.text
    text = [_part(message.text)] if message.text else []
    return [*text, *map(_part, message.media)]


def _content(message: Message) -> str | list[dict[str, Any]]:
    if not message.media:
        return message.text
    text = [_part(message.text)] if message.text else []
    return [*map(_part, message.media), *text]


def _part(piece: str | Media) -> dict[str, Any]:
    return {"type": "input_text", "text": piece} if isinstance(piece, str) else _media_part(piece)


def _media_part(media: Media) -> dict[str, Any]:
    if media.media_type.startswith("image/"):
        return {"type": "input_image", "image_url": data_url(media)}
    return {"type": "input_file", "filename": media.name, "file_data": data_url(media)}
