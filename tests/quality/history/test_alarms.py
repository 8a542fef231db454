"""How often nights raise an alarm: seldom without a change, nearly always with one of 10 points."""

import pytest

from quality.history import morning_of
from quality.history.comparisons import FALSE_ALARMS
from quality.history.flags import flagged

NIGHTS = 100
HISTORY = 7
WORSE = "react:a/one"
CATEGORY = "data_analysis"


@pytest.fixture(scope="module")
def simulation(simulated):
    # 50 tasks in each of three categories, two agents, three repetitions. A trial varies with a
    # standard deviation of 2 points around the expected score of its task, then is cut to 0-10.
    bench = simulated.Bench(
        agents=(WORSE, "react:b/two"), categories=3, tasks=50, repetitions=3, noise=2.0
    )
    return simulated.Simulation(bench, seed=20260415)


@pytest.fixture(scope="module")
def quiet(simulation):
    """A hundred nights in which nothing changes, after the first seven."""
    return [simulation.night(number) for number in range(HISTORY + NIGHTS)]


def test_of_a_hundred_nights_without_a_change_about_five_raise_an_alarm_and_no_more(quiet):
    alarms = covered = intervals = 0
    for number in range(HISTORY, HISTORY + NIGHTS):
        found = morning_of(quiet[number], quiet[number - HISTORY : number])
        assert found.false_alarm_rate == FALSE_ALARMS == 0.05
        alarms += any(change.verdict == "suspected" for change in found.changes)
        known = [change.difference.ci95 for change in found.changes if change.difference.ci95]
        intervals += len(known)
        covered += sum(low <= 0 <= high for low, high in known)
    # More than 10 of 100 would come about once in a hundred times at a rate of 5 %.
    assert alarms <= 10
    assert 0.93 <= covered / intervals <= 0.99


def test_a_regression_of_10_points_in_a_category_is_confirmed_in_95_of_100_nights(
    simulation, quiet
):
    found = refuted = 0
    for number in range(NIGHTS):
        history = quiet[number : number + HISTORY]
        drop = {(WORSE, CATEGORY): 1.0}
        night = simulation.night(1000 + number, drop)
        again = simulation.night(
            1000 + number, drop, repetitions=3, only=flagged(night, history), confirms=night.run_id
        )
        morning = morning_of(night, history, [again])
        worse = {(change.agent, change.scope) for change in morning.confirmed_regressions}
        found += (WORSE, f"category {CATEGORY}") in worse
        refuted += any(change.agent != WORSE for change in morning.confirmed_regressions)
    assert found >= 95
    assert refuted <= 5
