"""Replies that equal requests of other work share, asked for through a real client."""

import asyncio
from dataclasses import replace

import pytest

from environments.models.faults import NotRecorded
from environments.models.openai.chat import OpenAIClient
from environments.models.record.client import RecordedClient
from environments.models.record.keys import reply_key
from environments.models.record.log import CallLog, Payer
from environments.models.record.recorder import CallRecorder
from environments.models.retry import RetryPolicy
from environments.models.wire.endpoint import Endpoint
from environments.ports import Message, ModelReply, ModelRequest
from taskdata.errors import ModelRejected
from taskdata.schema.agent import ModelSpec
from taskdata.schema.model_call import CallPurpose

SPEC = ModelSpec(provider="openai", model="gpt-5-mini")
QUESTION = ModelRequest(messages=(Message("user", "How far is it?"),))


def payer(owner: str) -> Payer:
    return Payer(CallPurpose.CONSTRUCTION, owner)


def sharing(client, store, base_url, owner="", sample=0) -> RecordedClient:
    log = CallLog(CallRecorder(store), payer(owner))
    return RecordedClient(client, SPEC, base_url, log, shares=True, sample=sample)


@pytest.fixture
def asked(wire, store):
    """Ask as an owner, each time as a new process would: with a new client."""

    def ask(
        owner: str,
        request: ModelRequest = QUESTION,
        attempts: int = 1,
    ):
        async def once():
            policy = RetryPolicy(attempts=attempts, first_wait_seconds=0.01)
            client = OpenAIClient(Endpoint(SPEC, wire.openai_url, "k"), policy)
            try:
                return await sharing(client, store, wire.openai_url, owner).reply(request)
            finally:
                await client.close()

        return asyncio.run(once())

    return ask


def test_work_that_crashed_after_a_reply_gets_it_again_as_its_own(wire, asked):
    wire.then(wire.says("12 km", input_tokens=1000, output_tokens=100))
    first = asked("c1/generate/1")
    again = asked("c1/generate/1")
    assert len(wire.seen) == 1
    assert again == first
    assert not again.cached


def test_other_work_gets_the_reply_marked_as_paid_for_elsewhere(wire, asked):
    wire.then(wire.says("12 km", input_tokens=1000))
    first, other = asked("c1/generate/1"), asked("c2/generate/1")
    assert (other.text, other.cached) == ("12 km", True)
    assert (other.usage, other.cost_usd) == (first.usage, first.cost_usd)
    assert len(wire.seen) == 1


def test_a_fault_is_not_kept(wire, asked):
    wire.then(wire.fails(400), wire.says("12 km"))
    with pytest.raises(ModelRejected):
        asked("c1/generate/1")
    assert asked("c1/generate/1").text == "12 km"


@pytest.mark.parametrize(
    "change",
    [
        {"messages": (Message("user", "How far is that?"),)},
        {"messages": (Message("system", "How far is it?"),)},
        {"max_tokens": 5},
        {"temperature": 0.0},
        {"stop": ("km",)},
        {"json_schema": {"type": "object"}},
        {"reasoning_effort": "low"},
        {"messages": (Message("user", "How far is it?", replay=({"format": "x"},)),)},
    ],
)
def test_whatever_could_change_the_reply_is_part_of_its_key(change):
    changed = replace(QUESTION, **change)
    assert reply_key(SPEC, None, changed) != reply_key(SPEC, None, QUESTION)


@pytest.mark.parametrize(
    ("model", "variable", "own"),
    [
        ("openai/gpt-5-mini", "OPENAI_BASE_URL", "https://api.openai.com/v1"),
        ("openai-chat/gpt-5-mini", "OPENAI_BASE_URL", "https://api.openai.com/v1/"),
        ("anthropic/claude-opus-4-6", "ANTHROPIC_BASE_URL", "https://api.anthropic.com"),
    ],
)
def test_a_server_that_the_environment_names_is_another_one(monkeypatch, model, variable, own):
    spec, other = ModelSpec.parse(model), "http://localhost:9/v1"
    monkeypatch.delenv(variable, raising=False)
    plain, elsewhere = reply_key(spec, None, QUESTION), reply_key(spec, other, QUESTION)
    monkeypatch.setenv(variable, own)
    assert reply_key(spec, None, QUESTION) == plain
    monkeypatch.setenv(variable, other)
    assert reply_key(spec, None, QUESTION) == elsewhere != plain
    assert reply_key(spec, "http://localhost:8/v1", QUESTION) not in (plain, elsewhere)


def test_keys_of_what_was_kept_at_a_providers_own_place_stay_as_they_were(monkeypatch):
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    assert reply_key(SPEC, None, QUESTION).startswith("1abfc1d0cf451dde")


def test_repetitions_are_asked_for_themselves(wire, store):
    wire.then(wire.says("12 km"), wire.says("13 km"))

    async def repeat() -> list[str]:
        client = OpenAIClient(Endpoint(SPEC, wire.openai_url, "k"), RetryPolicy(attempts=1))
        recorded = sharing(client, store, wire.openai_url)
        try:
            samples = (recorded.owned_by(payer("t"), sample=number) for number in (0, 1, 1, 0))
            return [(await sample.reply(QUESTION)).text for sample in samples]
        finally:
            await client.close()

    assert asyncio.run(repeat()) == ["12 km", "13 km", "13 km", "12 km"]
    assert len(wire.seen) == 2


def test_equal_questions_in_flight_are_both_paid_for_and_get_the_answer_that_is_kept(wire, store):
    def after_both_asked(reply):
        async def behave(seen, request):
            for _ in range(500):
                if len(wire.seen) == 2:
                    break
                await asyncio.sleep(0.01)
            return await reply(seen, request)

        return behave

    said = wire.says("12 km", input_tokens=1000), wire.says("13 km", input_tokens=2000)
    wire.then(*map(after_both_asked, said))

    async def both() -> list[ModelReply]:
        client = OpenAIClient(Endpoint(SPEC, wire.openai_url, "k"), RetryPolicy(attempts=1))
        recorded = sharing(client, store, wire.openai_url)
        try:
            owners = (recorded.owned_by(payer("a")), recorded.owned_by(payer("b")))
            return await asyncio.gather(*(owner.reply(QUESTION) for owner in owners))
        finally:
            await client.close()

    replies = asyncio.run(both())
    kept = asyncio.run(sharing(None, store, wire.openai_url).reply(QUESTION))
    assert len(wire.seen) == 2
    assert {reply.text for reply in replies} == {kept.text}
    assert sorted(reply.usage.input_tokens for reply in replies) == [1000, 2000]
    assert not any(reply.cached for reply in replies)


def test_a_recording_is_played_back_without_a_call_and_with_its_evidence(wire, asked, store):
    wire.then(wire.fails(500), wire.says("12 km", input_tokens=1000))
    first = asked("c1", attempts=2)
    player = sharing(None, store, wire.openai_url, owner="c1")

    again = asyncio.run(player.reply(QUESTION))

    assert again == first
    assert [attempt.status for attempt in again.failed_attempts] == [500]
    assert len(wire.seen) == 2


def test_what_was_not_recorded_is_an_error_that_names_it(store):
    player = sharing(None, store, None)

    with pytest.raises(NotRecorded, match=r"openai/gpt-5-mini: no recorded reply .* record it"):
        asyncio.run(player.reply(QUESTION))


def test_the_key_of_a_growing_conversation_is_the_key_of_the_same_one_made_anew():
    turn = Message("assistant", "Far.", replay=({"format": "x", "content": ["y"]},))
    reply_key(SPEC, None, ModelRequest(messages=(*QUESTION.messages, turn)))
    grown = ModelRequest(messages=(*QUESTION.messages, turn, Message("user", "How far?")))
    anew = ModelRequest(messages=tuple(replace(message) for message in grown.messages))

    assert reply_key(SPEC, None, grown) == reply_key(SPEC, None, anew)


def test_how_long_we_would_wait_is_not():
    patient = replace(QUESTION, timeout_seconds=1.0)
    assert reply_key(SPEC, None, patient) == reply_key(SPEC, None, QUESTION)


def test_equal_names_at_different_hosts_are_different_models_unless_local():
    here, there = "http://one:8000/v1", "http://two:8000/v1"
    far = ModelSpec(provider="compatible", model="m")
    local = ModelSpec(provider="local", model="m")
    assert reply_key(far, here, QUESTION) != reply_key(far, there, QUESTION)
    assert reply_key(far, "http://u:secret@one:8000/v1", QUESTION) == reply_key(far, here, QUESTION)
    assert reply_key(local, here, QUESTION) == reply_key(local, there, QUESTION)
