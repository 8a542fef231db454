import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from quality.statistics.intervals import clustered_mean, clustered_share, wilson

SCORES = st.lists(st.floats(0, 10), min_size=2, max_size=40)


def numbered(values: list) -> list[str]:
    return [f"task-{i}" for i in range(len(values))]


def test_with_one_trial_per_task_the_interval_is_the_ordinary_t_interval():
    values = [2.0, 4.5, 7.0, 9.0, 10.0]

    estimate = clustered_mean(values, numbered(values))

    expected = stats.t.interval(0.95, 4, loc=6.5, scale=stats.sem(values))
    assert estimate.mean == pytest.approx(6.5)
    assert estimate.ci95 == pytest.approx(expected)
    assert estimate.n == 5


def test_clustered_mean_by_hand():
    # Two tasks of two trials: residual sums are -3 and 3, SE = sqrt(2 * 18 / 16) = 1.5.
    estimate = clustered_mean([1.0, 2.0, 4.0, 5.0], ["a", "a", "b", "b"])

    assert estimate.mean == 3.0
    assert estimate.ci95 == pytest.approx((3 - 12.7062 * 1.5, 3 + 12.7062 * 1.5), abs=1e-3)


@settings(deadline=None)
@given(SCORES)
def test_repeating_every_trial_adds_no_certainty(values: list[float]):
    tasks = numbered(values)

    once, thrice = clustered_mean(values, tasks), clustered_mean(values * 3, tasks * 3)

    assert thrice.mean == pytest.approx(once.mean, abs=1e-9)
    assert thrice.ci95 == pytest.approx(once.ci95, abs=1e-6)


@settings(deadline=None)
@given(SCORES, st.integers(1, 5))
def test_the_interval_holds_the_mean_and_stays_in_range(values: list[float], tasks: int):
    estimate = clustered_mean(
        values, [f"t{i % (tasks + 1)}" for i in range(len(values))], lowest=0, highest=10
    )

    low, high = estimate.ci95
    assert 0 <= low <= estimate.mean + 1e-9
    assert estimate.mean - 1e-9 <= high <= 10


def test_below_two_tasks_there_is_no_interval():
    assert clustered_mean([1.0, 2.0], ["a", "a"]).ci95 is None
    assert clustered_share([True, False], ["a", "a"]).ci95 is None
    assert clustered_mean([], []).mean is None
    assert clustered_share([], []).n == 0


@pytest.mark.parametrize(("successes", "trials"), [(0, 12), (3, 12), (12, 12), (1, 2)])
def test_with_one_trial_per_task_a_share_has_wilsons_interval(successes: int, trials: int):
    outcomes = [i < successes for i in range(trials)]

    estimate = clustered_share(outcomes, numbered(outcomes))

    expected = stats.binomtest(successes, trials).proportion_ci(method="wilson")
    assert estimate.mean == successes / trials
    assert estimate.ci95 == pytest.approx((expected.low, expected.high), abs=1e-9)


def test_a_share_of_one_keeps_the_width_of_its_tasks_not_of_its_trials():
    tasks = ["a", "b", "c", "d"] * 5

    estimate = clustered_share([True] * 20, tasks)

    assert estimate.ci95 == pytest.approx(wilson(1.0, 4))
    assert estimate.ci95[0] < 0.6


def test_trials_that_agree_within_tasks_count_as_tasks():
    tasks = ["a", "a", "a", "b", "b", "b", "c", "c", "c", "d", "d", "d"]
    outcomes = [task in "ab" for task in tasks]

    assert clustered_share(outcomes, tasks).ci95 == pytest.approx(wilson(0.5, 4))


@settings(deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 6)), min_size=2, max_size=40))
def test_a_share_lies_inside_an_interval_of_positive_width(trials: list[tuple[bool, int]]):
    estimate = clustered_share([s for s, _ in trials], [f"t{t}" for _, t in trials])
    if estimate.ci95 is None:
        assert len({t for _, t in trials}) < 2
        return

    low, high = estimate.ci95
    assert 0 <= low <= estimate.mean <= high <= 1
    assert high - low > 0.01
    assert not math.isnan(low + high)
