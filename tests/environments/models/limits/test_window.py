"""The search for what a provider puts up with."""

from hypothesis import given
from hypothesis import strategies as st

from environments.models.limits.window import START_CONCURRENCY, Window


def test_it_doubles_with_a_window_of_answers_until_the_first_refusal():
    assert Window().grown(16, 1000).size == 2 * START_CONCURRENCY
    assert Window().grown(16, 1000).is_starting


def test_a_refusal_halves_it_and_from_there_it_grows_by_one():
    halved = Window(size=40).halved()
    assert (halved.size, halved.is_starting, halved.decreases) == (20, False, 1)
    assert halved.grown(20, 1000).size == 21


def test_a_configured_limit_ends_the_search():
    window = Window().grown(100, 50)
    assert (window.size, window.is_starting, window.decreases) == (50, False, 0)


@given(st.lists(st.integers(0, 200) | st.none(), max_size=50), st.integers(1, 300))
def test_it_stays_between_one_and_what_is_configured_and_recovers(steps, most):
    """A step is so many answers, or a refusal."""
    window = Window().within(most)
    for answers in steps:
        window = window.halved() if answers is None else window.grown(answers, most)
        assert 1 <= window.size <= most
    for _ in range(most):
        window = window.grown(int(window.size) + 1, most)
    assert window.size == most
