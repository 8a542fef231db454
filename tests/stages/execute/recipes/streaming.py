"""A scripted provider that streams its replies where that is asked for, as programs do.

The events are those that providers send for one text and one call, in the three wire formats.
"""

import json
from collections.abc import Iterator
from typing import Any

from aiohttp import web

from tests.wire_server import Behaviour, Seen, wire_reply

USAGE = (1000, 100, 0)
"""Tokens of each reply: input, output, cached."""


def replies(text: str = "", *calls: tuple[str, Any], number: int = 1) -> Behaviour:
    """Answer with text and calls; `number` makes the ids of its calls differ from others'."""

    async def behave(seen: Seen, request: web.Request) -> web.StreamResponse:
        body = json.dumps(wire_reply(seen, text, calls, USAGE)).replace(
            '"call_0"', f'"call_{number}"'
        )
        whole = json.loads(body)
        if not seen.body.get("stream"):
            return web.json_response(whole)
        write = {"anthropic": _messages, "responses": _responses}.get(seen.dialect, _chat)
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        for event in write(whole):
            named = f"event: {event['type']}\n" if "type" in event else ""
            await response.write(f"{named}data: {json.dumps(event)}\n\n".encode())
        if seen.dialect == "openai":
            await response.write(b"data: [DONE]\n\n")
        return response

    return behave


def _chat(whole: dict[str, Any]) -> Iterator[dict[str, Any]]:
    (choice,) = whole["choices"]
    message = choice["message"]
    around = {name: whole[name] for name in ("id", "created", "model")}
    around["object"] = "chat.completion.chunk"
    calls = [{"index": n, **call} for n, call in enumerate(message.get("tool_calls", ()))]
    delta = {"role": "assistant", "content": message["content"]}
    delta |= {"tool_calls": calls} if calls else {}
    for part, stop in ((delta, None), ({}, choice["finish_reason"])):
        yield around | {"choices": [{"index": 0, "delta": part, "finish_reason": stop}]}
    yield around | {"choices": [], "usage": whole["usage"]}


def _responses(whole: dict[str, Any]) -> Iterator[dict[str, Any]]:
    begun = whole | {"status": "in_progress", "output": [], "usage": None}
    events: list[dict[str, Any]] = [{"type": "response.created", "response": begun}]
    for index, item in enumerate(whole["output"]):
        events.append({"type": "response.output_item.added", "output_index": index, "item": item})
        if item["type"] == "message":
            place = {"item_id": item["id"], "output_index": index, "content_index": 0}
            text = item["content"][0]["text"]
            events.append({"type": "response.output_text.delta", "delta": text, **place})
            events.append({"type": "response.output_text.done", "text": text, **place})
        else:
            place = {"item_id": item["id"], "output_index": index}
            said = {"arguments": item["arguments"], "name": item["name"]}
            events.append({"type": "response.function_call_arguments.done", **said, **place})
        events.append({"type": "response.output_item.done", "output_index": index, "item": item})
    events.append({"type": "response.completed", "response": whole})
    for number, event in enumerate(events):
        yield event | {"sequence_number": number}


def _messages(whole: dict[str, Any]) -> Iterator[dict[str, Any]]:
    begun = whole | {"content": [], "stop_reason": None, "stop_sequence": None}
    begun["usage"] = whole["usage"] | {"output_tokens": 1}
    yield {"type": "message_start", "message": begun}
    for index, block in enumerate(whole["content"]):
        if block["type"] == "text":
            empty, delta = {"text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            written = json.dumps(block["input"])
            empty, delta = {"input": {}}, {"type": "input_json_delta", "partial_json": written}
        yield {"type": "content_block_start", "index": index, "content_block": block | empty}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    stop = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": stop, "usage": {"output_tokens": USAGE[1]}}
    yield {"type": "message_stop"}
