"""Time in line, for the provider's limits or the run's money, is not the agent's."""

import asyncio
from contextlib import asynccontextmanager

import aiohttp
import pytest

from environments.metering.calls import Terms
from environments.metering.program_budget import ProgramBudget
from environments.metering.proxy import metering_proxy
from environments.models.limits.limiter import ProcessLimiter
from environments.models.money.prices import Price
from environments.models.money.run_budget import RunBudget
from environments.models.money.shared_budget import MoneyAnswer
from environments.models.wire.endpoint import Endpoint
from taskdata.errors import ModelUnavailable
from taskdata.schema.agent import Budget, ModelSpec
from taskdata.schema.ceilings import Ceilings
from tests.environments.models.limiters import limiter_of

PRICE = Price(input=10, output=100, cached_input=1)


@pytest.fixture
def asking(wire, key, record):
    """Open a proxy behind a limiter or a budget of the run; yields a way to ask, and the budget."""

    @asynccontextmanager
    async def opened(max_seconds: float, **shared):
        endpoint = Endpoint(ModelSpec(provider="openai", model="m"), wire.openai_url, key)
        budget = ProgramBudget(Budget(max_seconds=max_seconds), PRICE)
        async with (
            metering_proxy(Terms(endpoint, budget, record, **shared)) as proxy,
            aiohttp.ClientSession(headers={"x-api-key": proxy.token}) as session,
        ):

            async def ask() -> int:
                url = f"{proxy.url}/v1/chat/completions"
                async with session.post(url, json={"messages": []}) as answered:
                    return answered.status

            budget.begin()
            yield ask, proxy

    return opened


def unreachable(report):
    raise ConnectionError


def granted_late(seconds: float) -> RunBudget:
    """Return a budget whose money comes after so many seconds."""
    budgets: list[RunBudget] = []

    def grant() -> None:
        _, claims = budgets[0].report()
        budgets[0].hear(claims, MoneyAnswer(granted=len(claims)))

    budgets.append(RunBudget(lambda: asyncio.get_running_loop().call_later(seconds, grant)))
    return budgets[0]


async def test_a_wait_for_the_runs_money_leaves_the_trial_its_time(wire, asking, record):
    wire.respond = lambda seen: wire.says("x")
    async with asking(2.0, run_budget=granted_late(0.8)) as (ask, proxy):
        for _ in range(3):
            assert await ask() == 200
        assert proxy.budget.seconds_left > 0.8
    # Money may be granted while a slow machine is between two calls, so not every call waits.
    assert len(record.replies) == 3
    assert max(reply.waited_seconds for reply in record.replies) > 0.3


async def test_a_wait_for_the_providers_limits_leaves_the_trial_its_time(wire, asking, record):
    wire.respond = lambda seen: wire.waits(0.5, wire.says("x"))
    limiter = limiter_of({"openai": Ceilings(concurrency=1)})
    async with asking(4.0, limiter=limiter) as (ask, proxy):
        statuses = await asyncio.gather(*(ask() for _ in range(4)))
        # All but the last one's answer came while others stood in line.
        assert statuses == [200] * 4
        assert 2.5 < proxy.budget.seconds_left < 3.6
    assert max(reply.waited_seconds for reply in record.replies) > 1.4
    assert all(reply.seconds < 1.4 for reply in record.replies)


async def test_time_that_runs_out_at_the_model_is_the_agents(wire, asking):
    wire.then(wire.waits(0.3, wire.says("slow")), wire.waits(20, wire.says("late")))
    async with asking(2.0, run_budget=granted_late(0.2)) as (ask, proxy):
        assert [await ask() for _ in range(2)] == [200, 504]
        assert proxy.budget.seconds_left == 0
        proxy.require_provider()


async def test_money_that_never_comes_is_not_the_agents(wire, asking):
    async with asking(0.3, run_budget=RunBudget(lambda: None)) as (ask, proxy):
        assert await ask() in (502, 504)
        assert wire.seen == []
        with pytest.raises(ModelUnavailable, match="held its money"):
            proxy.require_provider()


async def test_nor_is_a_slot_that_never_comes(wire, asking):
    async with asking(0.3, limiter=ProcessLimiter("worker", unreachable)) as (ask, proxy):
        assert await ask() in (502, 504)
        assert wire.seen == []
        with pytest.raises(ModelUnavailable, match="rate limits left no room"):
            proxy.require_provider()
