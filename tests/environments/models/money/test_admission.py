"""Leave for an attempt where the money is the scarce part."""

import asyncio

import pytest

from environments.models.limits.limiter import ProcessLimiter
from environments.models.money import admission
from environments.models.money.admission import admitted
from environments.models.money.run_budget import MoneyHeld, RunBudget
from taskdata.schema.ceilings import Ceilings
from tests.environments.models.limiters import limiter_of


@pytest.fixture
def hasty(monkeypatch):
    monkeypatch.setattr(admission, "SECONDS_FOR_MONEY", 0.01)
    monkeypatch.setattr(admission, "SECONDS_WITHOUT_MONEY", 0.01)


async def wait_in_vain(limiter: ProcessLimiter, seconds: float) -> None:
    """Want money that nobody grants."""
    budget = RunBudget(lambda: None)
    async with admitted(lambda s: limiter.slot("p", 100, s), budget, 0.5, seconds):
        raise AssertionError("nobody has granted it")


def test_waiting_for_money_uses_up_no_rate_limit(hasty):
    async def then_a_call() -> float:
        limiter = limiter_of({"p": Ceilings(requests_per_minute=60, tokens_per_minute=60_000)})
        with pytest.raises(MoneyHeld):
            await wait_in_vain(limiter, 0.3)
        async with limiter.slot("p", 100, 5.0) as slot:
            return slot.waited_seconds

    assert asyncio.run(then_a_call()) < 0.05


def test_who_had_room_and_no_money_blames_the_money(hasty):
    async def busy_later() -> None:
        limiter = limiter_of({"p": Ceilings(concurrency=1)})
        waiting = asyncio.create_task(wait_in_vain(limiter, 0.3))
        await asyncio.sleep(0.05)
        async with limiter.slot("p", 100, 5.0):
            await asyncio.wait({waiting})
        await waiting

    with pytest.raises(MoneyHeld, match="held its money"):
        asyncio.run(busy_later())
