"""Messages as blocks of the Anthropic format: alternating turns, and where its cache ends."""

import base64
from collections.abc import Sequence
from typing import Any

from environments.models.wire.parts import text_of
from environments.models.wire.reading import replayed
from environments.models.wire.writing import list_in_pieces, message_json, to_json, tool_name
from environments.ports import Media, Message
from taskdata.schema.transcript import ToolCall

FORMAT = "messages"
_THINKING = ("thinking", "redacted_thinking")
_BREAKPOINT = b',"cache_control":{"type":"ephemeral"}}'


def with_breakpoint(block: bytes) -> bytes:
    """Return an encoded block marked as a cache breakpoint."""
    return block[:-1] + _BREAKPOINT


def turns_of(messages: Sequence[Message], *, marked: bool) -> list[bytes]:
    """Return the turns as JSON in pieces: neighbouring messages of one role become one turn.

    Args:
        messages: The conversation; its system messages are left out.
        marked: Mark the ends of the last two turns that are not the model's. This call then finds
            what the previous call wrote to the cache, however many blocks were added since.
    """
    turns: list[tuple[str, list[bytes]]] = []
    for message in messages:
        if message.role == "system":
            continue
        role = "assistant" if message.role == "assistant" else "user"
        blocks = _encoded(message)
        if turns and turns[-1][0] == role:
            turns[-1][1].extend(blocks)
        else:
            turns.append((role, blocks))
    if marked:
        for _, blocks_of_turn in [turn for turn in turns if turn[0] == "user"][-2:]:
            blocks_of_turn[-1] = with_breakpoint(blocks_of_turn[-1])
    return list_in_pieces(
        [
            b'{"role":"%s","content":' % role.encode(),
            *list_in_pieces([block] for block in blocks),
            b"}",
        ]
        for role, blocks in turns
    )


def _encoded(message: Message) -> list[bytes]:
    """Return the blocks of a message as JSON; several may be in one piece."""
    if message.opening is None:
        # Without the brackets of the array, because a turn may consist of several messages.
        return [message_json(message, FORMAT, _blocks)[1:-1]]
    known = message.opening.wire.get(FORMAT)
    if known is None:
        *others, last = [to_json(_block(piece)) for piece in message.opening.pieces]
        known = b",".join([*others, with_breakpoint(last)])
        message.opening.wire[FORMAT] = known
    return [known, to_json(_block(message.text))]


def _block(piece: str | Media) -> dict[str, Any]:
    return {"type": "text", "text": piece} if isinstance(piece, str) else _media_block(piece)


def _blocks(message: Message) -> list[dict[str, Any]]:
    if message.role == "tool":
        result: dict[str, Any] = {"type": "tool_result", "tool_use_id": message.call_id}
        if message.media:
            result["content"] = _result_blocks(message)
        elif message.text:
            result["content"] = message.text
        return [result | ({"is_error": True} if message.is_error else {})]
    if kept := _kept_blocks(message):
        return kept
    calls = [_tool_use(call) for call in message.tool_calls]
    shown = [_media_block(media) for media in message.media]
    # The service refuses blank text blocks, and messages without any block.
    if message.text.strip() or not (calls or shown):
        shown.append({"type": "text", "text": message.text.rstrip() or "(no text)"})
    return shown + calls


def _result_blocks(message: Message) -> list[dict[str, Any]]:
    """Return a tool's result, text before its pictures."""
    text = [_block(message.text)] if message.text.strip() else []
    return [*text, *map(_media_block, message.media)]


def _kept_blocks(message: Message) -> list[dict[str, Any]]:
    """Return the blocks of a reply unchanged, except those that the service would refuse.

    Refused are blank text, thinking at the end, and calls without a result or of an invalid name.
    """
    answered = {call.id for call in message.tool_calls}
    blocks: list[dict[str, Any]] = []
    for block in replayed(message.replay, FORMAT).get("content", ()):
        if block.get("type") == "tool_use":
            if block.get("id") in answered:
                blocks.append(block | {"name": tool_name(text_of(block.get("name")))})
        elif block.get("type") != "text" or text_of(block.get("text")).strip():
            blocks.append(block)
    while blocks and blocks[-1].get("type") in _THINKING:
        blocks.pop()
    return blocks


def _tool_use(call: ToolCall) -> dict[str, Any]:
    readable = {"unreadable": call.raw} if call.arguments is None else call.arguments
    return {"type": "tool_use", "id": call.id, "name": tool_name(call.tool), "input": readable}


def _media_block(media: Media) -> dict[str, Any]:
    source = {
        "type": "base64",
        "media_type": media.media_type,
        "data": base64.b64encode(media.data).decode(),
    }
    if media.media_type == "application/pdf":
        return {"type": "document", "source": source, "title": media.name}
    return {"type": "image", "source": source}
