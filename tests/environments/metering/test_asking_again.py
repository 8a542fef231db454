"""A provider that wants fewer calls is asked again, and is to blame if it never answers."""

import asyncio
from contextlib import asynccontextmanager

import aiohttp
import pytest

from environments.metering.calls import Terms
from environments.metering.program_budget import ProgramBudget
from environments.metering.proxy import metering_proxy
from environments.models.wire.endpoint import Endpoint
from taskdata.errors import ModelUnavailable
from taskdata.schema.agent import Budget, ModelSpec
from tests.environments.models.limiters import limiter_of

LIMITED = {"message": "Rate limit reached", "code": "rate_limit_exceeded"}
LIMITED_ANSWER = {"error": {"message": "Rate limit reached", "code": 429}}
"""With status 200, as gateways send it, so that it may be charged."""


class ToldLimiter:
    """Lets every call through and keeps what it is told of them."""

    def __init__(self):
        self.outcomes = []
        self.waited_seconds = 0.0

    @asynccontextmanager
    async def slot(self, provider, estimated_tokens, seconds):
        yield self

    def report(self, outcome):
        self.outcomes.append(outcome.kind)

    def give_back(self):
        pass


async def test_a_refusal_for_a_rate_limit_does_not_reach_the_program(wire, program):
    wire.then(wire.fails(429, **LIMITED), wire.fails(503), wire.says("There."))
    async with program() as agent:
        status, body = await agent.chat()
        agent.proxy.require_provider()
    assert (status, body["choices"][0]["message"]["content"]) == (200, "There.")
    assert agent.proxy.budget.spent.calls == 1
    (reply,) = agent.replies
    assert [attempt.status for attempt in reply.failed_attempts] == [429, 503]
    assert {attempt.cost_at_most_usd for attempt in reply.failed_attempts} == {0}


@pytest.mark.parametrize("retry_after", [None, 0.01])
async def test_one_that_is_refused_to_the_end_is_the_providers_fault_and_no_turn(
    wire, program, retry_after
):
    wire.respond = lambda seen: wire.fails(429, retry_after=retry_after, **LIMITED)
    async with program() as agent:
        status, body = await agent.chat()
        assert (status, body["error"]["code"]) == (429, "rate_limit_exceeded")
        with pytest.raises(ModelUnavailable, match="Rate limit reached"):
            agent.proxy.require_provider()
    assert agent.proxy.budget.spent.calls == 0
    assert len(wire.seen) == 3
    ((*attempts,),) = agent.recorded.unanswered
    assert [attempt.status for attempt in attempts] == [429] * 3


async def test_a_wait_longer_than_the_time_left_is_not_begun(wire, program):
    wire.then(wire.fails(429, retry_after=7, **LIMITED))
    async with program(max_seconds=5) as agent:
        assert (await agent.chat())[0] == 429
        with pytest.raises(ModelUnavailable):
            agent.proxy.require_provider()
    assert len(wire.seen) == 1


async def test_a_request_that_will_never_fit_is_not_asked_again(wire, program):
    message = "Request too large for model-1: limit 10000, requested 20000"
    wire.then(wire.fails(429, message, retry_after=7))
    async with program() as agent:
        assert (await agent.chat())[0] == 429
        agent.proxy.require_provider()
    assert len(wire.seen) == 1
    assert agent.proxy.budget.spent.calls == 1


async def test_other_faults_are_the_programs_to_try_again(wire, program):
    wire.then(wire.fails(500), wire.says("There."))
    async with program() as agent:
        assert [(await agent.chat())[0] for _ in range(2)] == [500, 200]


async def test_the_wait_that_a_provider_asks_for_is_all_callers_and_not_the_agents(
    wire, key, record
):
    wire.then(wire.fails(429, retry_after=0.5), wire.says("x"))
    limiter = limiter_of()
    endpoint = Endpoint(ModelSpec(provider="openai", model="m"), wire.openai_url, key)
    budget = ProgramBudget(Budget(max_seconds=3), None)
    async with (
        metering_proxy(Terms(endpoint, budget, record, limiter=limiter)) as proxy,
        aiohttp.ClientSession(headers={"x-api-key": proxy.token}) as session,
    ):
        budget.begin()
        loop = asyncio.get_running_loop()
        started = loop.time()
        url = f"{proxy.url}/v1/chat/completions"
        async with session.post(url, json={"messages": []}) as answered:
            assert answered.status == 200
        assert loop.time() - started >= 0.5
        assert budget.seconds_left > 2.6
    assert record.replies[0].waited_seconds >= 0.45


async def test_a_limit_within_an_answer_is_one_to_the_limiter_too(wire, program):
    wire.then(wire.answers(LIMITED_ANSWER), wire.says("There."))
    limiter = ToldLimiter()
    async with program(limiter=limiter) as agent:
        assert (await agent.chat())[0] == 200
    assert limiter.outcomes == ["limited", "ok"]


async def test_what_attempts_before_the_answer_may_be_charged_is_the_trials_money(wire, program):
    wire.then(*[wire.answers(LIMITED_ANSWER)] * 2, wire.says("There."))
    async with program(max_usd=1.0) as agent:
        assert (await agent.chat(max_tokens=1_000))[0] == 200
    (reply,) = agent.replies
    lost_usd = sum(attempt.cost_at_most_usd for attempt in reply.failed_attempts)
    assert lost_usd > 2 * 1_000 * 100e-6
    budget = agent.proxy.budget
    assert budget.lost_usd == pytest.approx(lost_usd)
    assert budget.spent.usd == pytest.approx(lost_usd + reply.cost_usd)


async def test_no_attempt_is_made_that_the_trials_money_might_not_bear(wire, program):
    wire.respond = lambda seen: wire.answers(LIMITED_ANSWER)
    async with program(max_usd=0.25) as agent:
        # One of them costs 0.12 USD at most.
        assert (await agent.chat(max_tokens=1_000))[0] == 502
        with pytest.raises(ModelUnavailable, match="Rate limit reached"):
            agent.proxy.require_provider()
    assert len(wire.seen) == 2
    assert 0.2 < agent.proxy.budget.spent.usd <= 0.25


async def test_a_stream_that_the_program_has_seen_fail_is_not_asked_for_again(
    wire, program, streams
):
    begun = {"choices": [{"index": 0, "delta": {"content": "Paid"}, "finish_reason": None}]}
    wire.then(streams(begun, LIMITED_ANSWER), wire.says("unseen"))
    async with program() as agent:
        with pytest.raises(aiohttp.ClientError):
            await agent.stream("/v1/chat/completions")
        await agent.proxy.settled()
        with pytest.raises(ModelUnavailable, match="Rate limit reached"):
            agent.proxy.require_provider()
    assert len(wire.seen) == 1
    assert agent.replies == []
    ((attempt,),) = agent.recorded.unanswered
    assert attempt.status == 429
