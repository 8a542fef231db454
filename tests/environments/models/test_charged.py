"""What the provider may charge for attempts without an answer, and that there is money for it."""

import asyncio
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from environments.models.money import admission
from environments.models.money.prices import price_of
from environments.models.money.spending import call_bound
from environments.models.retry import RetryPolicy
from environments.ports import Message, ModelReply, ModelRequest
from taskdata.errors import BudgetExhausted, Misuse, ModelRejected, ModelUnavailable
from taskdata.schema.agent import ModelSpec
from taskdata.schema.ceilings import Ceilings
from tests.environments.models.limiters import budget_of, limiter_of, spent_usd

PRICES = """
{provider}:
  as_of: 2026-01-01
  source: a test
  models:
    model-1: {{input: 2, output: 10, cached_input: 0.2}}
"""
QUESTION = ModelRequest(messages=(Message("user", "Hello?"),), max_tokens=100)
ONCE = RetryPolicy(attempts=1)
HASTY = RetryPolicy(attempts=1, attempt_seconds=0.2)


@pytest.fixture
def priced(tmp_path, monkeypatch):
    """Give model-1 of some providers a price; returns the most that `QUESTION` costs."""

    def price(*providers: str) -> float:
        table = tmp_path / "prices.yaml"
        sellers = {"openai" if name.startswith("openai") else name for name in providers}
        table.write_text("".join(PRICES.format(provider=name) for name in sellers))
        monkeypatch.setenv("NIGHTSHIFT_PRICES", str(table))
        spec = ModelSpec(provider=providers[0], model="model-1")
        most = call_bound(QUESTION, price_of(spec)).usd
        assert most
        return most

    return price


class Account:
    """The budget of a run with a cap."""

    def __init__(self, cap: float) -> None:
        self.cap = cap
        self.run_budget = budget_of(cap)

    @property
    def spent_usd(self) -> float:
        return spent_usd(self.run_budget)


@pytest.fixture
def outcome(new_client):
    """Ask once; return the reply or what was raised."""

    def ask(dialect: str, account: Account | None = None, request=QUESTION, **settings):
        async def once():
            run_budget = None if account is None else account.run_budget
            client = new_client(dialect, run_budget=run_budget, **settings)
            try:
                return await client.reply(request)
            except (ModelUnavailable, ModelRejected, BudgetExhausted) as exc:
                return exc
            finally:
                await client.close()

        return asyncio.run(once())

    return ask


MAY_BE_CHARGED = {
    "a body that breaks off": lambda wire: wire.truncates(),
    "a connection that is cut": lambda wire: wire.drops(),
    "what is no JSON": lambda wire: wire.sends(b'{"choices": [{"mess'),
    "what is no answer": lambda wire: wire.answers({"choices": [], "content": 5}),
    "an error as answer": lambda wire: wire.answers({"error": {"code": 502, "message": "down"}}),
    "a stream": lambda wire: wire.sends(b"data: {}\n\n", "text/event-stream"),
    "silence": lambda wire: wire.waits(5, wire.says("Too late.")),
}
IS_NOT_CHARGED = {
    "bad request": lambda wire: wire.fails(400),
    "no such model": lambda wire: wire.fails(404),
    "too many requests": lambda wire: wire.fails(429),
    "server error": lambda wire: wire.fails(500),
    "overloaded": lambda wire: wire.fails(529),
    "elsewhere": lambda wire: wire.sends(b"", status=307, headers={"location": "/v2"}),
}


@pytest.mark.parametrize("behaviour", MAY_BE_CHARGED.values(), ids=MAY_BE_CHARGED)
def test_what_may_have_been_worked_on_is_booked_at_its_most(
    wire, priced, outcome, dialect, behaviour
):
    most, account = priced(dialect), Account(1.0)
    wire.then(behaviour(wire))

    fault = outcome(dialect, account, policy=HASTY)

    (attempt,) = fault.failed_attempts
    assert attempt.cost_at_most_usd == pytest.approx(most)
    assert account.spent_usd == pytest.approx(most)


@pytest.mark.parametrize("behaviour", IS_NOT_CHARGED.values(), ids=IS_NOT_CHARGED)
def test_what_was_turned_down_is_booked_as_nothing(wire, priced, outcome, dialect, behaviour):
    priced(dialect)
    account = Account(1.0)
    wire.then(behaviour(wire))

    fault = outcome(dialect, account, policy=ONCE)

    assert [attempt.cost_at_most_usd for attempt in fault.failed_attempts] == [0.0]
    assert account.spent_usd == 0


def test_what_was_never_sent_is_booked_as_nothing(priced, outcome):
    priced("compatible")
    account = Account(1.0)

    fault = outcome("compatible", account, policy=ONCE, url="http://127.0.0.1:9/v1")

    assert [attempt.cost_at_most_usd for attempt in fault.failed_attempts] == [0.0]
    assert account.spent_usd == 0


def test_a_reply_without_usage_is_booked_at_its_most(wire, priced, outcome):
    most, account = priced("compatible"), Account(1.0)
    wire.then(wire.says("Fine.", input_tokens=0, output_tokens=0))

    assert outcome("compatible", account).cost_usd is None
    assert account.spent_usd == pytest.approx(most)


def test_what_a_model_without_a_price_may_charge_is_unknown(wire, outcome):
    wire.then(wire.drops(), wire.fails(500), wire.says("Fine."))
    reply = outcome("compatible")
    assert [attempt.cost_at_most_usd for attempt in reply.failed_attempts] == [None, 0.0]


def test_a_budget_in_money_needs_a_price(new_client):
    with pytest.raises(Misuse, match="the price of compatible/model-1 is unknown"):
        new_client("compatible", run_budget=Account(1.0).run_budget)


def test_attempts_without_answer_stop_before_the_cap(wire, priced, outcome, dialect):
    most = priced(dialect)
    account = Account(2.5 * most)
    wire.respond = lambda seen: wire.truncates()

    fault = outcome(dialect, account)

    assert isinstance(fault, BudgetExhausted)
    assert len(wire.seen) == 2
    assert [attempt.cost_at_most_usd for attempt in fault.failed_attempts] == [most, most]
    assert account.spent_usd == pytest.approx(2 * most)


def test_attempts_that_cost_nothing_are_made_again_with_the_same_money(wire, priced, outcome):
    account = Account(1.5 * priced("compatible"))
    wire.then(*(wire.fails(503) for _ in range(4)), wire.says("Fine."))

    assert outcome("compatible", account).text == "Fine."
    assert len(wire.seen) == 5


def test_attempts_stop_before_the_money_of_the_request_is_used_up(wire, priced, outcome):
    most = priced("compatible")
    wire.respond = lambda seen: wire.truncates()

    fault = outcome("compatible", request=replace(QUESTION, max_usd=2.5 * most))

    assert type(fault) is ModelUnavailable
    assert "gave up after 2 attempts" in str(fault)
    assert "there is no money for another" in str(fault)


def test_a_call_that_may_cost_more_than_the_request_allows_is_not_made(wire, priced, outcome):
    most = priced("compatible")

    fault = outcome("compatible", request=replace(QUESTION, max_usd=0.9 * most))

    assert isinstance(fault, BudgetExhausted)
    assert wire.seen == []


def test_a_call_that_is_cut_off_leaves_word_of_what_it_may_be_charged(wire, priced, new_client):
    most, account = priced("compatible"), Account(1.0)
    wire.then(wire.drops(), wire.waits(5, wire.says("Too late.")))
    request = replace(QUESTION)

    async def impatient() -> None:
        client = new_client("compatible", run_budget=account.run_budget)
        try:
            async with asyncio.timeout(0.5):
                await client.reply(request)
        finally:
            await client.close()

    with pytest.raises(TimeoutError):
        asyncio.run(impatient())

    assert [attempt.cost_at_most_usd for attempt in request.failed] == [most, most]
    assert account.spent_usd == pytest.approx(2 * most)


def test_who_stands_in_line_holds_no_money(wire, priced, new_client):
    most, account = priced("compatible"), Account(1.0)
    wire.respond = lambda seen: wire.waits(0.3, wire.says("Fine."))
    limiter = limiter_of({"compatible": Ceilings(concurrency=1)})

    async def crowd() -> float:
        client = new_client("compatible", run_budget=account.run_budget, limiter=limiter)
        try:
            calls = [asyncio.create_task(client.reply(replace(QUESTION))) for _ in range(3)]
            await asyncio.sleep(0.15)
            held = account.run_budget.report()[0].reserved_usd
            await asyncio.gather(*calls)
            return held
        finally:
            await client.close()

    assert asyncio.run(crowd()) == pytest.approx(most)


def test_who_waits_for_money_keeps_nobody_out_of_the_line(wire, priced, new_client, monkeypatch):
    monkeypatch.setattr(admission, "SECONDS_FOR_MONEY", 0.05)
    monkeypatch.setattr(admission, "SECONDS_WITHOUT_MONEY", 0.05)
    most, account = priced("compatible"), Account(1.0)
    limiter = limiter_of({"compatible": Ceilings(concurrency=1)})
    wire.respond = lambda seen: wire.says("Fine.")
    dear, cheap = replace(QUESTION, max_tokens=1_000), replace(QUESTION)

    async def crowd() -> list[str]:
        client = new_client("compatible", run_budget=account.run_budget, limiter=limiter)
        ended = []

        async def ask(name: str, request: ModelRequest) -> None:
            await client.reply(request)
            ended.append(name)

        try:
            async with account.run_budget.reserved(1.0 - 2 * most):
                calls = [asyncio.create_task(ask("dear", dear))]
                await asyncio.sleep(0.02)
                calls.append(asyncio.create_task(ask("cheap", cheap)))
                await asyncio.sleep(0.5)
            await asyncio.gather(*calls)
            return ended
        finally:
            await client.close()

    assert asyncio.run(crowd()) == ["cheap", "dear"]
    assert account.spent_usd < 2 * most


BEHAVIOURS = {**MAY_BE_CHARGED, **IS_NOT_CHARGED}
del BEHAVIOURS["silence"]


@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    cap=st.floats(0.0, 6.0),
    scripts=st.lists(st.lists(st.sampled_from(sorted(BEHAVIOURS)), max_size=6), max_size=4),
)
def test_whatever_a_provider_does_it_cannot_charge_more_than_the_cap(
    wire, priced, new_client, cap, scripts
):
    most = priced("compatible")
    account = Account(cap * most)
    wire.seen.clear()
    charged = [name for script in scripts for name in script if name in MAY_BE_CHARGED]
    wire.script.clear()
    wire.then(*(BEHAVIOURS[name](wire) for script in scripts for name in script))
    wire.respond = lambda seen: wire.says("Fine.", input_tokens=6, output_tokens=100)
    policy = RetryPolicy(attempts=4, first_wait_seconds=0.001, longest_wait_seconds=0.002)

    async def crowd() -> list:
        client = new_client("compatible", policy=policy, run_budget=account.run_budget)
        try:
            calls = (client.reply(replace(QUESTION)) for _ in scripts)
            return await asyncio.gather(*calls, return_exceptions=True)
        finally:
            await client.close()

    results = asyncio.run(crowd())

    failed = [attempt for result in results for attempt in result.failed_attempts]
    may_be = sum(attempt.cost_at_most_usd for attempt in failed)
    replies = sum(result.cost_usd for result in results if isinstance(result, ModelReply))
    assert account.spent_usd == pytest.approx(may_be + replies)
    assert account.spent_usd <= account.cap * (1 + 1e-9)
    assert may_be <= len(charged) * most * (1 + 1e-9)
