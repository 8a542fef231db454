"""What a metered program's model thought is on record, streamed or not."""

import pytest

from environments.metering.formats.dialects import CHAT, MESSAGES, RESPONSES
from environments.metering.formats.replies import read_reply
from environments.metering.formats.streams import new_reply

SUMMARY = [{"type": "summary_text", "text": "One and one."}]


def chunk(**delta: object) -> dict:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}


def delta(index: int, **fields: object) -> dict:
    return {"type": "content_block_delta", "index": index, "delta": fields}


def start(index: int, **block: object) -> dict:
    return {"type": "content_block_start", "index": index, "content_block": block}


STREAMS = [
    (CHAT, (chunk(reasoning_content="One "), chunk(reasoning_content="and one."), chunk())),
    (CHAT, (chunk(reasoning="One and one."), chunk(content="2"))),
    (
        MESSAGES,
        (
            start(0, type="thinking", thinking="", signature=""),
            delta(0, type="thinking_delta", thinking="One "),
            delta(0, type="thinking_delta", thinking="and one."),
            delta(0, type="signature_delta", signature="c2ln"),
            start(1, type="text", text=""),
            delta(1, type="text_delta", text="2"),
        ),
    ),
    (
        RESPONSES,
        (
            {
                "type": "response.completed",
                "response": {"output": [{"type": "reasoning", "summary": SUMMARY}]},
            },
        ),
    ),
]


@pytest.mark.parametrize(("dialect", "events"), STREAMS)
def test_thinking_that_is_streamed_is_put_together(dialect, events):
    reply = new_reply(dialect)
    for event in events:
        reply.add(event)
    answer = read_reply(dialect, reply.body())
    assert answer.thinking == "One and one."
    assert answer.text in ("", "2")


def test_a_reply_without_thinking_has_none():
    body = {"choices": [{"message": {"content": "2", "reasoning_content": None}}]}
    assert read_reply(CHAT, body).thinking == ""
