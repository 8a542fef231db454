"""Reserve before, settle after: whatever happens in between, no limit is exceeded."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from environments.models.money.budget import AwaitedBudget, BudgetTracker, Spending, total


@pytest.mark.parametrize(
    ("limits", "limit"),
    [({"max_calls": 1}, "calls"), ({"max_tokens": 150}, "tokens"), ({"max_usd": 0.15}, "usd")],
)
def test_what_is_reserved_cannot_be_reserved_twice(limits, limit):
    budget, call = BudgetTracker(**limits), Spending(1, 100, 0.1)
    reservation = budget.reserve(call)
    assert reservation is not None
    assert budget.reserve(call) is None
    assert budget.exceeded(call) is None, "it would fit if the other call used nothing"
    budget.settle(reservation, call)
    assert budget.exceeded(call) == limit


def test_an_unknown_cost_counts_as_over_budget_where_money_is_limited():
    unknown = Spending(usd=None)
    assert BudgetTracker().reserve(unknown) is not None
    limited = BudgetTracker(max_usd=100.0)
    assert limited.reserve(unknown) is None
    limited.spend(unknown)
    assert limited.usd_left == 0
    assert limited.exceeded(Spending()) == "usd"


@given(st.lists(st.tuples(st.floats(0, 0.5), st.floats(0, 1), st.booleans())))
def test_no_order_of_calls_spends_more_than_the_cap(calls):
    """A call reserves the most that it may cost, and uses a part of it; some end late."""
    budget, late = BudgetTracker(max_usd=1.0), []
    for bound, part, is_late in calls:
        reservation = budget.reserve(Spending(usd=bound))
        if reservation is None:
            continue
        if is_late:
            late.append((reservation, bound * part))
        else:
            budget.settle(reservation, Spending(usd=bound * part))
    for reservation, usd in late:
        budget.settle(reservation, Spending(usd=usd))
    assert not budget.is_reserved
    assert budget.spent.usd <= 1.0 + 1e-9


def test_a_sum_is_not_rounded_on_the_way():
    assert total([Spending(usd=0.1), Spending(usd=0.2), Spending(usd=-0.3)]).usd < 1e-16


def test_who_waits_hears_of_each_settlement():
    async def wait_twice() -> int:
        budget, heard = AwaitedBudget(max_calls=2), []

        async def wait() -> None:
            for _ in range(2):
                await budget.settlement()
                heard.append(1)

        waiting = asyncio.create_task(wait())
        for _ in range(2):
            reservation = budget.reserve(Spending(1))
            await asyncio.sleep(0)
            budget.settle(reservation)
            await asyncio.sleep(0.01)
        await asyncio.wait_for(waiting, 5)
        return len(heard)

    assert asyncio.run(wait_twice()) == 2
