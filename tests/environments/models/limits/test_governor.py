"""When a call may start, decided over made-up time."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from environments.models.limits.governor import (
    LONGEST_PAUSE_SECONDS,
    Bucket,
    Ceilings,
    Governor,
)
from environments.models.limits.seam import Allowance, Outcome, Share
from environments.models.limits.window import START_CONCURRENCY, Window

OK = Outcome(kind="ok")
LIMITED = Outcome(kind="limited")


def fill(governor: Governor, now: float) -> int:
    """Start calls until one would have to wait; return how many were started."""
    started = 0
    while governor.wait(1, now) == 0:
        governor.start(1, now)
        started += 1
    return started


def finish(governor: Governor, count: int, outcome: Outcome | None, started: float, now: float):
    for _ in range(count):
        governor.end(1, started, outcome, now)


def test_it_starts_low_and_doubles_until_the_provider_says_no():
    governor, widths = Governor(Ceilings(), 0.0), []
    for second in range(4):
        started = fill(governor, float(second))
        widths.append(started)
        finish(governor, started, OK, float(second), second + 0.5)

    assert widths == [START_CONCURRENCY * factor for factor in (1, 2, 4, 8)]


def test_a_refusal_halves_it_once_for_all_that_were_under_way():
    governor = Governor(Ceilings(), 0.0)
    started = fill(governor, 0.0)
    finish(governor, started, LIMITED, 0.0, 1.0)

    assert governor.concurrency == started // 2
    assert governor.wait(1, 1.0) == pytest.approx(0.5), "nobody asked for a pause, so a short one"


def test_after_a_refusal_it_grows_by_one_for_a_window_of_answers():
    governor = Governor(Ceilings(), 0.0)
    finish(governor, fill(governor, 0.0), LIMITED, 0.0, 0.0)
    before, now = governor.concurrency, 10.0
    for _ in range(3):
        finish(governor, fill(governor, now), OK, now, now + 1)
        now += 2

    assert before + 2 <= governor.concurrency <= before + 3


def test_it_does_not_grow_on_calls_that_did_not_need_it():
    governor = Governor(Ceilings(), 0.0)
    for now in range(100):
        governor.start(1, float(now))
        governor.end(1, float(now), OK, now + 0.5)

    assert governor.concurrency == START_CONCURRENCY


def test_a_fault_of_the_server_is_no_reason_to_slow_down():
    governor = Governor(Ceilings(), 0.0)
    finish(governor, fill(governor, 0.0), Outcome(kind="fault"), 0.0, 1.0)

    assert governor.concurrency == START_CONCURRENCY
    assert governor.wait(1, 1.0) == 0


def test_retry_after_holds_every_call_back():
    governor = Governor(Ceilings(), 0.0)
    governor.start(1, 0.0)
    governor.end(1, 0.0, Outcome(kind="limited", retry_after_seconds=7.0), 1.0)

    assert governor.wait(1, 1.0) == pytest.approx(7.0)
    assert governor.wait(1, 8.0) == 0


def test_a_long_retry_after_is_honoured_up_to_a_quarter_of_an_hour():
    for asked, kept in ((300.0, 300.0), (86_400.0, LONGEST_PAUSE_SECONDS)):
        governor = Governor(Ceilings(), 0.0)
        governor.start(1, 0.0)
        governor.end(1, 0.0, Outcome(kind="limited", retry_after_seconds=asked), 0.0)

        assert governor.wait(1, 0.0) == pytest.approx(kept)


def test_a_provider_that_refuses_without_a_word_is_asked_again_within_a_minute():
    governor, now = Governor(Ceilings(), 0.0), 0.0
    for _ in range(20):
        now += governor.wait(1, now)
        governor.start(1, now)
        governor.end(1, now, LIMITED, now + 0.1)
        now += 0.1

    assert governor.wait(1, now) == pytest.approx(60.0)


def test_the_configured_concurrency_is_never_exceeded():
    governor = Governor(Ceilings(concurrency=3), 0.0)
    for now in range(10):
        assert fill(governor, float(now)) == 3
        finish(governor, 3, OK, float(now), now + 0.5)


def test_what_the_provider_says_is_left_is_spread_over_its_reset():
    governor = Governor(Ceilings(), 0.0)
    governor.start(1, 0.0)
    left = Allowance(limit=60, remaining=2, reset_seconds=58.0)
    governor.end(1, 0.0, Outcome(kind="ok", requests=left), 0.0)

    assert fill(governor, 0.0) == 2
    assert governor.wait(1, 0.0) == pytest.approx(1.0)
    assert fill(governor, 3.0) == 3


def test_tokens_that_were_not_used_are_given_back():
    governor = Governor(Ceilings(tokens_per_minute=6000), 0.0)
    governor.start(600, 0.0)
    assert governor.wait(600, 0.0) > 0
    governor.end(600, 0.0, Outcome(kind="ok", tokens=0), 0.0)

    assert governor.wait(600, 0.0) == 0


def test_a_call_larger_than_a_minute_of_tokens_still_gets_its_turn():
    governor = Governor(Ceilings(tokens_per_minute=100), 0.0)

    assert governor.wait(1_000_000, 0.0) == 0


def dealt(concurrency: int, **told) -> Share:
    return Share(concurrency=concurrency, **told)


def test_a_share_is_kept_to_from_the_first_call_on_without_a_search_of_its_own():
    governor = Governor(Ceilings(), 0.0)
    governor.wait_for_share()
    assert governor.wait(1, 0.0) == math.inf
    governor.deal(dealt(50, window=Window(size=100)), 0.0)

    assert fill(governor, 0.0) == 50


def test_a_share_does_not_grow_by_itself_but_what_was_learned_is_told_once():
    governor = Governor(Ceilings(), 0.0)
    governor.deal(dealt(4), 0.0)
    finish(governor, fill(governor, 0.0), OK, 0.0, 0.2)
    assert governor.concurrency == 4
    told = governor.want(7, 0.2)
    assert (told.calls, told.answers) == (7, 4)
    governor.start(1, 0.2)
    governor.deal(dealt(8), 0.2, told)

    assert governor.want(0, 0.2).answers == 0


def test_a_refusal_halves_a_share_at_once_even_if_the_next_one_is_under_way():
    governor = Governor(Ceilings(), 0.0)
    governor.deal(dealt(40, window=Window(decreases=3)), 0.0)
    crossing = governor.want(9, 0.1)
    governor.start(1, 0.1)
    assert governor.end(1, 0.1, LIMITED, 0.2), "the coordinator should know at once"
    assert governor.concurrency == 20
    governor.deal(dealt(44, window=Window(decreases=3)), 0.3, crossing)
    assert governor.concurrency == 22, "dealt before the coordinator knew"
    told = governor.want(9, 0.4)
    assert told.refused == 3
    governor.deal(dealt(22, window=Window(decreases=4)), 0.4, told)

    assert governor.concurrency == 22
    assert governor.want(9, 0.5).refused is None


def test_refusals_of_calls_from_before_the_others_decrease_are_no_news():
    governor = Governor(Ceilings(), 0.0)
    governor.deal(dealt(8), 0.0)
    started = fill(governor, 0.1)
    governor.deal(dealt(4, window=Window(decreases=1)), 0.2)
    finish(governor, started, LIMITED, 0.1, 0.3)

    assert governor.concurrency == 4
    assert governor.want(0, 0.3).refused is None


def test_a_halved_share_grows_back_to_what_was_dealt_when_nobody_answers():
    governor, now = Governor(Ceilings(), 0.0), 1.0
    governor.deal(dealt(8), 0.0)
    finish(governor, fill(governor, 0.0), LIMITED, 0.0, 0.5)
    assert governor.concurrency == 4
    for _ in range(20):
        now += 1
        finish(governor, fill(governor, now), OK, now, now + 0.5)

    assert governor.concurrency == 8


def test_a_worker_uses_its_part_of_what_the_provider_says_is_left():
    governor = Governor(Ceilings(), 0.0)
    left = Allowance(limit=60, remaining=20, reset_seconds=40.0)
    governor.deal(dealt(50, part=0.25, requests=left), 0.0)

    assert fill(governor, 0.0) == 5
    assert governor.wait(1, 0.0) == pytest.approx(4.0), "a quarter of one a second"


outcomes = st.one_of(
    st.none(),
    st.builds(
        Outcome,
        kind=st.sampled_from(["ok", "limited", "fault"]),
        tokens=st.none() | st.integers(0, 10**6),
        retry_after_seconds=st.none() | st.floats(0, 1e6),
        requests=st.none()
        | st.builds(
            Allowance,
            limit=st.floats(1, 1e6),
            remaining=st.floats(0, 1e6),
            reset_seconds=st.floats(0, 1e6),
        ),
    ),
)
steps = st.lists(st.tuples(st.sampled_from(["start", "end"]), outcomes, st.floats(0, 100)))


@given(steps, st.integers(1, 50))
def test_whatever_it_hears_it_keeps_to_its_width_and_never_freezes(steps, most):
    governor, now, running = Governor(Ceilings(concurrency=most), 0.0), 0.0, []
    for what, outcome, passed in steps:
        now += passed
        if what == "start" and governor.wait(10, now) == 0:
            governor.start(10, now)
            running.append(now)
        elif what == "end" and running:
            governor.end(10, running.pop(0), outcome, now)
        assert 1 <= governor.concurrency <= most
        assert governor.in_flight == len(running)
    while running:
        governor.end(10, running.pop(), None, now)

    wait = governor.wait(10, now)
    assert wait <= LONGEST_PAUSE_SECONDS + 1e-6
    assert governor.wait(10, now + wait + 1e-6) == 0


@given(st.floats(1, 1000), st.lists(st.floats(0, 30), max_size=30))
def test_no_minute_sees_more_than_its_rate_and_a_burst(per_minute, pauses):
    governor, now, starts = Governor(Ceilings(requests_per_minute=per_minute), 0.0), 0.0, []
    for pause in pauses:
        now += pause
        for _ in range(5):
            if governor.wait(0, now) == 0:
                governor.start(0, now)
                governor.end(0, now, None, now)
                starts.append(now)
    burst = max(1.0, per_minute / 10)
    for begin in starts:
        within = sum(begin <= at < begin + 60 for at in starts)
        assert within <= per_minute + burst + 1


@given(st.floats(1, 1e6), st.floats(0.01, 1e6), st.floats(0, 1e6))
def test_after_the_wait_a_bucket_has_what_was_asked_for(capacity, per_second, amount):
    bucket = Bucket(capacity, per_second, 0.0, 0.0)
    wait = bucket.wait(amount, 0.0)

    assert math.isfinite(wait)
    assert bucket.wait(amount, wait * (1 + 1e-9)) == pytest.approx(0.0, abs=1e-6)


shares = st.builds(
    Share,
    concurrency=st.integers(0, 40),
    part=st.floats(0.01, 1),
    requests_per_minute=st.none() | st.floats(1, 1e4),
    requests=st.none() | st.just(Allowance(limit=100, remaining=0, reset_seconds=3600)),
    pause_seconds=st.floats(0, 1e6),
    window=st.builds(Window, is_starting=st.booleans(), decreases=st.integers(0, 3)),
)
moves = st.lists(st.tuples(shares | st.just("start") | outcomes, st.floats(0, 100)))


@settings(deadline=None)
@given(moves)
def test_whatever_it_is_dealt_it_keeps_to_it_and_calls_again_with_a_share(moves):
    """A move is a share, the start of a call, or the end of one."""
    governor, now, running, most = Governor(Ceilings(), 0.0), 0.0, [], 0
    governor.wait_for_share()
    for move, passed in moves:
        now += passed
        if isinstance(move, Share):
            governor.deal(move, now, governor.want(3, now))
            most = move.concurrency
        elif move != "start":
            if running:
                governor.end(10, running.pop(0), move, now)
        elif governor.wait(10, now) == 0:
            governor.start(10, now)
            running.append(now)
            assert len(running) <= most
        assert governor.concurrency <= most
    while running:
        governor.end(10, running.pop(), None, now)
    governor.deal(Share(concurrency=1), now)

    assert governor.wait(10, now + LONGEST_PAUSE_SECONDS) == 0
