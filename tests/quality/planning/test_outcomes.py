"""Whether plans foretell root scores."""

import pytest

from quality.planning.outcomes import planning_outcomes


def test_plans_that_go_with_the_scores_are_seen(case, mark, answer):
    answers = [
        answer(case(source=f"s{n}"), mark(1.0 if n % 2 else 0.2, [] if n % 2 else ["E1"]))
        for n in range(10)
    ]
    scores = {f"s{n}": [8.0 if n % 2 else 2.0, 9.0 if n % 2 else 1.0] for n in range(10)}
    by_correctness, by_grade = planning_outcomes("p", answers, "react", scores)
    assert (by_correctness.tasks, by_correctness.by) == (10, "correctness")
    assert by_correctness.correlation == pytest.approx(1.0)
    assert by_grade.correlation == pytest.approx(1.0)


def test_the_mean_over_a_tasks_plans_counts_once_and_has_an_interval(case, mark, answer):
    answers = [
        answer(case(source=f"s{n % 8}"), mark(1.0 if (n * 7) % 5 < 2 else 0.4), case_id=f"c{n}")
        for n in range(16)
    ]
    scores = {f"s{n}": [float((n * 3) % 10)] for n in range(8)}
    found, _ = planning_outcomes("p", answers, "react", scores)
    assert found.tasks == 8
    low, high = found.ci95
    assert -1 <= low < found.correlation < high <= 1


def test_without_variation_or_common_tasks_there_is_no_correlation(case, mark, answer):
    answers = [answer(case(source=f"s{n}"), mark(1.0)) for n in range(5)]
    same, _ = planning_outcomes("p", answers, "react", {f"s{n}": [float(n)] for n in range(5)})
    assert (same.tasks, same.correlation, same.ci95) == (5, None, None)
    none, _ = planning_outcomes("p", answers, "react", {"other": [1.0]})
    assert (none.tasks, none.correlation) == (0, None)
