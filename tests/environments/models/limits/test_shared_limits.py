"""Provider limits and money, dealt out to the workers of a run."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from environments.models.limits.coordinator import Coordinator, Report
from environments.models.limits.rates import START_CONCURRENCY
from environments.models.limits.shared_limits import (
    FORGOTTEN_AFTER_SECONDS,
    Demand,
    Share,
    divide,
)
from environments.models.money.shared_budget import MoneyAnswer, MoneyReport
from taskdata.schema.ceilings import Ceilings


def wants(worker: str, **calls: int) -> Report:
    demands = {name: Demand(calls=count) for name, count in calls.items()}
    return Report(worker=worker, demands=demands)


def money(coordinator: Coordinator, worker: str, now: float = 0.0, **money) -> MoneyAnswer:
    """Have a worker report its money."""
    report = Report(worker=worker, money=MoneyReport(**money))
    return coordinator.exchange(report, now).money


def say(coordinator: Coordinator, worker: str, now: float = 0.0, **want) -> Share:
    """Have a worker speak of one provider; return its share."""
    report = Report(worker=worker, demands={"openai": Demand(**({"calls": 100} | want))})
    return coordinator.exchange(report, now).shares["openai"]


def test_a_pause_is_passed_on_to_the_others_for_the_same_provider():
    coordinator = Coordinator()
    say(coordinator, "a", 0.0, pause_seconds=9)
    share = coordinator.exchange(wants("b", openai=1, anthropic=1), 2.0).shares
    assert share["openai"].pause_seconds == pytest.approx(7)
    assert share["anthropic"].pause_seconds == 0


def test_there_is_one_window_which_grows_by_what_all_workers_learn():
    coordinator = Coordinator()
    assert say(coordinator, "a").slots == START_CONCURRENCY
    say(coordinator, "b")
    say(coordinator, "a", answers=6)
    both = [say(coordinator, "b", answers=8), say(coordinator, "a")]
    assert both[1].window.size == START_CONCURRENCY + 14
    assert sum(share.slots for share in both) == START_CONCURRENCY + 14


def test_a_burst_of_refusals_that_several_workers_meet_is_one_decrease():
    coordinator = Coordinator()
    for name in ("a", "b", "c"):
        say(coordinator, name, answers=16)
    shares = [say(coordinator, name, refused=0) for name in ("a", "b", "c")]
    assert [share.window.size for share in shares] == [32, 32, 32]
    assert say(coordinator, "b", refused=1).window.size == 16, "the next burst is another"


def test_a_worker_that_joins_begins_with_its_share_of_what_is_known():
    coordinator = Coordinator()
    say(coordinator, "old", answers=184)
    assert say(coordinator, "new").slots == 0, "no slot is given twice"
    assert say(coordinator, "old").slots == 100
    assert say(coordinator, "new").slots == 100


def test_slots_follow_what_is_wanted():
    coordinator = Coordinator({"openai": Ceilings(concurrency=10)})
    assert coordinator.exchange(wants("busy", openai=30), 0.0).shares["openai"].slots == 10
    for now in (0.1, 0.2):
        quiet = coordinator.exchange(wants("quiet", openai=1), now).shares["openai"]
        busy = coordinator.exchange(wants("busy", openai=30), now).shares["openai"]
    assert (busy.slots, quiet.slots) == (9, 1)


def test_a_slot_is_given_on_when_its_call_has_ended():
    coordinator = Coordinator({"openai": Ceilings(concurrency=2)})

    def slots(worker: str, calls: int, in_flight: int) -> int | None:
        return say(coordinator, worker, calls=calls, in_flight=in_flight).slots

    assert slots("first", 5, 0) == 2
    assert slots("second", 5, 0) == 0
    assert slots("first", 5, 2) == 1
    assert slots("second", 5, 0) == 0
    assert slots("first", 4, 1) == 1
    assert slots("second", 5, 0) == 1


def test_rates_are_split_and_never_exceeded_together():
    coordinator = Coordinator({"openai": Ceilings(requests_per_minute=60, tokens_per_minute=9000)})
    coordinator.exchange(wants("a", openai=1), 0.0)
    coordinator.exchange(wants("b", openai=2), 0.0)
    a = coordinator.exchange(wants("a", openai=1), 0.1).shares["openai"]
    b = coordinator.exchange(wants("b", openai=2), 0.1).shares["openai"]
    assert (a.ceilings.requests_per_minute, a.ceilings.tokens_per_minute) == (60, 9000)
    assert a.part + b.part == pytest.approx(1.0)
    assert b.part > a.part


def test_with_fewer_slots_than_workers_each_gets_its_turn_and_never_two_at_once():
    coordinator = Coordinator({"openai": Ceilings(concurrency=1)})
    names, turns, in_flight = ["a", "b", "c"], dict.fromkeys("abc", 0), dict.fromkeys("abc", 0)
    for step in range(400):
        for name in names:
            slots = say(coordinator, name, step * 0.25, calls=5, in_flight=in_flight[name]).slots
            # A call takes three looks; a new one begins only where there is a slot for it.
            in_flight[name] = 1 if (in_flight[name] and step % 3) or slots else 0
            turns[name] += in_flight[name]
        assert sum(in_flight.values()) <= 1
    assert min(turns.values()) > 60


def test_a_silent_worker_loses_its_share_and_what_it_held_counts_as_spent():
    coordinator = Coordinator({"openai": Ceilings(concurrency=4)}, max_usd=10.0)
    coordinator.exchange(wants("gone", openai=9), 0.0)
    assert money(coordinator, "gone", spent_usd=1.0, waiting_usd=(2.0,)).granted == 1
    later = FORGOTTEN_AFTER_SECONDS + 1
    assert coordinator.exchange(wants("left", openai=9), later).shares["openai"].slots == 4
    assert coordinator.spent_usd == pytest.approx(3.0)


def test_money_is_granted_in_order_while_it_fits():
    coordinator = Coordinator(max_usd=1.0, spent_usd=0.2)
    answer = money(coordinator, "a", 0.0, waiting_usd=(0.3, 0.3, 0.3))
    assert (answer.granted, answer.is_refused) == (2, False)


def test_a_call_that_may_cost_more_than_is_left_is_refused():
    coordinator = Coordinator(max_usd=1.0)
    answer = money(coordinator, "a", 0.0, spent_usd=0.5, waiting_usd=(0.6,))
    assert (answer.granted, answer.is_refused) == (0, True)


def test_a_call_waits_while_others_hold_what_it_needs():
    coordinator = Coordinator(max_usd=1.0)
    money(coordinator, "a", 0.0, waiting_usd=(0.8,))
    waiting = money(coordinator, "b", 0.1, waiting_usd=(0.5,))
    assert (waiting.granted, waiting.is_refused) == (0, False)
    money(coordinator, "a", 0.2, spent_usd=0.1)
    assert money(coordinator, "b", 0.3, waiting_usd=(0.5,)).granted == 1


def test_a_word_that_is_repeated_counts_once():
    coordinator = Coordinator(max_usd=1.0)
    for _ in range(3):
        money(coordinator, "a", 0.0, spent_usd=0.4)
    assert coordinator.spent_usd == pytest.approx(0.4)


@given(
    st.integers(1, 200),
    st.dictionaries(st.text(min_size=1, max_size=3), st.integers(1, 500), min_size=1, max_size=20),
)
def test_every_slot_is_given_and_nobody_goes_without(more, wanting):
    slots = len(wanting) + more
    dealt = divide(slots, wanting, 0)
    assert sum(dealt.values()) == slots
    assert min(dealt.values()) >= 1


@given(st.lists(st.tuples(st.sampled_from("abc"), st.floats(0.01, 0.5), st.floats(0, 1))))
def test_no_order_of_calls_spends_more_than_the_cap(calls):
    """Each call is asked for, made if granted, and costs a part of what it could have."""
    coordinator = Coordinator(max_usd=2.0)
    spent = dict.fromkeys("abc", 0.0)
    for name, bound, part in calls:
        if money(coordinator, name, spent_usd=spent[name], waiting_usd=(bound,)).granted:
            spent[name] += bound * part
        money(coordinator, name, 0.0, spent_usd=spent[name])
    assert sum(spent.values()) <= 2.0 + 1e-9


def test_a_worker_that_was_quiet_for_long_counts_once_when_it_speaks_again():
    coordinator = Coordinator(max_usd=10.0)
    money(coordinator, "a", 0.0, spent_usd=4.0, reserved_usd=1.0)
    money(coordinator, "b", FORGOTTEN_AFTER_SECONDS + 1)
    assert coordinator.spent_usd == pytest.approx(5.0)
    money(coordinator, "a", FORGOTTEN_AFTER_SECONDS + 2, spent_usd=4.5)
    assert coordinator.spent_usd == pytest.approx(4.5)
