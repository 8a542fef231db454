"""Scores by category where categories have few tasks."""

from statistics import fmean

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quality.history.categories import METHOD, WIDEST, pooled_by_category

SCORES = st.lists(st.floats(0, 10), min_size=2, max_size=6)
CATEGORIES = st.dictionaries(st.sampled_from("abcdef"), SCORES, min_size=3)


def by_task(scores):
    return {name: {f"{name}{i}": [s] for i, s in enumerate(own)} for name, own in scores.items()}


@given(CATEGORIES)
def test_an_estimate_lies_within_the_scale_and_no_interval_spans_half_of_it(scores):
    for name, found in pooled_by_category(by_task(scores)).items():
        assert -1e-9 <= found.mean <= 10 + 1e-9
        assert found.method == METHOD
        assert found.n == len(scores[name])
        if found.ci95 is not None:
            low, high = found.ci95
            assert 0 <= low <= found.mean + 1e-9
            assert found.mean - 1e-9 <= high <= 10
            assert high - low <= WIDEST


@given(CATEGORIES)
def test_estimates_lie_between_the_least_and_the_largest_mean_of_a_category(scores):
    means = [fmean(own) for own in scores.values()]
    for found in pooled_by_category(by_task(scores)).values():
        assert min(means) - 1e-6 <= found.mean <= max(means) + 1e-6


def test_three_tasks_of_a_category_are_drawn_towards_the_others_and_forty_stay():
    random = np.random.default_rng(1)
    few = {n: list(np.clip(random.normal(6, 2, 3), 0, 10)) for n in "abcde"} | {
        "f": [0.5, 2.0, 3.5]
    }
    many = {n: list(np.clip(random.normal(6, 2, 40), 0, 10)) for n in "abcde"} | {"f": [2.0] * 40}
    pulled = pooled_by_category(by_task(few))["f"].mean
    assert pulled > 2.3
    assert pooled_by_category(by_task(many))["f"].mean == pytest.approx(2.0, abs=0.15)


def test_tasks_that_say_nothing_of_a_category_give_no_interval():
    scores = {name: [0.0, 10.0, 5.0] for name in "abc"}
    scores |= {"d": [0.0, 0.0, 10.0], "e": [10.0, 10.0, 0.0]}
    found = pooled_by_category(by_task(scores))
    assert all(one.ci95 is None or one.ci95[1] - one.ci95[0] <= WIDEST for one in found.values())


def test_nothing_is_estimated_from_two_categories_or_from_single_tasks():
    assert pooled_by_category(by_task({"a": [1.0, 2.0], "b": [3.0, 4.0]})) == {}
    assert pooled_by_category(by_task({name: [1.0] for name in "abcdef"})) == {}


def test_the_intervals_hold_the_true_means_about_as_often_as_they_say():
    random = np.random.default_rng(5)
    held = total = 0
    for _ in range(60):
        true = dict(zip("abcdef", random.normal(5, 0.8, 6), strict=True))
        scores = {n: list(random.normal(mean, 1.5, 4)) for n, mean in true.items()}
        for name, found in pooled_by_category(by_task(scores)).items():
            if found.ci95 is not None:
                total += 1
                held += found.ci95[0] <= true[name] <= found.ci95[1]
    assert total > 300
    assert 0.92 <= held / total <= 0.99
