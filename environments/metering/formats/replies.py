"""A provider's answer, parsed from a whole body or assembled from a stream.

Programs get the answer unchanged; parsing serves the record and the cost. So a missing or invalid
field is left out, and usage that cannot be parsed is unknown.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from environments.metering.formats.dialects import Dialect
from environments.models.faults import AttemptFailed
from environments.models.formats.chat import chat_reply
from environments.models.formats.messages import messages_reply
from environments.models.formats.reply import ParsedReply, WireReply, WrittenCall
from environments.models.formats.responses import responses_reply
from environments.models.wire.arguments import clean_text, read_arguments
from environments.models.wire.http import MAX_ANSWER_BYTES
from environments.models.wire.reading import arguments_text
from taskdata.schema.transcript import ToolCall

if TYPE_CHECKING:
    import aiohttp

MAX_TEXT_CHARS = 200_000
_MAX_CALLS = 128
_MAX_NAME_CHARS = 200

_CODECS: Mapping[str, Callable[[Mapping[str, Any]], WireReply]] = {
    "chat": chat_reply,
    "responses": responses_reply,
    "messages": messages_reply,
}


def read_reply(dialect: Dialect, body: Mapping[str, Any]) -> ParsedReply:
    """Return a successful reply's text, thinking, calls and usage, cut to what a record takes."""
    reply = _CODECS[dialect.name](body)
    cut = replace(
        reply,
        text=clean_text(reply.text)[:MAX_TEXT_CHARS],
        model=clean_text(reply.model)[:_MAX_NAME_CHARS],
        stop_reason=clean_text(reply.stop_reason)[:_MAX_NAME_CHARS],
    )
    return ParsedReply.of(cut, tuple(_call(call) for call in reply.calls[:_MAX_CALLS]))


def _call(call: WrittenCall) -> ToolCall:
    """Return a tool call for the record; its id is kept, whatever the program uses it for."""
    written = call.arguments
    text = written if isinstance(written, str) else arguments_text(written or {})
    raw = clean_text(text)[:MAX_TEXT_CHARS]
    return ToolCall(
        id=clean_text("" if call.id is None else str(call.id))[:_MAX_NAME_CHARS],
        tool=clean_text(call.name or "")[:_MAX_NAME_CHARS],
        arguments=read_arguments(raw),
        raw=raw,
    )


async def all_of(answered: "aiohttp.ClientResponse", where: str) -> bytes:
    """Return the answer's body; raises `AttemptFailed` if it is too long."""
    content = bytearray()
    async for piece in answered.content.iter_any():
        content += piece
        if len(content) > MAX_ANSWER_BYTES:
            raise AttemptFailed(f"{where}: the answer has more than {MAX_ANSWER_BYTES} bytes")
    return bytes(content)


def decoded(content: bytes) -> Any:
    """Return the parsed JSON; None if it is invalid."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None
