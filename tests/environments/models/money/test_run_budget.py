"""A worker's money: what is held is given back whole, however a call ends."""

import asyncio

import pytest

from environments.models.money.run_budget import RunBudget
from environments.models.money.shared_budget import MoneyAnswer
from tests.environments.models.limiters import budget_of


def test_what_is_held_leaves_no_rest_that_would_keep_an_exact_fit_waiting():
    budget = budget_of()

    async def call(usd: float, seconds: float) -> None:
        async with budget.reserved(usd) as payment:
            await asyncio.sleep(seconds)
            payment.cost_usd = usd

    async def calls() -> None:
        await asyncio.gather(call(0.1, 0.03), call(0.2, 0.02), call(0.3, 0.01))

    asyncio.run(calls())
    money, _ = budget.report()
    assert money.reserved_usd == 0.0
    assert money.spent_usd == pytest.approx(0.6)


def test_a_call_that_is_cut_off_just_as_it_is_granted_holds_nothing():
    budget = RunBudget(lambda: None)

    async def call() -> None:
        async with budget.reserved(0.5):
            raise AssertionError("it was cut off before")

    async def cut_off() -> None:
        task = asyncio.create_task(call())
        await asyncio.sleep(0)
        _, claims = budget.report()
        budget.hear(claims, MoneyAnswer(granted=1))
        assert budget.report()[0].reserved_usd == 0.5
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cut_off())
    money, _ = budget.report()
    assert (money.reserved_usd, money.spent_usd) == (0.0, 0.0)
