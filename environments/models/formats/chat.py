"""Replies in the format of chat completions."""

from collections.abc import Mapping
from typing import Any

from environments.models.formats.reply import WireReply, WrittenCall, call_id_of, stop_reason
from environments.models.formats.usage import usage_of
from environments.models.wire.parts import object_of, objects_of, text_of
from environments.models.wire.thinking import chat_thinking


def chat_reply(body: Mapping[str, Any]) -> WireReply:
    """Return the content of the first choice of a chat completion."""
    choice = next(iter(objects_of(body.get("choices"))), {})
    message = object_of(choice.get("message"))
    refusal = text_of(message.get("refusal"))
    return WireReply(
        text=refusal or _text(message.get("content")),
        model=text_of(body.get("model")),
        stop_reason="refused" if refusal else stop_reason(text_of(choice.get("finish_reason"))),
        calls=_calls(message),
        usage=usage_of(body.get("usage")),
        thinking=chat_thinking(message),
    )


def _calls(message: Mapping[str, Any]) -> tuple[WrittenCall, ...]:
    written = objects_of(message.get("tool_calls"))
    if not written:
        # The format's older field for a single call; servers that support `tool_calls` leave it
        # empty.
        called = object_of(message.get("function_call"))
        written = [{"function": called}] if text_of(called.get("name")) else []
    functions = [object_of(call.get("function")) for call in written]
    return tuple(
        WrittenCall(
            call_id_of(call.get("id")),
            text_of(function.get("name")),
            function.get("arguments"),
            # Gemini's signature of the thinking before the call.
            extra=object_of(call.get("extra_content")),
        )
        for call, function in zip(written, functions, strict=True)
    )


def _text(content: object) -> str:
    if not isinstance(content, list):
        return text_of(content)
    # Parts of other types are thinking and links to sources, not the answer itself.
    return "".join(
        part if isinstance(part, str) else text_of(part.get("text"))
        for part in content
        if isinstance(part, str) or _is_said(part)
    )


def _is_said(part: object) -> bool:
    return isinstance(part, dict) and part.get("type", "text") in ("text", "output_text")
