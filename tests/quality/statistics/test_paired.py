import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from quality.statistics.paired import compare_by_task


def by_task(*scores: float) -> dict[str, list[float]]:
    return {f"t{i}": [score] for i, score in enumerate(scores)}


def test_the_difference_is_taken_task_by_task():
    compared = compare_by_task(by_task(2, 5, 9), by_task(4, 7, 10))

    differences = [2.0, 2.0, 1.0]
    expected = stats.t.interval(0.95, 2, loc=5 / 3, scale=stats.sem(differences))
    assert compared.tasks == 3
    assert compared.difference.mean == pytest.approx(5 / 3)
    assert compared.difference.ci95 == pytest.approx(expected)
    # Of the 8 ways to flip three signs, two are as extreme: as seen, and all flipped.
    assert compared.p_value == pytest.approx(2 / 8)


def test_repetitions_of_a_task_are_averaged_first():
    compared = compare_by_task({"a": [1, 3], "b": [5, 5, 5, 5]}, {"a": [4], "b": [5]})

    assert compared.difference.mean == pytest.approx((2 + 0) / 2)


def test_only_common_tasks_count():
    compared = compare_by_task({"a": [1.0], "b": [2.0], "c": []}, {"b": [3.0], "c": [1.0]})

    assert compared.tasks == 1
    assert compared.difference.mean == 1.0
    assert compared.difference.ci95 is None
    assert compared.p_value is None


def test_equal_agents_do_not_differ():
    compared = compare_by_task(by_task(1, 2, 3), by_task(1, 2, 3))

    assert compared.difference.mean == 0
    assert compared.p_value == 1.0


def test_a_steady_gain_over_many_tasks_is_beyond_chance_and_always_the_same():
    first = by_task(*[i % 7 for i in range(30)])
    second = by_task(*[i % 7 + 1 + (i % 3) / 10 for i in range(30)])

    p_value = compare_by_task(first, second).p_value

    assert p_value < 0.001
    assert compare_by_task(first, second).p_value == p_value


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 10), st.integers(0, 10)), min_size=2, max_size=8))
def test_swapping_the_agents_turns_the_sign_and_keeps_the_p_value(pairs):
    first = by_task(*(a for a, _ in pairs))
    second = by_task(*(b for _, b in pairs))

    there, back = compare_by_task(first, second), compare_by_task(second, first)

    assert there.difference.mean == pytest.approx(-back.difference.mean)
    assert there.p_value == pytest.approx(back.p_value)
    assert 0 < there.p_value <= 1


def test_an_interval_is_cut_to_the_differences_that_there_can_be():
    first, second = {"a": [0.0], "b": [1.0]}, {"a": [1.0], "b": [1.0]}
    assert compare_by_task(first, second).difference.ci95[1] > 1
    assert compare_by_task(first, second, widest=1).difference.ci95 == (-1, 1)
