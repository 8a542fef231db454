"""When a call may start in one process, over made-up time."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from environments.models.limits.protocols import Allowance, Outcome
from environments.models.limits.provider_limits import ProviderLimits
from environments.models.limits.rates import (
    LONGEST_PAUSE_SECONDS,
    START_CONCURRENCY,
    AimdWindow,
)
from environments.models.limits.shared_limits import Share, SharedLimits
from taskdata.schema.ceilings import Ceilings

OK = Outcome(kind="ok")
LIMITED = Outcome(kind="limited")


class Process(ProviderLimits):
    """The limits of a process that reports each end of a call, and is alone."""

    def __init__(self, ceilings: Ceilings) -> None:
        super().__init__(0.0)
        self.ceilings = {"p": ceilings}
        self.shared = SharedLimits()
        self.agree(0.0)

    def agree(self, now: float) -> None:
        told = self.demand(100, now)
        share = self.shared.shares("w", {"p": told}, self.ceilings, now)["p"]
        self.keep_to(share, told, now)

    def fill(self, now: float, tokens: int = 1) -> list[int]:
        """Start calls until one would have to wait; return their windows."""
        started = []
        while self.wait(tokens, now) == 0:
            started.append(self.start(tokens, now))
        return started

    def finish(self, started: list[int], outcome: Outcome | None, now: float) -> None:
        for decreases in started:
            self.end(1, decreases, outcome, now)
            self.agree(now)


@pytest.fixture
def process():
    """Make a process whose run has such limits."""
    return lambda **limits: Process(Ceilings(**limits))


def test_it_starts_low_and_doubles_until_the_provider_says_no(process):
    process, widths = process(), []
    for second in range(4):
        started = process.fill(second)
        widths.append(len(started))
        # The next call starts as soon as one has ended.
        for decreases in started:
            process.finish([decreases], OK, second + 0.5)
            process.fill(second + 0.5)
        process.finish([0] * process.in_flight, None, second + 0.6)

    assert widths == [START_CONCURRENCY * factor for factor in (1, 2, 4, 8)]


def test_after_a_refusal_it_grows_by_one_for_a_window_of_answers(process):
    process, now = process(), 10.0
    process.finish(process.fill(0.0), LIMITED, 0.0)
    before = process.share.slots
    for _ in range(3):
        for decreases in process.fill(now):
            process.finish([decreases], OK, now + 1)
            process.fill(now + 1)
        process.finish([1] * process.in_flight, None, now + 1)
        now += 2

    assert before + 2 <= process.share.slots <= before + 3


def test_a_refusal_halves_it_once_for_all_that_were_under_way(process):
    process = process()
    started = process.fill(0.0)
    process.finish(started, LIMITED, 1.0)

    assert process.share.slots == len(started) // 2
    assert process.wait(1, 1.0) == pytest.approx(0.5), "nobody asked for a pause, so a short one"


def test_it_does_not_grow_on_calls_that_did_not_need_it(process):
    process = process()
    for now in range(100):
        process.finish([process.start(1, now)], OK, now + 0.5)

    assert process.share.slots == START_CONCURRENCY


def test_a_fault_of_the_server_is_no_reason_to_slow_down(process):
    process = process()
    process.finish(process.fill(0.0), Outcome(kind="fault"), 1.0)

    assert process.share.slots == START_CONCURRENCY
    assert process.wait(1, 1.0) == 0


def test_retry_after_holds_every_call_back(process):
    process = process()
    limited = Outcome(kind="limited", retry_after_seconds=7.0)
    process.finish([process.start(1, 0.0)], limited, 1.0)

    assert process.wait(1, 1.0) == pytest.approx(7.0)
    assert process.wait(1, 8.0) == 0


def test_a_long_retry_after_is_honoured_up_to_a_quarter_of_an_hour(process):
    for asked, kept in ((300.0, 300.0), (86_400.0, LONGEST_PAUSE_SECONDS)):
        one = process()
        one.finish([one.start(1, 0.0)], Outcome(kind="limited", retry_after_seconds=asked), 0.0)

        assert one.wait(1, 0.0) == pytest.approx(kept)


def test_a_provider_that_refuses_without_a_word_is_asked_again_within_a_minute(process):
    process, now = process(), 0.0
    for _ in range(20):
        now += process.wait(1, now)
        process.finish([process.start(1, now)], LIMITED, now)

    assert process.wait(1, now) == pytest.approx(60.0)


def test_the_configured_concurrency_is_never_exceeded(process):
    process = process(concurrency=3)
    for now in range(10):
        started = process.fill(now)
        assert len(started) == 3
        process.finish(started, OK, now + 0.5)


def test_what_the_provider_says_is_left_is_spread_over_its_reset(process):
    process = process()
    left = Allowance(limit=60, remaining=2, reset_seconds=58.0)
    process.finish([process.start(1, 0.0)], Outcome(kind="ok", requests=left), 0.0)

    assert len(process.fill(0.0)) == 2
    assert process.wait(1, 0.0) == pytest.approx(1.0)
    assert len(process.fill(3.0)) == 3


def test_tokens_that_were_not_used_are_given_back(process):
    process = process(tokens_per_minute=6000)
    decreases = process.start(600, 0.0)
    assert process.wait(600, 0.0) > 0
    process.end(600, decreases, Outcome(kind="ok", tokens=0), 0.0)

    assert process.wait(600, 0.0) == 0


def test_a_call_larger_than_a_minute_of_tokens_still_gets_its_turn(process):
    assert process(tokens_per_minute=100).wait(1_000_000, 0.0) == 0


def test_no_call_starts_before_the_first_share():
    limits = ProviderLimits(0.0)
    assert limits.wait(1, 0.0) == math.inf
    limits.keep_to(Share(slots=1), limits.demand(1, 0.0), 0.0)

    assert limits.wait(1, 0.0) == 0


def test_what_was_learned_is_told_once_and_what_came_meanwhile_the_next_time():
    limits = ProviderLimits(0.0)
    share = Share(slots=2)
    limits.keep_to(share, limits.demand(0, 0.0), 0.0)
    limits.end(1, limits.start(1, 0.0), OK, 0.2)
    for _ in "ab":
        limits.start(1, 0.2)
    limits.end(1, 0, OK, 0.3)
    told = limits.demand(7, 0.4)
    assert (told.calls, told.in_flight, told.answers) == (8, 1, 1)
    limits.start(1, 0.4)
    limits.end(1, 0, OK, 0.4)
    limits.keep_to(share, told, 0.5)

    assert limits.demand(0, 0.5).answers == 1


def test_refusals_of_calls_from_before_the_others_decrease_are_no_news():
    limits = ProviderLimits(0.0)
    limits.keep_to(Share(slots=8), limits.demand(0, 0.0), 0.0)
    started = limits.start(1, 0.1)
    told = limits.demand(0, 0.2)
    limits.keep_to(Share(slots=4, window=AimdWindow(decreases=1)), told, 0.2)

    assert not limits.end(1, started, LIMITED, 0.3)
    assert limits.demand(0, 0.3).refused is None


def test_a_refusal_is_told_until_the_coordinator_has_acted_on_it():
    limits = ProviderLimits(0.0)
    limits.keep_to(Share(slots=8), limits.demand(0, 0.0), 0.0)
    started, crossing = limits.start(1, 0.1), limits.demand(0, 0.1)
    assert limits.end(1, started, LIMITED, 0.2), "the coordinator should know at once"
    limits.keep_to(Share(slots=9), crossing, 0.3)
    assert limits.demand(0, 0.3).refused == 0


def test_without_a_coordinator_each_refusal_makes_the_next_pause_longer():
    limits, now, pauses = ProviderLimits(0.0), 0.0, []
    limits.keep_to(Share(slots=8), limits.demand(0, 0.0), 0.0)
    for _ in range(4):
        limits.end(1, limits.start(1, now), LIMITED, now)
        pauses.append(limits.wait(1, now))
        now += pauses[-1]
    assert pauses == pytest.approx([0.5, 1.0, 2.0, 4.0])


def test_a_worker_uses_its_part_of_what_the_provider_says_is_left():
    limits = ProviderLimits(0.0)
    limits.keep_to(Share(slots=50, part=0.25), limits.demand(0, 0.0), 0.0)
    left = Allowance(limit=60, remaining=20, reset_seconds=40.0)
    limits.end(1, limits.start(1, 0.0), Outcome(kind="ok", requests=left), 0.0)
    for _ in range(5):
        assert limits.wait(1, 0.0) == 0
        limits.start(1, 0.0)

    assert limits.wait(1, 0.0) == pytest.approx(4.0), "a quarter of one a second"


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


@settings(deadline=None)
@given(steps, st.integers(1, 50))
def test_whatever_it_hears_it_keeps_to_its_width_and_never_freezes(steps, most):
    process, now, running = Process(Ceilings(concurrency=most)), 0.0, []
    for what, outcome, passed in steps:
        now += passed
        if what == "start" and process.wait(10, now) == 0:
            running.append(process.start(10, now))
        elif what == "end" and running:
            process.end(10, running.pop(0), outcome, now)
            process.agree(now)
        assert 1 <= process.share.slots <= most
        assert process.in_flight == len(running)
    process.finish(running, None, now)

    wait = process.wait(10, now)
    assert wait <= 2 * LONGEST_PAUSE_SECONDS + 1e-6
    assert process.wait(10, now + wait + 1e-6) == 0


@given(st.floats(1, 1000), st.lists(st.floats(0, 30), max_size=30))
def test_no_minute_sees_more_than_its_rate_and_a_burst(per_minute, pauses):
    process, now, starts = Process(Ceilings(requests_per_minute=per_minute)), 0.0, []
    for pause in pauses:
        now += pause
        for _ in range(5):
            if process.wait(0, now) == 0:
                process.end(0, process.start(0, now), None, now)
                starts.append(now)
    burst = max(1.0, per_minute / 10)
    for begin in starts:
        within = sum(begin <= at < begin + 60 for at in starts)
        assert within <= per_minute + burst + 1


shares = st.builds(
    Share,
    slots=st.integers(0, 40),
    part=st.floats(0.01, 1),
    ceilings=st.builds(Ceilings, requests_per_minute=st.none() | st.floats(1, 1e4)),
    pause_seconds=st.floats(0, 1e6),
    window=st.builds(AimdWindow, is_starting=st.booleans(), decreases=st.integers(0, 3)),
)
moves = st.lists(st.tuples(shares | st.just("start") | outcomes, st.floats(0, 100)))


@settings(deadline=None)
@given(moves)
def test_whatever_share_it_gets_it_keeps_to_it(moves):
    """A move is a share, the start of a call, or the end of one."""
    limits, now, running = ProviderLimits(0.0), 0.0, []
    for move, passed in moves:
        now += passed
        if isinstance(move, Share):
            limits.keep_to(move, limits.demand(3, now), now)
        elif move != "start":
            if running:
                limits.end(10, running.pop(0), move, now)
        elif limits.wait(10, now) == 0:
            running.append(limits.start(10, now))
            assert len(running) <= limits.share.slots
        assert limits.in_flight == len(running)
