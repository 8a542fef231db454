"""Replies in the format of OpenAI's Responses API."""

from collections.abc import Mapping, Sequence
from typing import Any

from environments.models.formats.reply import WireReply, WrittenCall, call_id_of, stop_reason
from environments.models.formats.usage import usage_of
from environments.models.wire.parts import object_of, objects_of, text_of
from environments.models.wire.thinking import responses_thinking

_CUSTOM = "custom_tool_call"


def responses_reply(body: Mapping[str, Any]) -> WireReply:
    """Return the content of a response's output items."""
    items = objects_of(body.get("output"))
    messages = [item for item in items if item.get("type") == "message"]
    parts = [part for item in messages for part in objects_of(item.get("content"))]
    refusal = "".join(text_of(p.get("refusal")) for p in parts if p.get("type") == "refusal")
    text = "".join(text_of(p.get("text")) for p in parts if p.get("type") == "output_text")
    calls = tuple(
        WrittenCall(
            call_id_of(item.get("call_id")),
            text_of(item.get("name")),
            item.get("input" if item["type"] == _CUSTOM else "arguments"),
            is_custom=item["type"] == _CUSTOM,
        )
        for item in items
        if item.get("type") in ("function_call", _CUSTOM)
    )
    return WireReply(
        text=refusal or text,
        model=text_of(body.get("model")),
        stop_reason="refused" if refusal else _stop_reason(body, calls),
        calls=calls,
        usage=usage_of(body.get("usage")),
        thinking=responses_thinking(body.get("output")),
    )


def _stop_reason(body: Mapping[str, Any], calls: Sequence[WrittenCall]) -> str:
    if body.get("status") == "incomplete":
        return stop_reason(text_of(object_of(body.get("incomplete_details")).get("reason")))
    return "tool_calls" if calls else "stop"
