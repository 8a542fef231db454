"""Provider limits and money, dealt out to the workers of a run."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from environments.models.limits.coordinator import (
    FORGOTTEN_AFTER_SECONDS,
    Coordinator,
    Word,
    deal,
)
from environments.models.limits.seam import Want
from taskdata.schema.ceilings import Ceilings


def wants(worker: str, **calls: int) -> Word:
    return Word(worker=worker, wants={name: Want(calls=count) for name, count in calls.items()})


def test_without_configured_limits_a_worker_is_only_told_of_pauses():
    coordinator = Coordinator()
    coordinator.exchange(Word(worker="a", wants={"openai": Want(calls=3, pause_seconds=9)}), 0.0)
    share = coordinator.exchange(wants("b", openai=1, anthropic=1), 2.0).shares
    assert share["openai"].concurrency is None
    assert share["openai"].pause_seconds == pytest.approx(7)
    assert share["anthropic"].pause_seconds == 0


def test_slots_follow_what_is_wanted():
    coordinator = Coordinator({"openai": Ceilings(concurrency=10)})
    assert coordinator.exchange(wants("busy", openai=30), 0.0).shares["openai"].concurrency == 10
    for now in (0.1, 0.2):
        quiet = coordinator.exchange(wants("quiet", openai=1), now).shares["openai"]
        busy = coordinator.exchange(wants("busy", openai=30), now).shares["openai"]
    assert (busy.concurrency, quiet.concurrency) == (9, 1)


def test_a_slot_is_given_on_when_its_call_has_ended():
    coordinator = Coordinator({"openai": Ceilings(concurrency=2)})

    def slots(worker: str, calls: int, in_flight: int) -> int | None:
        want = Want(calls=calls, in_flight=in_flight)
        word = Word(worker=worker, wants={"openai": want})
        return coordinator.exchange(word, 0.0).shares["openai"].concurrency

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
    assert (a.requests_per_minute, b.requests_per_minute) == pytest.approx((20, 40))
    assert (a.tokens_per_minute, b.tokens_per_minute) == pytest.approx((3000, 6000))


def test_with_fewer_slots_than_workers_each_gets_its_turn_and_never_two_at_once():
    coordinator = Coordinator({"openai": Ceilings(concurrency=1)})
    names, turns, in_flight = ["a", "b", "c"], dict.fromkeys("abc", 0), dict.fromkeys("abc", 0)
    for step in range(400):
        for name in names:
            want = Want(calls=5, in_flight=in_flight[name])
            word = Word(worker=name, wants={"openai": want})
            slots = coordinator.exchange(word, step * 0.25).shares["openai"].concurrency
            # A call takes three looks; a new one begins only where there is a slot for it.
            in_flight[name] = 1 if (in_flight[name] and step % 3) or slots else 0
            turns[name] += in_flight[name]
        assert sum(in_flight.values()) <= 1
    assert min(turns.values()) > 60


def test_a_silent_worker_loses_its_share_and_what_it_held_counts_as_spent():
    coordinator = Coordinator({"openai": Ceilings(concurrency=4)}, max_usd=10.0)
    gone = Word(worker="gone", wants={"openai": Want(calls=9)}, spent_usd=1.0, asks_usd=(2.0,))
    assert coordinator.exchange(gone, 0.0).granted == 1
    later = FORGOTTEN_AFTER_SECONDS + 1
    assert coordinator.exchange(wants("left", openai=9), later).shares["openai"].concurrency == 4
    assert coordinator.spent_usd == pytest.approx(3.0)


def test_money_is_granted_in_order_while_it_fits():
    coordinator = Coordinator(max_usd=1.0, spent_usd=0.2)
    answer = coordinator.exchange(Word(worker="a", asks_usd=(0.3, 0.3, 0.3)), 0.0)
    assert (answer.granted, answer.refused) == (2, False)


def test_a_call_that_may_cost_more_than_is_left_is_refused():
    coordinator = Coordinator(max_usd=1.0)
    answer = coordinator.exchange(Word(worker="a", spent_usd=0.5, asks_usd=(0.6,)), 0.0)
    assert (answer.granted, answer.refused) == (0, True)


def test_a_call_waits_while_others_hold_what_it_needs():
    coordinator = Coordinator(max_usd=1.0)
    coordinator.exchange(Word(worker="a", asks_usd=(0.8,)), 0.0)
    waiting = coordinator.exchange(Word(worker="b", asks_usd=(0.5,)), 0.1)
    assert (waiting.granted, waiting.refused) == (0, False)
    coordinator.exchange(Word(worker="a", spent_usd=0.1), 0.2)
    assert coordinator.exchange(Word(worker="b", asks_usd=(0.5,)), 0.3).granted == 1


def test_a_word_that_is_repeated_counts_once():
    coordinator = Coordinator(max_usd=1.0)
    for _ in range(3):
        coordinator.exchange(Word(worker="a", spent_usd=0.4), 0.0)
    assert coordinator.spent_usd == pytest.approx(0.4)


@given(
    st.integers(1, 200),
    st.dictionaries(st.text(min_size=1, max_size=3), st.integers(0, 500), min_size=1, max_size=20),
)
def test_every_slot_is_dealt_and_nobody_goes_without(more, wanting):
    slots = len(wanting) + more
    dealt = deal(slots, wanting)
    assert sum(dealt.values()) == slots
    assert min(dealt.values()) >= 1


@given(st.lists(st.tuples(st.sampled_from("abc"), st.floats(0.01, 0.5), st.floats(0, 1))))
def test_no_order_of_calls_spends_more_than_the_cap(calls):
    """Each call is asked for, made if granted, and costs a part of what it could have."""
    coordinator = Coordinator(max_usd=2.0)
    spent = dict.fromkeys("abc", 0.0)
    for name, bound, part in calls:
        word = Word(worker=name, spent_usd=spent[name], asks_usd=(bound,))
        if coordinator.exchange(word, 0.0).granted:
            spent[name] += bound * part
        coordinator.exchange(Word(worker=name, spent_usd=spent[name]), 0.0)
    assert sum(spent.values()) <= 2.0 + 1e-9


def test_a_worker_that_was_quiet_for_long_counts_once_when_it_speaks_again():
    coordinator = Coordinator(max_usd=10.0)
    coordinator.exchange(Word(worker="a", spent_usd=4.0, held_usd=1.0), 0.0)
    coordinator.exchange(Word(worker="b"), FORGOTTEN_AFTER_SECONDS + 1)
    assert coordinator.spent_usd == pytest.approx(5.0)
    coordinator.exchange(Word(worker="a", spent_usd=4.5), FORGOTTEN_AFTER_SECONDS + 2)
    assert coordinator.spent_usd == pytest.approx(4.5)
