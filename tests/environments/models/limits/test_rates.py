"""Token buckets, and the search for how many calls at a time a provider takes."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from environments.models.limits.protocols import Allowance
from environments.models.limits.rates import START_CONCURRENCY, AimdWindow, TokenBucket


def test_it_doubles_with_a_window_of_answers_until_the_first_refusal():
    assert AimdWindow().grown(16, 1000).size == 2 * START_CONCURRENCY
    assert AimdWindow().grown(16, 1000).is_starting


def test_a_refusal_halves_it_and_from_there_it_grows_by_one():
    halved = AimdWindow(size=40).halved()
    assert (halved.size, halved.is_starting, halved.decreases) == (20, False, 1)
    assert halved.grown(20, 1000).size == 21


def test_a_configured_limit_ends_the_search():
    window = AimdWindow().grown(100, 50)
    assert (window.size, window.is_starting, window.decreases) == (50, False, 0)


@given(st.lists(st.integers(0, 200) | st.none(), max_size=50), st.integers(1, 300))
def test_it_stays_between_one_and_what_is_configured_and_recovers(steps, most):
    """A step is so many answers, or a refusal."""
    window = AimdWindow().within(most)
    for answers in steps:
        window = window.halved() if answers is None else window.grown(answers, most)
        assert 1 <= window.size <= most
    for _ in range(most):
        window = window.grown(int(window.size) + 1, most)
    assert window.size == most


amounts = st.floats(0.01, 1e6)
allowances = st.builds(Allowance, limit=amounts, remaining=amounts, reset_seconds=st.floats(0, 1e6))


@given(st.none() | amounts, st.none() | allowances, st.floats(0, 1e6), st.floats(0, 1e6))
def test_after_the_wait_a_bucket_has_what_was_asked_for(per_minute, allowance, taken, amount):
    bucket = TokenBucket(per_minute, 0.0)
    if allowance is not None:
        bucket.hear(allowance, 0.0)
    bucket.take(taken, 0.0)
    wait = bucket.wait(amount, 0.0)

    assert math.isfinite(wait)
    assert bucket.wait(amount, wait * (1 + 1e-9)) == pytest.approx(0.0, abs=1e-6)


def test_a_bucket_is_unlimited_until_the_provider_tells_its_limit():
    bucket = TokenBucket(None, 0.0)
    bucket.take(1e9, 0.0)
    assert bucket.wait(1e9, 0.0) == 0
    bucket.hear(Allowance(limit=60, remaining=2, reset_seconds=58.0), 0.0)
    assert bucket.wait(2, 0.0) == 0
    assert bucket.wait(3, 0.0) == pytest.approx(1.0)


def test_what_a_provider_says_raises_no_configured_rate():
    bucket = TokenBucket(60, 0.0)
    bucket.take(6, 0.0)
    bucket.hear(Allowance(limit=6000, remaining=6000, reset_seconds=0.0), 0.0)
    assert bucket.wait(1, 0.0) == pytest.approx(1.0)
    bucket.hear(Allowance(limit=30, remaining=0, reset_seconds=60.0), 0.0)
    assert bucket.wait(1, 0.0) == pytest.approx(2.0), "but it lowers it"
