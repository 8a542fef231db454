"""What is kept of each attempt at a call, and how attempts share a provider's limits."""

import asyncio
import pickle

import pytest

from environments.models.limits.limiter import ProcessLimiter
from environments.models.limits.rates import START_CONCURRENCY
from environments.models.retry import RetryPolicy
from environments.ports import Message, ModelRequest
from taskdata.errors import ModelRejected, ModelUnavailable
from taskdata.schema.ceilings import Ceilings
from tests.environments.models.limiters import limiter_of

QUESTION = (Message("user", "Hello?"),)


def test_a_reply_carries_what_went_wrong_before_it(wire, new_client, dialect, ask):
    wire.then(wire.fails(500, "boom"), wire.drops(), wire.says("Hi."))

    first, second = ask(new_client(dialect)).failed_attempts

    assert (first.status, "boom" in first.cause) == (500, True)
    assert (second.status, "the connection failed" in second.cause) == (None, True)
    assert 0 <= first.seconds < 5
    assert "127.0.0.1" not in first.cause, "where it was is known from the model"


def test_an_answer_at_once_has_nothing_to_tell(wire, new_client, dialect, ask):
    assert ask(new_client(dialect)).failed_attempts == ()


def test_a_call_that_failed_for_good_carries_them_too_even_to_another_process(
    wire, new_client, dialect, ask
):
    wire.then(wire.fails(429), wire.fails(503), wire.fails(529))
    policy = RetryPolicy(attempts=3, first_wait_seconds=0.01)

    with pytest.raises(ModelUnavailable) as caught:
        ask(new_client(dialect, policy=policy))

    copy = pickle.loads(pickle.dumps(caught.value))
    assert [attempt.status for attempt in copy.failed_attempts] == [429, 503, 529]
    assert copy.status == 529


def test_a_rejection_after_a_fault_carries_both(wire, new_client, dialect, ask):
    wire.then(wire.fails(500), wire.fails(404, "no such model"))

    with pytest.raises(ModelRejected) as caught:
        ask(new_client(dialect))

    assert [attempt.status for attempt in caught.value.failed_attempts] == [500, 404]


def test_evidence_is_short_and_without_the_key(wire, new_client, dialect, ask, key):
    wire.then(wire.fails(500, f"{key} " + "x" * 10_000), wire.says("Hi."))

    (attempt,) = ask(new_client(dialect)).failed_attempts

    assert key not in attempt.cause
    assert len(attempt.cause) <= 300


def test_many_calls_at_once_learn_the_same_lesson_together(wire, new_client):
    refusal = wire.fails(400, "Unsupported parameter", code="unsupported_parameter", param="stop")
    wire.respond = lambda seen: wire.waits(
        0.05, refusal if "stop" in seen.body else wire.says("ok")
    )

    async def crowd() -> list[str]:
        client = new_client("openai")
        request = ModelRequest(messages=QUESTION, stop=("Observation:",))
        try:
            replies = await asyncio.gather(*(client.reply(request) for _ in range(5)))
        finally:
            await client.close()
        return [reply.text for reply in replies]

    assert asyncio.run(crowd()) == ["ok"] * 5
    assert sum("stop" in seen.body for seen in wire.seen) == 5


def crowd_of(new_client, count: int, limiter: ProcessLimiter, **settings):
    """Ask so many times at once through a limiter; return replies and faults."""

    async def run() -> list:
        client = new_client("compatible", limiter=limiter, **settings)
        request = ModelRequest(messages=QUESTION, timeout_seconds=10)
        try:
            calls = (client.reply(request) for _ in range(count))
            return await asyncio.gather(*calls, return_exceptions=True)
        finally:
            await client.close()

    return asyncio.run(run())


def test_time_in_line_is_not_the_models_time(wire, new_client):
    wire.respond = lambda seen: wire.waits(0.4, wire.says("ok"))

    replies = crowd_of(new_client, 4, limiter_of({"compatible": Ceilings(concurrency=1)}))

    assert wire.most_at_once == 1
    assert max(reply.waited_seconds for reply in replies) > 1.0
    assert all(reply.seconds < 1.0 for reply in replies)


def test_a_refusal_slows_everybody_down_and_all_get_their_answer(wire, new_client):
    many = [wire.fails(429, retry_after=0.1) for _ in range(10)]
    wire.then(*many)
    wire.respond = lambda seen: wire.waits(0.01, wire.says("ok"))
    limiter = limiter_of()

    replies = crowd_of(new_client, 40, limiter)

    assert [reply.text for reply in replies] == ["ok"] * 40
    assert len(wire.seen) == 50
    (queue,) = limiter._queues.values()
    assert (queue.in_flight, len(queue.waiting)) == (0, 0)


def test_attempts_that_hang_slow_everybody_down(wire, new_client):
    wire.respond = lambda seen: wire.waits(30, wire.says("late"))
    policy, limiter = RetryPolicy(attempts=1, attempt_seconds=0.3), limiter_of()
    at_first = int(START_CONCURRENCY)

    faults = crowd_of(new_client, at_first, limiter, policy=policy)

    assert {type(fault) for fault in faults} == {ModelUnavailable}
    assert wire.most_at_once == at_first
    (queue,) = limiter._queues.values()
    assert queue.share.slots < at_first


def test_what_the_headers_say_is_left_is_kept_to(wire, new_client):
    headers = {
        "x-ratelimit-limit-requests": "100",
        "x-ratelimit-remaining-requests": "0",
        "x-ratelimit-reset-requests": "20s",
    }
    body = b'{"choices": [{"message": {"content": "ok"}}]}'
    wire.respond = lambda seen: wire.sends(body, headers=headers)

    replies = crowd_of(new_client, 4, limiter_of({"compatible": Ceilings(concurrency=1)}))

    waits = sorted(reply.waited_seconds for reply in replies)
    assert waits == pytest.approx([0.0, 0.2, 0.4, 0.6], abs=0.15)


def test_a_line_that_is_too_long_is_not_the_agents_fault(wire, new_client):
    wire.respond = lambda seen: wire.waits(0.5, wire.says("ok"))
    limiter = limiter_of({"compatible": Ceilings(concurrency=1)})

    async def impatient() -> list:
        client = new_client("compatible", limiter=limiter)
        patient = ModelRequest(messages=QUESTION, timeout_seconds=10)
        hasty = ModelRequest(messages=QUESTION, timeout_seconds=0.2)
        try:
            return await asyncio.gather(
                client.reply(patient), client.reply(hasty), return_exceptions=True
            )
        finally:
            await client.close()

    reply, fault = asyncio.run(impatient())

    assert reply.text == "ok"
    assert type(fault) is ModelUnavailable
    assert "rate limits left no room" in str(fault)
