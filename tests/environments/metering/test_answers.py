"""What a metered program's calls cost is kept before it can act on the answer, and paid once."""

import asyncio
from contextlib import asynccontextmanager
from dataclasses import replace

import aiohttp
import pytest

from environments.metering import answers as answers_module
from environments.metering import forwarding
from environments.metering import stream_relay as relay_module
from environments.metering.answers import RecordedAnswer
from environments.models.record.client import RecordedClient
from environments.models.record.log import CallLog, Payer
from environments.models.record.recorder import CallRecorder
from environments.ports import Message, ModelReply, ModelRequest
from taskdata.errors import ModelUnavailable, StoreUnavailable
from taskdata.schema.agent import ModelSpec
from taskdata.schema.usage import Usage
from tests.environments.models.limiters import budget_of, spent_usd
from tests.paid import paid

HELLO = {"choices": [{"index": 0, "delta": {"content": "Hello"}, "finish_reason": None}]}
STOP = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
USAGE = {"choices": [], "usage": {"prompt_tokens": 30, "completion_tokens": 4}}
CHAT = (HELLO, STOP, USAGE, "[DONE]")
MESSAGES = (
    {"type": "message_start", "message": {"content": [], "usage": {"input_tokens": 30}}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hello"}},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 4}},
    {"type": "message_stop"},
)
RESPONSES = (
    {"type": "response.created", "response": {"output": []}},
    {"type": "response.output_text.delta", "delta": "Hello"},
    {
        "type": "response.completed",
        "response": {
            "output": [{"type": "message", "content": [{"text": "Hello"}]}],
            "usage": {"input_tokens": 30, "output_tokens": 4},
        },
    },
)
STREAMS = [
    pytest.param("openai", "/v1/chat/completions", CHAT, id="chat"),
    pytest.param("openai", "/v1/responses", RESPONSES, id="responses"),
    pytest.param("anthropic", "/v1/messages", MESSAGES, id="messages"),
]


@pytest.fixture
def trial(new_run, new_task, plan_trial):
    return plan_trial(new_run(new_task("one")), new_task("one"))


@pytest.fixture
def attempt(store, trial, program):
    """Open a proxy for an attempt at the trial; nothing is recorded of it, as if it were killed."""

    @asynccontextmanager
    async def begun(number, provider="openai", **settings):
        earlier = store.paid_calls(trial.id)
        log = CallLog(CallRecorder(store), Payer.trial(trial.id, number), earlier)
        async with program(provider, log=log, **settings) as agent:
            yield agent

    return begun


def asking(text):
    return {"messages": [{"role": "user", "content": text}]}


async def said(agent, text, **more):
    """Ask and return the answer's text."""
    _, body = await agent.chat(**asking(text), **more)
    return body["choices"][0]["message"]["content"]


async def test_an_attempt_that_was_cut_short_is_carried_on_where_it_stopped(
    wire, attempt, store, trial
):
    wire.then(*(wire.says(f"answer {n}", input_tokens=100 * n) for n in (1, 2, 3)))
    async with attempt(1) as first:
        assert [await said(first, text) for text in "ab"] == ["answer 1", "answer 2"]
    async with attempt(2) as second:
        replies = [await said(second, text) for text in "abc"]
    assert replies == ["answer 1", "answer 2", "answer 3"]
    assert [seen.body["messages"][0]["content"] for seen in wire.seen] == ["a", "b", "c"]
    assert paid(store, trial.run_id) == (3, pytest.approx(sum(r.cost_usd for r in second.replies)))


async def test_what_is_answered_again_counts_as_it_did_the_first_time(wire, attempt):
    wire.then(wire.waits(0.05, wire.says("Hi", ("look", {}), input_tokens=100, output_tokens=7)))
    async with attempt(1) as first:
        await said(first, "a")
    async with attempt(2, max_turns=1) as second:
        await said(second, "a")
        status, _ = await second.chat(**asking("b"))
    assert status == 429
    assert second.replies == [replace(r, waited_seconds=0.0) for r in first.replies]
    assert second.replies[0].seconds >= 0.05
    assert second.proxy.budget.spent == first.proxy.budget.spent


@pytest.mark.parametrize(("provider", "path", "events"), STREAMS)
async def test_a_stream_comes_again_byte_by_byte(
    wire, attempt, streams, store, trial, provider, path, events
):
    wire.then(streams(*events))
    came, replies = [], []
    for number in (1, 2):
        async with attempt(number, provider) as agent:
            came.append(await agent.stream(path))
        replies += agent.replies
    assert len(wire.seen) == 1
    assert came[0] == came[1]
    assert b"Hello" in came[0]
    assert replace(replies[0], waited_seconds=0.0) == replies[1]
    (call,) = store.paid_calls(trial.id)
    assert call.usage == Usage(input_tokens=30, output_tokens=4)
    assert call.cost_usd == replies[0].cost_usd == pytest.approx(30 * 10e-6 + 4 * 100e-6)


async def test_the_usage_that_only_we_asked_for_is_kept_and_shown_to_whoever_wants_it(
    wire, attempt, streams
):
    wire.then(streams(*CHAT))
    async with attempt(1) as agent:
        hidden = await agent.stream("/v1/chat/completions")
    async with attempt(2) as agent:
        options = {"stream_options": {"include_usage": True}}
        shown = await agent.stream("/v1/chat/completions", **options)
    assert len(wire.seen) == 1
    assert b"usage" not in hidden
    assert b"usage" in shown


async def test_a_request_that_differs_is_asked(wire, attempt):
    wire.respond = lambda seen: wire.says(str(len(wire.seen)))
    async with attempt(1) as agent:
        await said(agent, "a", temperature=0.5)
    async with attempt(2) as agent:
        replies = [
            await said(agent, "a"),
            await said(agent, "a", temperature=0.7),
            await said(agent, "a", max_tokens=9),
            await said(agent, "b", temperature=0.5),
            await said(agent, "a", temperature=0.5),
        ]
    assert replies == ["2", "3", "4", "5", "1"]


async def test_another_revision_of_the_format_is_another_request(wire, attempt):
    for number, revision in ((1, "2023-06-01"), (2, "2023-06-01"), (3, "2030-01-01")):
        async with attempt(number, "anthropic") as agent:
            agent.session.headers["anthropic-version"] = revision
            await agent.message()
    assert [s.headers["anthropic-version"] for s in wire.seen] == ["2023-06-01", "2030-01-01"]


async def test_the_same_request_twice_has_two_answers(wire, attempt):
    wire.respond = lambda seen: wire.says(str(len(wire.seen)))
    async with attempt(1) as agent:
        assert [await said(agent, "again") for _ in range(2)] == ["1", "2"]
    async with attempt(2) as agent:
        assert [await said(agent, "again") for _ in range(3)] == ["1", "2", "3"]


@pytest.mark.parametrize(("provider", "path", "events"), STREAMS)
async def test_the_end_of_a_stream_comes_once_it_is_kept(
    wire, attempt, streams, store, monkeypatch, provider, path, events
):
    came, seen_while_keeping = bytearray(), []
    record, loop = store.record_calls, asyncio.get_running_loop()

    def slowly(calls):
        asyncio.run_coroutine_threadsafe(asyncio.sleep(0.1), loop).result()
        seen_while_keeping.append(bytes(came))
        record(calls)

    monkeypatch.setattr(store, "record_calls", slowly)
    wire.then(streams(*events))
    async with attempt(1, provider) as agent:
        headers = {"x-api-key": agent.proxy.token}
        asked = {"messages": [], "stream": True}
        async with agent.session.post(agent.proxy.url + path, json=asked, headers=headers) as got:
            async for piece in got.content.iter_any():
                came += piece
    (seen,) = seen_while_keeping
    assert b"Hello" in seen
    for end in (b"[DONE]", b'"stop"', b"message_stop", b"response.completed"):
        assert end not in seen
    assert any(end in came for end in (b"[DONE]", b"message_stop", b"response.completed"))


async def test_a_provider_that_does_not_hang_up_after_the_end_keeps_nobody_waiting(
    wire, attempt, streams, monkeypatch
):
    monkeypatch.setattr(relay_module, "_SECONDS_AFTER_END", 0.1)

    async def lingers(seen, request):
        response = await streams(*CHAT)(seen, request)
        await asyncio.sleep(20)
        return response

    wire.then(lingers)
    async with asyncio.timeout(10), attempt(1) as agent:
        assert b"[DONE]" in await agent.stream("/v1/chat/completions")
    assert agent.replies[0].usage.total == 34


async def test_only_whole_answers_are_kept(wire, attempt, streams, store, trial):
    cut = streams(HELLO, breaks_off=True)
    unfinished = streams(HELLO, "[DONE]")
    wire.then(
        wire.fails(500), wire.fails(400), wire.drops(), wire.sends(b"<html>"), cut, unfinished
    )
    async with attempt(1) as agent:
        for _ in range(4):
            await agent.chat()
        for _ in range(2):
            with pytest.raises(Exception, match="payload"):
                await agent.stream("/v1/chat/completions")
        with pytest.raises(ModelUnavailable, match="ended early"):
            agent.proxy.require_provider()
    assert len(wire.seen) == 6
    assert paid(store, trial.run_id) == (0, 0.0)


@pytest.mark.parametrize("is_stream", [False, True])
async def test_what_a_program_leaves_behind_is_kept_too(
    wire, attempt, streams, store, trial, is_stream
):
    behaviour = streams(*CHAT) if is_stream else wire.says("late", input_tokens=30)
    wire.then(wire.waits(0.2, behaviour))
    async with attempt(1) as agent:
        leaving = asyncio.create_task(agent.chat(stream=is_stream))
        await asyncio.sleep(0.1)
        leaving.cancel()
        await asyncio.gather(leaving, return_exceptions=True)
        await agent.proxy.settled()
    (call,) = store.paid_calls(trial.id)
    assert call.usage.input_tokens == 30
    assert agent.replies[0].cost_usd == call.cost_usd


async def test_an_answer_too_long_to_keep_is_counted_and_asked_again(
    wire, attempt, streams, store, trial, monkeypatch
):
    for module in (answers_module, relay_module):
        monkeypatch.setattr(module, "MAX_STORED_BYTES", 100)
    wire.respond = lambda seen: streams(*CHAT) if seen.body.get("stream") else wire.says("x" * 200)
    for number in (1, 2):
        async with attempt(number) as agent:
            assert await said(agent, "a") == "x" * 200
            assert b"Hello" in await agent.stream("/v1/chat/completions")
    assert len(wire.seen) == 4
    assert store.paid_calls(trial.id) == []
    assert paid(store, trial.run_id)[0] == 4


async def test_usage_that_is_not_reported_is_kept_as_unknown(wire, attempt, store, trial):
    reply = {"model": "m", "choices": [{"message": {"content": "x"}, "finish_reason": "stop"}]}
    wire.then(wire.answers(reply))
    for number in (1, 2):
        async with attempt(number, max_reply_tokens=100) as agent:
            await said(agent, "a")
        assert agent.replies[0].cost_usd is None
        assert agent.proxy.budget.spent.tokens > 100
    assert paid(store, trial.run_id) == (1, None)
    assert store.spent_usd(trial.run_id) == agent.proxy.budget.spent.usd > 0


@pytest.mark.parametrize("is_stream", [False, True])
async def test_an_answer_that_cannot_be_kept_is_not_passed_on_and_ends_the_calls(
    wire, attempt, streams, store, monkeypatch, is_stream
):
    def full(calls):
        raise StoreUnavailable("database x: disk full")

    monkeypatch.setattr(store, "record_calls", full)
    wire.then(streams(*CHAT) if is_stream else wire.says("secret", input_tokens=30))
    async with attempt(1) as agent:
        if is_stream:
            with pytest.raises(Exception, match="payload"):
                await agent.stream("/v1/chat/completions")
        else:
            status, body = await agent.chat()
            assert (status, "disk" in str(body)) == (500, False)
        assert (await agent.chat())[0] == 500
        with pytest.raises(StoreUnavailable, match="disk full"):
            agent.proxy.require_provider()
    assert len(wire.seen) == 1
    # It was paid for, kept or not.
    assert agent.replies[0].usage.input_tokens == 30


async def test_a_request_too_deep_to_be_sent_leaves_its_room_and_is_the_programs_own(
    wire, attempt, monkeypatch
):
    def too_deep(*asked):
        raise RecursionError

    wire.respond = lambda seen: wire.says("Hi")
    async with attempt(1, max_turns=1, max_seconds=5) as agent:
        with monkeypatch.context() as patched:
            patched.setattr(forwarding, "request_key", too_deep)
            assert (await agent.chat())[0] == 400
        agent.proxy.require_provider()
        # Of the one call that the budget allows nothing was used.
        assert (await agent.chat())[0] == 200


async def test_a_kept_answer_that_cannot_be_read_leaves_its_room_and_is_ours_to_mend(
    wire, attempt, monkeypatch
):
    def broken(call):
        raise ValueError("not zlib")

    wire.respond = lambda seen: wire.says("Hi")
    async with attempt(1) as first:
        await first.chat()
    async with attempt(2, max_turns=1, max_seconds=5) as agent:
        with monkeypatch.context() as patched:
            patched.setattr(RecordedAnswer, "of", broken)
            with pytest.raises(aiohttp.ContentTypeError):
                await agent.chat()
        with pytest.raises(ModelUnavailable, match="ValueError"):
            agent.proxy.require_provider()
        assert (await agent.chat())[0] == 200


async def test_the_runs_money_is_not_charged_for_what_is_answered_again(wire, attempt):
    wire.respond = lambda seen: wire.says("x", input_tokens=100, output_tokens=100)
    budget = budget_of()
    for number in (1, 2, 3):
        async with attempt(number, run_budget=budget, max_reply_tokens=1_000) as agent:
            for text in ("a", "b"):
                await said(agent, text)
        assert sum(reply.cost_usd for reply in agent.replies) == pytest.approx(2 * 0.011)
    assert len(wire.seen) == 2
    assert spent_usd(budget) == pytest.approx(2 * 0.011)


@pytest.mark.parametrize("is_stream", [False, True])
async def test_the_real_key_is_not_kept(wire, attempt, streams, key, store, trial, is_stream):
    echo = {"choices": [{"index": 0, "delta": {"content": key}, "finish_reason": "stop"}]}
    wire.then(streams(echo, USAGE, "[DONE]") if is_stream else wire.says(key))
    async with attempt(1) as agent:
        if is_stream:
            await agent.stream("/v1/chat/completions")
        else:
            await said(agent, "a")
    (call,) = store.paid_calls(trial.id)
    answer = RecordedAnswer.of(call)
    assert b"[key]" in answer.content
    assert key.encode() not in answer.content
    assert key not in call.model_dump_json()


async def test_replies_of_our_own_agents_and_answers_to_programs_do_not_mix(
    wire, attempt, store, trial
):
    class Model:
        async def reply(self, request):
            return ModelReply("ours", "m", usage=Usage(input_tokens=1), cost_usd=0.5)

        async def close(self):
            pass

    async def ours(number):
        spec, earlier = ModelSpec.parse("openai/model-1"), store.paid_calls(trial.id)
        log = CallLog(CallRecorder(store), Payer.trial(trial.id, number), earlier)
        client = RecordedClient(Model(), spec, wire.openai_url, log)
        return (await client.reply(ModelRequest(messages=(Message("user", "a"),)))).text

    wire.then(wire.says("theirs"))
    for number in (1, 2):
        assert await ours(number) == "ours"
        async with attempt(number) as agent:
            assert await said(agent, "a") == "theirs"
    assert paid(store, trial.run_id)[0] == 2


async def test_an_answer_that_counts_no_tokens_is_kept_at_its_most(wire, attempt, store, trial):
    wire.then(wire.says("Hi", input_tokens=0, output_tokens=0))
    async with attempt(1) as agent:
        await said(agent, "a", max_tokens=500)
    (reply,) = agent.replies
    assert reply.cost_usd is None
    (call,) = store.paid_calls(trial.id)
    assert call.cost_usd is None
    assert call.cost_at_most_usd == pytest.approx(agent.proxy.budget.spent.usd)
    assert store.spent_usd(trial.run_id) > 500 * 100e-6
