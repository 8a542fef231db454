"""When a call may start, decided over made-up time."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from environments.models.limits.governor import (
    LONGEST_PAUSE_SECONDS,
    START_CONCURRENCY,
    Bucket,
    Ceilings,
    Governor,
)
from environments.models.limits.seam import Allowance, Outcome

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
