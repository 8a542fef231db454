import asyncio
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from environments.models.money.prices import Price
from environments.models.money.spending import call_bound
from environments.ports import Message, ModelReply, ModelRequest
from stages.execute.dialogue.budget import HarnessBudget
from taskdata.errors import ModelUnavailable
from taskdata.schema.agent import Budget
from taskdata.schema.transcript import Ending, Usage
from taskdata.schema.usage import FailedAttempt


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


PRICE = Price(input=1, output=10, cached_input=0.1)
QUESTION = ModelRequest(messages=(Message("user", "x" * 1_000),), max_tokens=1_000)
MOST = call_bound(QUESTION, PRICE)
MOST_USD = MOST.usd or 0.0
CALL = Usage(input_tokens=60, output_tokens=40)


def reply(cost_usd: float | None = None, usage: Usage = CALL, **more) -> ModelReply:
    return ModelReply("Fine.", "m", usage=usage, cost_usd=cost_usd, **more)


def failed(at_most: float | None) -> FailedAttempt:
    return FailedAttempt(cause="the connection failed", seconds=1.0, cost_at_most_usd=at_most)


@pytest.mark.parametrize(
    ("budget", "ending"),
    [
        (Budget(max_turns=2), Ending.OUT_OF_TURNS),
        (Budget(max_tokens=200), Ending.OUT_OF_TOKENS),
        (Budget(max_usd=0.2), Ending.OUT_OF_MONEY),
        (Budget(max_usd=0.0), Ending.OUT_OF_MONEY),
    ],
)
def test_a_limit_ends_the_trial_when_it_is_reached(budget, ending):
    meter = HarnessBudget(budget)
    assert meter.exhausted() is (ending if budget.max_usd == 0 else None)
    meter.count(QUESTION, reply(0.1))
    meter.count(QUESTION, reply(0.1))
    assert meter.exhausted() is ending


def test_time_runs_from_the_start_whatever_is_called():
    clock = Clock()
    meter = HarnessBudget(Budget(max_seconds=30), clock)
    clock.now += 29.5
    assert (meter.seconds_left, meter.exhausted()) == (0.5, None)
    clock.now += 1
    assert (meter.seconds_left, meter.exhausted()) == (0.0, Ending.OUT_OF_TIME)


def test_time_in_line_for_a_provider_is_not_the_agents():
    clock = Clock()
    meter = HarnessBudget(Budget(max_seconds=30), clock)
    clock.now += 25
    meter.count(QUESTION, reply(waited_seconds=20))
    assert meter.seconds_left == 25


def test_a_reply_gets_no_more_tokens_than_are_left():
    meter = HarnessBudget(Budget(max_tokens=150, max_reply_tokens=100))
    assert meter.reply_tokens == 100
    meter.count(QUESTION, reply())
    assert meter.reply_tokens == 50
    meter.count(QUESTION, reply())
    assert meter.reply_tokens == 1


def test_what_tools_cost_counts_as_money_and_as_nothing_else():
    meter = HarnessBudget(Budget(max_usd=0.2, max_turns=1, max_tokens=10))
    meter.charge(0.1)
    assert meter.exhausted() is None
    meter.charge(0.1)
    assert meter.exhausted() is Ending.OUT_OF_MONEY


def test_a_tool_of_unknown_cost_leaves_no_money_where_that_is_limited():
    limited, unlimited = HarnessBudget(Budget(max_usd=100.0)), HarnessBudget(Budget())
    for meter in (limited, unlimited):
        meter.charge(None)
    assert limited.exhausted() is Ending.OUT_OF_MONEY
    assert limited.afford(QUESTION) is Ending.OUT_OF_MONEY
    assert unlimited.exhausted() is None


def test_without_a_limit_in_money_a_request_stays_as_it_is():
    assert HarnessBudget(Budget()).afford(QUESTION) is QUESTION


def test_a_call_that_fits_may_cost_what_is_left_with_all_its_attempts():
    meter = HarnessBudget(Budget(max_usd=2 * MOST_USD), price=PRICE)
    meter.count(QUESTION, reply(0.5 * MOST_USD))
    asked = meter.afford(QUESTION)
    assert asked == replace(QUESTION, max_usd=pytest.approx(1.5 * MOST_USD))


def test_a_call_and_the_models_of_tools_are_never_promised_the_same_money():
    meter, order = HarnessBudget(Budget(max_usd=2 * MOST_USD), price=PRICE), []

    async def tool(name: str) -> None:
        async with meter.hold() as left:
            order.append((name, pytest.approx(left)))
            await asyncio.sleep(0.01)
            meter.charge(0.5 * MOST_USD)

    async def call() -> None:
        async with meter.reserved(QUESTION) as asked:
            tools = [asyncio.create_task(tool(name)) for name in "ab"]
            await asyncio.sleep(0.01)
            order.append(("call", pytest.approx(asked.max_usd)))
            meter.count(asked, reply(0.5 * MOST_USD))
        await asyncio.gather(*tools)

    asyncio.run(call())
    assert order == [("call", 2 * MOST_USD), ("a", 1.5 * MOST_USD), ("b", MOST_USD)]


def test_a_reply_becomes_as_short_as_the_money_is():
    meter = HarnessBudget(Budget(max_usd=0.6 * MOST_USD), price=PRICE)
    asked = meter.afford(QUESTION)
    assert isinstance(asked, ModelRequest)
    assert 256 <= asked.max_tokens < QUESTION.max_tokens
    assert call_bound(asked, PRICE).usd == pytest.approx(0.6 * MOST_USD, rel=0.01)


def test_a_reply_that_would_be_too_short_to_help_is_not_asked_for():
    meter = HarnessBudget(Budget(max_usd=0.2 * MOST_USD), price=PRICE)
    assert meter.afford(QUESTION) is Ending.OUT_OF_MONEY
    short = replace(QUESTION, max_tokens=20)
    assert meter.afford(short) == replace(short, max_usd=0.2 * MOST_USD)


def test_an_agent_that_reasons_needs_room_for_it():
    thinking = replace(QUESTION, max_tokens=4_000, reasoning_effort="high")
    most = call_bound(thinking, PRICE).usd
    meter = HarnessBudget(Budget(max_usd=0.4 * most), price=PRICE)
    assert meter.afford(thinking) is Ending.OUT_OF_MONEY
    assert isinstance(meter.afford(replace(thinking, reasoning_effort=None)), ModelRequest)


@pytest.mark.parametrize(
    ("longest", "left", "goes_on"),
    [(4_096, 2_048, True), (4_096, 2_047, False), (1_500, 1_500, True), (1_500, 1_499, False)],
)
def test_tokens_that_leave_no_room_to_reason_are_used_up(longest, left, goes_on):
    meter = HarnessBudget(Budget(max_tokens=10_000, max_reply_tokens=longest))
    meter.count(QUESTION, reply(usage=Usage(input_tokens=10_000 - left)))
    plain = replace(QUESTION, max_tokens=meter.reply_tokens)
    asked = meter.afford(replace(plain, reasoning_effort="low"))
    assert isinstance(asked, ModelRequest) if goes_on else asked is Ending.OUT_OF_TOKENS
    assert meter.afford(plain) is plain


def test_a_call_whose_price_is_unknown_fits_under_no_limit():
    dear = Price(input=1, output=10, max_input_tokens=100)
    assert HarnessBudget(Budget(max_usd=100.0), price=dear).afford(QUESTION) is Ending.OUT_OF_MONEY


def test_what_a_server_does_not_report_counts_as_the_most_that_it_can_be():
    meter = HarnessBudget(Budget(max_usd=1.5 * MOST_USD, max_tokens=2 * MOST.tokens), price=PRICE)
    meter.count(QUESTION, reply(None, Usage()))
    left = meter.afford(replace(QUESTION, max_tokens=1))
    assert isinstance(left, ModelRequest)
    assert left.max_usd == pytest.approx(0.5 * MOST_USD)
    meter.count(QUESTION, reply(0.0, Usage()))
    assert meter.exhausted() is Ending.OUT_OF_TOKENS


def test_attempts_that_may_be_charged_count_whether_a_reply_came_or_not():
    meter = HarnessBudget(Budget(max_usd=1.0), price=PRICE)
    meter.count(QUESTION, reply(0.25, failed_attempts=(failed(0.25), failed(0.0))))
    meter.count_failed((failed(0.25),))
    assert meter.afford(QUESTION).max_usd == pytest.approx(0.25)


def test_a_trial_whose_provider_failed_its_money_away_is_not_out_of_money():
    meter = HarnessBudget(Budget(max_usd=1.0), price=PRICE)
    meter.count(QUESTION, reply(0.5))
    meter.count_failed((failed(0.5),))
    assert meter.exhausted() is None
    with pytest.raises(ModelUnavailable, match=r"may be charged with 0\.5000 USD"):
        meter.afford(QUESTION)
    meter.charge(0.5)
    assert meter.exhausted() is Ending.OUT_OF_MONEY


def test_attempts_that_failed_for_a_kept_reply_did_so_before():
    meter = HarnessBudget(Budget(max_usd=1.0), price=PRICE)
    kept = replace(reply(0.25, failed_attempts=(failed(0.5),)), is_kept=True)
    meter.count(QUESTION, kept)
    assert meter.afford(QUESTION).max_usd == pytest.approx(0.75)


@given(
    max_usd=st.floats(0.0, 0.5),
    input_usd=st.floats(0.0, 50.0),
    output_usd=st.floats(0.0, 200.0),
    used=st.lists(st.tuples(st.integers(1, 5_000), st.floats(0.0, 1.0)), max_size=30),
)
def test_no_trial_costs_more_than_its_cap_whatever_its_calls_use(
    max_usd, input_usd, output_usd, used
):
    price = Price(input=input_usd, output=output_usd, cache_write=1.25 * input_usd)
    meter, spent = HarnessBudget(Budget(max_usd=max_usd, max_turns=1_000), price=price), 0.0
    for chars, share in used:
        request = ModelRequest(messages=(Message("user", "é" * chars),), max_tokens=4_096)
        asked = meter.exhausted() or meter.afford(request)
        if isinstance(asked, Ending):
            break
        cost = share * (call_bound(asked, price).usd or 0.0)
        spent += cost
        meter.count(asked, reply(cost))
    assert spent <= max_usd * (1 + 1e-9)
