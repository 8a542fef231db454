"""A trial's budget: what fits is reserved, what was not used is given back."""

import asyncio
from contextlib import nullcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st

from environments.metering.program_budget import ProgramBudget, ReplyLimits, ReplyReservation
from environments.models.money.budget import Spending
from environments.models.money.prices import Price
from taskdata.schema.agent import Budget
from taskdata.schema.transcript import Ending

PRICE = Price(input=10, output=100, cached_input=1)


def limited_to(**fields) -> Budget:
    return Budget.model_validate({"max_reply_tokens": 1_000} | fields)


async def test_a_reply_is_shortened_to_what_is_left():
    budget = ProgramBudget(limited_to(max_tokens=1_500), None)
    first = await budget.reserve(800, 1_000)
    assert isinstance(first, ReplyReservation)
    assert first.reply_tokens == 700
    budget.settle(first, Spending(1, 900))
    assert (await budget.reserve(300, None)).reply_tokens == 300


async def test_no_call_is_made_for_a_reply_of_a_few_words():
    budget = ProgramBudget(limited_to(max_tokens=1_000), None)
    assert await budget.reserve(990, 1_000) is Ending.OUT_OF_TOKENS
    assert isinstance(await budget.reserve(990, 10), ReplyReservation)


async def test_money_is_held_to_what_a_call_costs_at_most():
    budget = ProgramBudget(limited_to(max_usd=0.05), PRICE)
    reservation = await budget.reserve(1_000, 1_000)
    assert reservation.bound.usd <= 0.05
    assert reservation.reply_tokens == 400


async def test_a_model_without_a_price_has_no_room_under_a_limit_in_money():
    assert await ProgramBudget(limited_to(max_usd=100), None).reserve(1, 1) is Ending.OUT_OF_MONEY


async def test_a_call_waits_for_what_others_give_back():
    budget = ProgramBudget(limited_to(max_tokens=2_500), None)
    first = await budget.reserve(1_000, 1_000)
    second = asyncio.create_task(budget.reserve(1_000, 1_000))
    await asyncio.sleep(0.01)
    assert not second.done()
    budget.settle(first, Spending(1, 100))
    assert (await second).reply_tokens == 1_000


async def test_a_call_hears_of_what_is_settled_as_it_begins_to_wait():
    budget = ProgramBudget(Budget(max_turns=2), None)
    held = [await budget.reserve(10, 100), await budget.reserve(10, 100)]

    async def settle() -> None:
        for reservation in held:
            budget.settle(reservation, Spending(0))

    waiting = asyncio.create_task(budget.reserve(10, 100))
    settling = asyncio.create_task(settle())
    async with asyncio.timeout(5):
        assert isinstance(await waiting, ReplyReservation)
    await settling


async def test_a_call_that_waits_is_refused_when_the_room_is_used_up():
    budget = ProgramBudget(limited_to(max_turns=1), None)
    first = await budget.reserve(1, 100)
    second = asyncio.create_task(budget.reserve(1, 100))
    await asyncio.sleep(0.01)
    budget.settle(first, Spending(1, 100))
    assert await second is Ending.OUT_OF_TURNS


async def test_what_a_failed_call_held_is_there_again():
    budget = ProgramBudget(limited_to(max_turns=1), None)
    budget.settle(await budget.reserve(1, 100), Spending())
    assert isinstance(await budget.reserve(1, 100), ReplyReservation)


async def test_time_runs_from_the_beginning_of_the_work():
    now = [0.0]
    budget = ProgramBudget(limited_to(max_seconds=10), None, clock=lambda: now[0])
    now[0] = 100
    assert budget.seconds_left == 10
    budget.begin()
    now[0] = 104
    assert budget.seconds_left == 6
    now[0] = 111
    assert await budget.reserve(1, 1) is Ending.OUT_OF_TIME


async def test_time_stands_still_while_a_call_stands_in_line():
    now = [0.0]
    budget = ProgramBudget(limited_to(max_seconds=10), None, clock=lambda: now[0])
    budget.begin()
    now[0] = 2
    with budget.in_line():
        now[0] = 30
        assert budget.seconds_left == 8
        # Another one that waits meanwhile makes it no longer.
        with budget.in_line():
            now[0] = 40
        assert budget.seconds_left == 8
    now[0] = 43
    assert budget.seconds_left == 5


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 9)), max_size=12))
def test_all_time_but_that_in_line_is_the_trials(spans):
    now, used = [0.0], 0
    budget = ProgramBudget(limited_to(max_seconds=1_000), None, clock=lambda: now[0])
    budget.begin()
    for is_in_line, seconds in spans:
        with budget.in_line() if is_in_line else nullcontext():
            now[0] += seconds
        used += 0 if is_in_line else seconds
        assert budget.seconds_left == 1_000 - used


async def test_a_block_ends_with_the_trials_time_and_not_with_that_in_line():
    budget = ProgramBudget(limited_to(max_seconds=0.2), None)
    budget.begin()

    async def waits_and_works() -> None:
        async with budget.in_time():
            with budget.in_line():
                await asyncio.sleep(0.3)
            await asyncio.sleep(5)

    loop = asyncio.get_running_loop()
    began = loop.time()
    with pytest.raises(TimeoutError):
        await waits_and_works()
    assert 0.45 < loop.time() - began < 2
    assert budget.seconds_left == 0


async def test_what_fails_in_a_block_fails_as_itself():
    budget = ProgramBudget(limited_to(max_seconds=5), None)
    budget.begin()
    with pytest.raises(KeyError):
        async with budget.in_time():
            raise KeyError


async def test_a_program_says_how_long_its_replies_may_be_and_is_held_to_the_rest():
    limits = ReplyLimits(most=None, unasked=2_000)
    budget = ProgramBudget(limited_to(max_tokens=50_000), None, replies=limits)
    for wanted, given_ in ((30_000, 30_000), (None, 2_000), (5, 5)):
        reservation = await budget.reserve(1_000, wanted)
        assert reservation.reply_tokens == given_
        budget.settle(reservation, Spending())
    budget.settle(await budget.reserve(1_000, 10), Spending(1, 40_000))
    assert (await budget.reserve(1_000, 30_000)).reply_tokens == 9_000


async def test_a_reply_that_could_not_think_is_not_begun():
    budget = ProgramBudget(limited_to(max_tokens=3_000, max_reply_tokens=9_000), None)
    assert await budget.reserve(1_000, 9_000, 2_048) is Ending.OUT_OF_TOKENS
    assert (await budget.reserve(500, 9_000, 2_048)).reply_tokens == 2_500


async def test_the_limit_that_was_reached_first_is_the_ending():
    budget = ProgramBudget(limited_to(max_turns=1, max_tokens=500), None)
    budget.settle(await budget.reserve(1, 100), Spending(1, 400))
    await budget.reserve(1, 100)
    await budget.reserve(1_000, 100)
    assert budget.ending is Ending.OUT_OF_TURNS


async def test_what_tools_cost_counts_too():
    budget = ProgramBudget(limited_to(max_usd=0.05), PRICE)
    budget.charge(0.05)
    assert await budget.reserve(1, 64) is Ending.OUT_OF_MONEY


async def test_a_tool_of_unknown_cost_leaves_no_money_where_that_is_limited():
    budget = ProgramBudget(limited_to(max_usd=100.0), PRICE)
    budget.charge(None)
    assert await budget.reserve(1, 64) is Ending.OUT_OF_MONEY
    async with budget.hold() as left:
        assert left == 0


async def test_a_tools_model_has_what_calls_in_flight_leave_and_they_wait_for_it():
    budget = ProgramBudget(limited_to(max_usd=1.0), PRICE)
    first = await budget.reserve(1, 64)
    order = []

    async def tool() -> None:
        async with budget.hold() as left:
            order.append(f"{left:.1f} left")
            call = asyncio.create_task(budget.reserve(1, 64))
            await asyncio.sleep(0.01)
            assert not call.done()
            budget.charge(0.3)
        assert isinstance(await call, ReplyReservation)

    using = asyncio.create_task(tool())
    await asyncio.sleep(0.01)
    order.append("settled")
    budget.settle(first, Spending(1, 65, 0.2))
    await using
    assert order == ["settled", "0.8 left"]
    assert budget.spent.usd == pytest.approx(0.5)


async def test_without_a_limit_a_tools_model_waits_for_nobody():
    budget = ProgramBudget(limited_to(), PRICE)
    await budget.reserve(1, 64)
    async with budget.hold() as left:
        assert left is None


async def test_a_trial_whose_provider_failed_its_money_away_is_known():
    budget = ProgramBudget(limited_to(max_usd=0.5), PRICE)
    budget.charge(0.3)
    budget.lose(0.2)
    assert await budget.reserve(1, 64) is Ending.OUT_OF_MONEY
    assert budget.is_cut_short


async def test_one_that_is_out_of_money_anyway_is_not_cut_short():
    budget = ProgramBudget(limited_to(max_usd=0.5), PRICE)
    budget.charge(0.5)
    budget.lose(0.2)
    assert await budget.reserve(1, 64) is Ending.OUT_OF_MONEY
    assert not budget.is_cut_short
