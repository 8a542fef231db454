from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quality.statistics.passk import mean_pass_at_k, mean_pass_hat_k, pass_at_k, pass_hat_k

OUTCOMES = st.lists(st.booleans(), min_size=1, max_size=7)


@settings(deadline=None)
@given(OUTCOMES, st.integers(1, 7))
def test_both_are_the_average_over_every_choice_of_k_repetitions(outcomes: list[bool], k: int):
    trials, successes = len(outcomes), sum(outcomes)
    if k > trials:
        assert pass_at_k(trials, successes, k) is None
        assert pass_hat_k(trials, successes, k) is None
        return

    choices = list(combinations(outcomes, k))

    any_succeeds = sum(any(c) for c in choices) / len(choices)
    all_succeed = sum(all(c) for c in choices) / len(choices)
    assert pass_at_k(trials, successes, k) == pytest.approx(any_succeeds)
    assert pass_hat_k(trials, successes, k) == pytest.approx(all_succeed)


def test_with_k_one_both_are_the_success_rate():
    assert pass_at_k(5, 2, 1) == pytest.approx(0.4)
    assert pass_hat_k(5, 2, 1) == pytest.approx(0.4)


def test_the_mean_over_tasks_leaves_out_tasks_with_too_few_repetitions():
    outcomes = {"a": [True, False, False], "b": [True, True, True], "c": [True]}

    at_two, hat_two = mean_pass_at_k(outcomes, 2), mean_pass_hat_k(outcomes, 2)

    assert at_two.mean == pytest.approx((2 / 3 + 1) / 2)
    assert hat_two.mean == pytest.approx((0 + 1) / 2)
    assert at_two.n == 2
    assert 0 <= at_two.ci95[0] <= at_two.ci95[1] <= 1
    assert mean_pass_at_k(outcomes, 4).mean is None
