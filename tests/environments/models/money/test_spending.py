"""The cap on spending, over the real OpenAI client."""

import asyncio
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from environments.models.money.budget import Spending
from environments.models.money.prices import price_of
from environments.models.money.spending import SpendingCap, call_bound, cost_bound, longest_reply
from environments.models.openai.chat import OpenAIClient
from environments.models.retry import RetryPolicy
from environments.models.wire.endpoint import Endpoint
from environments.ports import Message, ModelReply, ModelRequest
from taskdata.errors import BudgetExhausted, Misuse, ModelUnavailable
from taskdata.schema.agent import ModelSpec
from taskdata.schema.construct import SpendingLimits

SPEC = ModelSpec(provider="openai", model="gpt-5-mini")  # 0.25 USD in, 2.00 out
QUESTION = ModelRequest(messages=(Message("user", "x" * 1_000),), max_tokens=500)
PRICE = price_of(SPEC)


@pytest.fixture
def capped(wire):
    """Ask several times at once under limits; returns the cap and what came of each call."""

    def ask(
        times: int = 1, limits=None, spent=None, price=PRICE, one_by_one: bool = False, attempts=1
    ):
        async def all_of_them():
            policy = RetryPolicy(attempts=attempts, first_wait_seconds=0.01)
            client = OpenAIClient(Endpoint(SPEC, wire.openai_url, "k"), policy)
            cap = SpendingCap(client, SpendingLimits(**(limits or {})), price, spent)
            try:
                if one_by_one:
                    results = []
                    for _ in range(times):
                        results += await asyncio.gather(cap.reply(QUESTION), return_exceptions=True)
                else:
                    calls = (cap.reply(QUESTION) for _ in range(times))
                    results = await asyncio.gather(*calls, return_exceptions=True)
            finally:
                await cap.close()
            return cap, results

        return asyncio.run(all_of_them())

    return ask


def refused(results) -> int:
    return sum(isinstance(result, BudgetExhausted) for result in results)


def test_calls_beyond_the_limit_are_not_made(wire, capped):
    wire.respond = lambda seen: wire.says("yes")
    cap, results = capped(5, {"max_calls": 3})
    assert (len(wire.seen), refused(results), cap.spent.calls) == (3, 2, 3)


def test_a_call_that_could_go_beyond_the_tokens_is_refused_before_it_is_made(wire, capped):
    wire.then(wire.says("yes", input_tokens=250, output_tokens=10))
    cap, results = capped(2, {"max_tokens": 1_600}, one_by_one=True)
    assert isinstance(results[0], ModelReply)
    assert "max_tokens = 1600" in str(results[1])
    assert cap.spent.tokens == 260
    assert len(wire.seen) == 1


def test_calls_at_once_wait_for_each_other_instead_of_overspending(wire, capped):
    wire.respond = lambda seen: wire.waits(0.05, wire.says("y", input_tokens=250, output_tokens=50))
    cap, results = capped(4, {"max_tokens": 3_500})
    assert refused(results) == 0
    assert wire.most_at_once == 2
    assert cap.spent == Spending(4, 1_200, pytest.approx(4 * (250 * 0.25 + 50 * 2) / 1e6))


def test_money_is_limited_by_what_a_call_may_cost_at_most(wire, capped):
    wire.respond = lambda seen: wire.says("yes", input_tokens=1_000, output_tokens=500)
    bound = call_bound(QUESTION, PRICE).usd
    cap, results = capped(3, {"max_usd": 2.5 * bound}, one_by_one=True)
    assert refused(results) == 1
    assert cap.spent.usd <= 2.5 * bound


def test_a_limit_in_money_needs_a_known_price(capped):
    with pytest.raises(Misuse, match="price of this model is unknown"):
        capped(1, {"max_usd": 1.0}, price=None)


def test_an_unknown_price_without_a_limit_in_money_is_no_obstacle(wire, capped):
    wire.then(wire.says("yes"))
    _, results = capped(1, price=None)
    assert results[0].text == "yes"


def test_what_was_spent_before_counts(wire, capped):
    _, results = capped(1, {"max_calls": 7}, Spending(7, 100, 0.1))
    assert refused(results) == 1
    assert "used so far: 7 calls, 100 tokens" in str(results[0])
    assert wire.seen == []


def test_an_unknown_sum_spent_before_stops_a_refresh_limited_in_money(capped):
    with pytest.raises(BudgetExhausted, match="2 earlier calls cost is not known"):
        capped(1, {"max_usd": 1.0}, Spending(2, 100, None))


def test_a_failed_call_counts_as_a_call_and_gives_its_reservation_back(wire, capped):
    wire.then(wire.fails(503), wire.says("yes", input_tokens=10, output_tokens=5))
    cap, results = capped(2, {"max_tokens": 1_600}, one_by_one=True)
    assert isinstance(results[0], ModelUnavailable)
    assert isinstance(results[1], ModelReply)
    assert (cap.spent.calls, cap.spent.tokens) == (2, 15)


def test_a_server_that_reports_no_usage_is_booked_at_what_the_call_used_at_most(wire, capped):
    wire.then(wire.says("yes", input_tokens=0, output_tokens=0))
    cap, _ = capped()
    assert cap.spent == call_bound(QUESTION, PRICE)


def test_a_failed_call_that_may_be_charged_counts_as_what_it_used_at_most(wire, capped):
    wire.then(wire.truncates())
    cap, results = capped(1)
    assert isinstance(results[0], ModelUnavailable)
    assert cap.spent == call_bound(QUESTION, PRICE)


@pytest.mark.parametrize("calls", [1, 3, 5])
def test_attempts_that_may_be_charged_stay_below_the_limit_in_money(wire, capped, calls):
    wire.respond = lambda seen: wire.truncates()
    limit = (calls + 0.5) * call_bound(QUESTION, PRICE).usd
    cap, _ = capped(calls + 1, {"max_usd": limit}, attempts=5)
    assert len(wire.seen) == calls
    assert cap.spent.usd <= limit


def test_an_attempt_that_may_be_charged_is_made_again_where_money_is_left(wire, capped):
    wire.then(wire.truncates(), wire.says("yes"))
    _, results = capped(1, {"max_usd": 1.0}, attempts=5)
    assert results[0].text == "yes"


@given(st.text(max_size=200), st.integers(1, 10_000))
def test_the_bound_covers_a_token_for_every_byte(text, max_tokens):
    request = ModelRequest(messages=(Message("user", text),), max_tokens=max_tokens)
    bound = call_bound(request, PRICE)
    assert bound.tokens >= len(text.encode("utf-8", "replace")) + max_tokens
    assert bound.usd >= cost_bound(len(text), max_tokens, PRICE)


@given(st.text(max_size=200), st.integers(1, 10_000), st.floats(0, 0.05))
def test_the_longest_reply_is_the_longest_that_the_money_allows(text, max_tokens, usd):
    request = ModelRequest(messages=(Message("user", text),), max_tokens=max_tokens)
    longest = longest_reply(request, PRICE, usd)
    assert 0 <= longest <= max_tokens
    if longest:
        assert call_bound(replace(request, max_tokens=longest), PRICE).usd <= usd
    if longest < max_tokens:
        # One more for what was rounded.
        assert call_bound(replace(request, max_tokens=longest + 2), PRICE).usd > usd
