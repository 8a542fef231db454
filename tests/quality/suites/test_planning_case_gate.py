"""The gate over planning cases: which rows leave, and which sets are too one-sided."""

import pytest

from quality.gates import hold, quarantine_findings
from quality.suites.planning_cases import (
    PlanningCaseRules,
    planning_case_rows,
    planning_cases_suite,
)
from taskdata.banks.loader import load_bank

EFFICIENT = "vaccine-fridge-week-plan-5cdd85"
NOISY = "glacier-in-sound-plan-edf2d6"


@pytest.fixture(scope="module")
def rows():
    """The rows of the bundled bank, whose references are all marked as correct."""
    cases = load_bank("starter-planning").tasks
    ids = [case.id for case in cases]
    return planning_case_rows(cases, dict.fromkeys(ids, 1.0), {i: i for i in ids})


def changed(rows, case_id, **fields):
    return [row | fields if row["case_id"] == case_id else row for row in rows]


def held(rows, **rules):
    result, validation = hold(planning_cases_suite(PlanningCaseRules(**rules)), rows, "r1")
    return result, quarantine_findings(validation)


def test_the_bundled_bank_passes(rows):
    result, found = held(rows)

    assert (result.failures, found) == ((), {})


def test_cases_that_are_not_of_their_settings_shape_leave(rows):
    faulty = changed(rows, EFFICIENT, traps=1, saved=0)
    faulty = changed(faulty, NOISY, distractors=3, reference_grade=0.8)

    _result, found = held(faulty)

    says = {case_id: {one.reason for one in findings} for case_id, findings in found.items()}
    assert says.keys() == {EFFICIENT, NOISY}
    assert len(says[EFFICIENT]) == len(says[NOISY]) == 2


def test_a_set_of_one_setting_or_one_length_stops(rows):
    whole = [row | {"length": 3} for row in rows if row["setting"] == "holistic"]

    result, _found = held(whole, min_cases_for_shares=10)

    broken = {failure.expectation for failure in result.failures}
    assert len(broken) == 2
    assert held(whole)[0].failures == ()
