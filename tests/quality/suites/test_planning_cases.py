"""Planning cases and their scores at the gates of a run."""

from datetime import UTC, datetime

import pytest

from quality.gates import hold
from quality.suites.leaf_scores import leaf_rows, leaf_scores_suite
from quality.suites.tasks import TaskRules, task_rows, tasks_suite
from quality.suites.trial_scores import trial_rows, trial_scores_suite
from stages.prepare.work import first_trial
from stages.score.planning.mark import mark
from stages.score.planning.scored import root_of
from taskdata.schema.planning_score import PredictedPlan
from taskdata.schema.run import OutcomeStatus, TrialOutcome, TrialResult
from taskdata.schema.scores import TrialScore
from taskdata.schema.task import Task
from taskdata.schema.transcript import Ending
from tests.price_cases import (
    CHAIN,
    answer,
    broken,
    case,
    efficiency,
    extraneous,
    finished,
    next_steps,
    unsolvable,
)

CASES = (case(), next_steps(), finished(), extraneous(), broken(), efficiency(), unsolvable())


def _result(task: Task, predicted: PredictedPlan) -> TrialResult:
    now = datetime(2026, 3, 1, tzinfo=UTC)
    trial = first_trial("r1", "planner:a/m", task.content_hash, task, 0)
    outcome = TrialOutcome(
        trial_id=trial.id,
        attempt=1,
        status=OutcomeStatus.FINISHED,
        ending=Ending.FINISHED,
        sandbox="none",
        code_version="test",
        started_at=now,
        finished_at=now,
    )
    root = root_of(task, predicted, mark(task, predicted))
    score = TrialScore(trial_id=trial.id, root=root, scorer_version="2")
    return TrialResult(trial=trial, outcome=outcome, score=score)


def test_cases_pass_the_gate_of_tasks_with_tools_that_only_they_know() -> None:
    rows = task_rows(CASES, {"finish"})

    result = hold(tasks_suite(TaskRules(needs_check=True), {"finish"}, set()), rows, "r1")[0]

    assert result.success, result.failures
    assert result.quarantined == ()


def test_a_tool_that_is_nowhere_is_still_unknown() -> None:
    stray = case().model_copy(update={"tools": ("find_price", "find_nothing")})

    rows = task_rows([stray], {"finish"})

    result = hold(tasks_suite(TaskRules(needs_check=True), {"finish"}, set()), rows, "r1")[0]

    assert not result.success
    assert "find_nothing" in result.failures[0].expectation


@pytest.mark.parametrize(
    "predicted",
    [
        answer(*CHAIN),
        answer(CHAIN[1], CHAIN[0], *CHAIN[2:]),
        PredictedPlan(fault="two JSON objects"),
        PredictedPlan(),
    ],
    ids=["right", "undecided", "unreadable", "nothing"],
)
def test_scores_of_plans_pass_the_gates_of_scores(predicted: PredictedPlan) -> None:
    result = _result(case(), predicted)
    tasks = {result.trial.task_hash: case()}

    for suite, rows in (
        (leaf_scores_suite(), leaf_rows([result])),
        (trial_scores_suite(), trial_rows([result], tasks)),
    ):
        held = hold(suite, rows, "r1")[0]
        assert held.success, held.failures
