"""A stream's end is held back, wherever its bytes are cut on their way."""

import asyncio
import json

from hypothesis import given
from hypothesis import strategies as st

from environments.metering import stream_relay as relay_module
from environments.metering.formats.dialects import CHAT
from environments.metering.stream_relay import StreamRelay


class Received:
    """The program's side of an answer."""

    def __init__(self) -> None:
        self.content = b""

    async def write(self, piece: bytes) -> None:
        self.content += piece


def delta(text="", stop=None):
    return {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": stop}]}


def written(*events):
    lines = [event if isinstance(event, str) else json.dumps(event) for event in events]
    return "".join(f"data: {line}\n\n" for line in lines).encode()


def pass_through(data, size=1 << 20):
    """Return the relay, what the program had before the end, and what it had in all."""

    async def pieces():
        for start in range(0, len(data), size):
            yield data[start : start + size]

    async def run():
        relay, program = StreamRelay(CHAT, False, lambda content: content), Received()
        arriving = pieces()
        await relay.begin(arriving, program)
        before = program.content
        if relay.is_whole:
            await relay.end(arriving, program)
        return relay, before, program.content

    return asyncio.run(run())


@given(
    st.lists(st.text(max_size=8), max_size=6),
    st.booleans(),
    st.integers(min_value=1, max_value=40),
)
def test_all_comes_through_and_the_end_comes_last(texts, has_end_mark, size):
    begins = written(*(delta(text) for text in texts))
    ends = written(delta(stop="stop"), *(["[DONE]"] if has_end_mark else []))
    relay, before, came = pass_through(begins + ends, size)
    assert relay.is_whole
    assert (before, came) == (begins, begins + ends)
    assert relay.content == came
    assert relay.reply.body()["choices"][0]["message"]["content"] == "".join(texts)


@given(st.lists(st.text(max_size=8), max_size=6), st.booleans())
def test_a_stream_without_a_reason_to_stop_never_looks_whole(texts, has_end_mark):
    begins = written(*(delta(text) for text in texts))
    relay, _, came = pass_through(begins + (written("[DONE]") if has_end_mark else b""))
    assert not relay.is_whole
    assert came == begins


def test_what_follows_an_end_mark_is_not_passed_on():
    whole = written(delta("a", "stop"), "[DONE]")
    relay, _, came = pass_through(whole + written(delta("b")))
    assert came == relay.content == whole


def test_too_much_after_the_reply_breaks_the_stream_off(monkeypatch):
    monkeypatch.setattr(relay_module, "MAX_EVENT_BYTES", 1_000)
    relay, _, _ = pass_through(written(delta("a", "stop"), *[delta("b")] * 100))
    assert "more than 1000 bytes follow" in relay.broke_off
    assert not relay.is_whole
