"""Provider limits and money, dealt out to the workers of a run."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from environments.models.limits.coordinator import Coordinator, Word
from environments.models.limits.seam import Allowance, Share, Want
from environments.models.limits.shares import FORGOTTEN_AFTER_SECONDS, deal
from environments.models.limits.window import START_CONCURRENCY, Window
from taskdata.schema.ceilings import Ceilings


def wants(worker: str, **calls: int) -> Word:
    return Word(worker=worker, wants={name: Want(calls=count) for name, count in calls.items()})


def say(coordinator: Coordinator, worker: str, now: float = 0.0, **want) -> Share:
    """Have a worker speak of one provider; return its share."""
    word = Word(worker=worker, wants={"openai": Want(**({"calls": 100} | want))})
    return coordinator.exchange(word, now).shares["openai"]


def test_a_pause_is_passed_on_to_the_others_for_the_same_provider():
    coordinator = Coordinator()
    say(coordinator, "a", 0.0, pause_seconds=9)
    share = coordinator.exchange(wants("b", openai=1, anthropic=1), 2.0).shares
    assert share["openai"].pause_seconds == pytest.approx(7)
    assert share["anthropic"].pause_seconds == 0


def test_there_is_one_window_which_grows_by_what_all_workers_learn():
    coordinator = Coordinator()
    assert say(coordinator, "a").concurrency == START_CONCURRENCY
    say(coordinator, "b")
    say(coordinator, "a", answers=6)
    both = [say(coordinator, "b", answers=8), say(coordinator, "a")]
    assert both[1].window.size == START_CONCURRENCY + 14
    assert sum(share.concurrency for share in both) == START_CONCURRENCY + 14


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
    assert say(coordinator, "new").concurrency == 0, "no slot is given twice"
    assert say(coordinator, "old").concurrency == 100
    assert say(coordinator, "new").concurrency == 100


def test_what_was_known_outlives_the_coordinator():
    known = Window(size=80, is_starting=False, decreases=5)
    share = say(Coordinator(), "a", window=known)
    assert (share.concurrency, share.window) == (80, known)
    capped = Coordinator({"openai": Ceilings(concurrency=20)})
    assert say(capped, "a", window=known).concurrency == 20


def test_what_a_provider_says_is_left_is_told_to_those_it_was_not_said_to():
    coordinator = Coordinator()
    say(coordinator, "a", 0.0)
    say(coordinator, "b", 0.0)
    left = Allowance(limit=60, remaining=10, reset_seconds=50.0)
    assert say(coordinator, "a", 1.0, requests=left).requests is None
    told = say(coordinator, "b", 11.0).requests
    assert told == Allowance(limit=60, remaining=20, reset_seconds=40.0)
    assert say(coordinator, "b", 12.0).requests is None, "it knows"
    assert say(coordinator, "new", 25.0).requests.remaining == pytest.approx(34)


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
    assert (a.requests_per_minute, a.tokens_per_minute) == (60, 9000)
    assert a.part + b.part == pytest.approx(1.0)
    assert b.part > a.part


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
