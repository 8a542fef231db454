"""Streams: every event arrives, and what they come to is read from them."""

import asyncio
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from environments.metering.formats.dialects import CHAT, MESSAGES, RESPONSES
from environments.metering.formats.replies import read_reply
from environments.metering.formats.streams import EventSplitter, event_data, new_reply
from environments.models.retry import RetryPolicy
from taskdata.errors import ModelRejected, ModelUnavailable


def chunk(finish=None, **delta):
    return {"model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


CHAT_USAGE = {"model": "m", "choices": [], "usage": {"prompt_tokens": 30, "completion_tokens": 4}}
CHAT_EVENTS = (
    chunk(role="assistant", content="He"),
    chunk(content="llo"),
    chunk(tool_calls=[{"index": 0, "id": "c1", "function": {"name": "look", "arguments": ""}}]),
    chunk(tool_calls=[{"index": 0, "function": {"arguments": '{"at": '}}]),
    chunk(tool_calls=[{"index": 0, "function": {"arguments": "1}"}}]),
    chunk("tool_calls"),
)
MESSAGE_EVENTS = (
    {
        "type": "message_start",
        "message": {
            "model": "m",
            "content": [],
            "usage": {"input_tokens": 20, "cache_read_input_tokens": 10, "output_tokens": 1},
        },
    },
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hello"}},
    {
        "type": "content_block_start",
        "index": 1,
        "content_block": {"type": "tool_use", "id": "c1", "name": "look", "input": {}},
    },
    {
        "type": "content_block_delta",
        "index": 1,
        "delta": {"type": "input_json_delta", "partial_json": '{"at": 1}'},
    },
    {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 4}},
    {"type": "message_stop"},
)
RESPONSE = {
    "model": "m",
    "output": [
        {"type": "message", "content": [{"type": "output_text", "text": "Hello"}]},
        {"type": "function_call", "call_id": "c1", "name": "look", "arguments": '{"at": 1}'},
    ],
    "usage": {"input_tokens": 30, "output_tokens": 4},
}
RESPONSE_EVENTS = (
    {"type": "response.created", "response": {"model": "m", "output": []}},
    {"type": "response.output_text.delta", "delta": "Hello"},
    {"type": "response.completed", "response": RESPONSE},
)
DIALECTS = [
    pytest.param(CHAT, (*CHAT_EVENTS, CHAT_USAGE), id="chat"),
    pytest.param(RESPONSES, RESPONSE_EVENTS, id="responses"),
    pytest.param(MESSAGES, MESSAGE_EVENTS, id="messages"),
]


@pytest.mark.parametrize(("dialect", "events"), DIALECTS)
def test_the_events_come_to_the_reply(dialect, events):
    reply = new_reply(dialect)
    for event in events:
        reply.add(event)
    answer = read_reply(dialect, reply.body())
    assert reply.is_whole
    assert (answer.text, answer.model, answer.stop_reason) == ("Hello", "m", "tool_calls")
    assert [(c.id, c.tool, c.arguments) for c in answer.tool_calls] == [("c1", "look", {"at": 1})]
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (30, 4)


@pytest.mark.parametrize(("dialect", "events"), DIALECTS)
def test_a_stream_that_lacks_its_end_is_not_whole(dialect, events):
    reply = new_reply(dialect)
    for event in events[:2]:
        reply.add(event)
    assert not reply.is_whole
    assert read_reply(dialect, reply.body()).usage is None or dialect is MESSAGES


NAMES = """type index delta choices message content_block tool_calls function arguments usage model
response output content error text partial_json id name input_tokens"""
WORDS = st.sampled_from(NAMES.split())
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=12,
)
KINDS = st.sampled_from(
    ["message_start", "content_block_start", "content_block_delta", "message_delta", "error"]
)


@given(
    st.sampled_from([CHAT, RESPONSES, MESSAGES]),
    st.lists(
        st.builds(
            lambda event, kind: {**event, "type": kind},
            st.dictionaries(WORDS, JSON, max_size=5),
            KINDS,
        ),
        max_size=6,
    ),
)
def test_no_event_whatever_it_holds_breaks_the_reading(dialect, events):
    reply = new_reply(dialect)
    for event in events:
        reply.add(event)
    read_reply(dialect, reply.body())


@given(
    st.lists(st.text("ab\n\r:", max_size=12), max_size=6),
    st.lists(st.integers(1, 7), min_size=1, max_size=9),
)
def test_events_are_cut_in_the_same_places_however_the_bytes_arrive(texts, sizes):
    data = "".join(f"data: {text}\n\n" for text in texts).encode()
    whole = EventSplitter()
    expected = [*whole.feed(data), whole.rest()]
    pieces, splitter, at = [], EventSplitter(), 0
    for turn in range(len(data) + 1):
        size = sizes[turn % len(sizes)]
        pieces += splitter.feed(data[at : at + size])
        at += size
    assert b"".join([*pieces, splitter.rest()]) == data
    assert b"".join(expected) == data


def test_an_event_without_end_is_given_up():
    with pytest.raises(ValueError, match="more than"):
        list(EventSplitter().feed(b"data: " + b"x" * 9_000_000))


async def test_a_chat_stream_is_counted_though_the_program_did_not_ask(wire, program, streams):
    wire.then(streams(*CHAT_EVENTS, CHAT_USAGE, "[DONE]"))
    async with program() as agent:
        came = await agent.stream("/v1/chat/completions")
    assert wire.seen[0].body["stream_options"] == {"include_usage": True}
    assert came.endswith(b"data: [DONE]\n\n")
    assert b"usage" not in came
    (reply,) = agent.replies
    assert (reply.text, reply.usage.total, reply.stop_reason) == ("Hello", 34, "tool_calls")
    assert agent.proxy.budget.spent.tokens == 34


async def test_a_program_that_asks_for_the_usage_gets_it(wire, program, streams):
    wire.then(streams(*CHAT_EVENTS, CHAT_USAGE, "[DONE]"))
    async with program() as agent:
        asked = {"stream_options": {"include_usage": True}}
        came = await agent.stream("/v1/chat/completions", **asked)
    assert json.dumps(CHAT_USAGE).encode() in came


async def test_an_anthropic_stream_is_counted(wire, program, streams):
    wire.then(streams(*MESSAGE_EVENTS))
    async with program("anthropic") as agent:
        came = await agent.stream("/v1/messages", max_tokens=10)
    events = [event_data(part) for part in came.split(b"\n\n") if part]
    assert events == list(MESSAGE_EVENTS)
    assert agent.replies[0].usage.cached_input_tokens == 10


async def test_a_stream_that_breaks_off_is_the_providers_fault_and_leaves_what_it_said(
    wire, program, streams
):
    wire.then(streams(*CHAT_EVENTS[:2], breaks_off=True))
    async with program() as agent:
        with pytest.raises(Exception, match="payload"):
            await agent.stream("/v1/chat/completions", model="model-1")
        with pytest.raises(ModelUnavailable, match=r"broke off|ended early"):
            agent.proxy.require_provider()
    assert agent.notices == ["A model call ended early; it had said:\n\nHello"]
    ((attempt,),) = agent.recorded.unanswered
    assert attempt.status is None
    assert "broke off" in attempt.cause or "ended early" in attempt.cause


async def test_a_stream_that_falls_silent_is_given_up(wire, program, streams):
    async def falls_silent(seen, request):
        response = await streams(*CHAT_EVENTS[:2])(seen, request)
        await asyncio.sleep(20)
        return response

    wire.then(falls_silent)
    policy = RetryPolicy(attempt_seconds=0.2)
    async with asyncio.timeout(10), program(policy=policy) as agent:
        with pytest.raises(Exception, match="payload"):
            await agent.stream("/v1/chat/completions")
        with pytest.raises(ModelUnavailable, match="broke off"):
            agent.proxy.require_provider()


async def test_an_error_in_a_stream_is_the_providers_fault(wire, program, streams):
    overloaded = {"type": "error", "error": {"type": "overloaded_error", "message": "Busy"}}
    wire.then(streams(MESSAGE_EVENTS[0], overloaded))
    async with program("anthropic") as agent:
        with pytest.raises(Exception, match="payload"):
            await agent.stream("/v1/messages", max_tokens=10)
        with pytest.raises(ModelUnavailable, match="Busy"):
            agent.proxy.require_provider()


REFUSED = [
    pytest.param(
        "openai",
        "/v1/responses",
        (
            RESPONSE_EVENTS[0],
            {
                "type": "response.failed",
                "response": {"error": {"code": "context_length_exceeded", "message": "Too long"}},
            },
        ),
        id="response.failed",
    ),
    pytest.param(
        "openai",
        "/v1/responses",
        ({"type": "error", "code": "invalid_prompt", "message": "No", "param": None},),
        id="error of responses",
    ),
    pytest.param(
        "anthropic",
        "/v1/messages",
        (
            {
                "type": "error",
                "error": {
                    "type": "invalid_request_error",
                    "message": "prompt is too long: 213000 tokens > 200000 maximum",
                },
            },
        ),
        id="messages",
    ),
    pytest.param(
        "openai",
        "/v1/chat/completions",
        ({"error": {"code": 400, "message": "maximum context length is 9"}},),
        id="chat",
    ),
]


@pytest.mark.parametrize(("provider", "path", "events"), REFUSED)
async def test_a_stream_that_the_provider_refuses_is_the_programs_own(
    wire, program, streams, provider, path, events
):
    wire.then(streams(*events))
    async with program(provider) as agent:
        came = await agent.stream(path)
        # It is told as the provider told it, and the stream ends there.
        assert event_data(came.split(b"\n\n")[-2]) == events[-1]
        agent.proxy.require_provider()
    budget = agent.proxy.budget
    assert (budget.spent.calls, budget.lost_usd) == (1, 0)
    ((attempt,),) = agent.recorded.unanswered
    assert attempt.cost_at_most_usd == pytest.approx(budget.spent.usd)


@pytest.mark.parametrize(
    "error",
    [
        {"code": "server_error", "message": "Busy"},
        {"code": "rate_limit_exceeded", "message": "Busy"},
        {"code": 401, "message": "Busy"},
        {},
        "Busy",
        None,
    ],
)
async def test_any_other_error_in_a_stream_is_not_the_programs(wire, program, streams, error):
    failed = {"type": "response.failed", "response": {"error": error}}
    wire.then(streams(RESPONSE_EVENTS[0], failed))
    async with program() as agent:
        with pytest.raises(Exception, match="payload"):
            await agent.stream("/v1/responses")
        with pytest.raises((ModelUnavailable, ModelRejected)):
            agent.proxy.require_provider()
    assert agent.proxy.budget.spent.calls == 0
