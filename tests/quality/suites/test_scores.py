from collections.abc import Callable

import pytest

from quality.atomic.step_by_step import score_steps
from quality.gates import hold
from quality.suites.leaf_scores import leaf_rows, leaf_scores_suite
from quality.suites.trial_scores import ScoreRules, trial_rows, trial_scores_suite
from taskdata.schema.atomic import AnswerKind, EndToEndScore
from taskdata.schema.deadlines import NIGHT_DEADLINE
from taskdata.schema.gate import GateResult
from taskdata.schema.run import TrialResult
from taskdata.schema.scores import Unscored
from taskdata.schema.task import ReferenceSolution, Task

MakeTask = Callable[..., Task]
MakeResult = Callable[..., TrialResult]
LEAVES = ("totals", "sheets", "answer", "tone")


def gate(task: Task, *results: TrialResult, rules: ScoreRules | None = None) -> GateResult:
    suite = trial_scores_suite(rules) if rules else trial_scores_suite()
    return hold(suite, trial_rows(results, {task.content_hash: task}), "r1")[0]


def test_scored_trials_and_a_few_infrastructure_errors_pass(
    make_task: MakeTask, make_result: MakeResult
):
    good = [make_result(repetition=i, leaves=dict.fromkeys(LEAVES, 3.0)) for i in range(3)]

    result = gate(make_task(), *good, make_result(repetition=3, error="model server is down"))

    assert result.success, result.failures


def test_more_infrastructure_errors_than_allowed_stop_the_run(
    make_task: MakeTask, make_result: MakeResult
):
    lost = [make_result(repetition=i, error="down") for i in range(3)]
    results = [make_result(repetition=4), *lost]

    (failure,) = gate(make_task(), *results).failures
    assert "at most 50% of the trials are lost" in failure.expectation
    assert set(failure.rows) == {
        f"{r.trial.id} ({r.trial.agent} on shop-totals, round 0)" for r in lost
    }
    assert gate(make_task(), *results, rules=ScoreRules(max_error_share=0.8)).success


def test_trials_that_the_nights_deadline_left_out_stop_nothing_and_hide_nothing(
    make_task: MakeTask, make_result: MakeResult
):
    late = f"not begun: {NIGHT_DEADLINE} of 60 s had passed"
    left_out = [make_result(repetition=i, error=late) for i in range(2, 9)]
    unjudged = make_result(repetition=9, scored=False).model_copy(update={"scoring_error": late})
    stopped = [*left_out, unjudged]
    assert all(result.is_left_out for result in stopped)

    scored = [make_result(repetition=i) for i in range(2)]
    assert gate(make_task(), *scored, *stopped).success
    assert gate(make_task(), *stopped).success, "the page says that nothing was done"

    lost = [make_result(repetition=10 + i, error="down") for i in range(3)]
    (failure,) = gate(make_task(), *scored, *stopped, *lost).failures
    assert failure.unexpected_count == 3, "3 of the 5 that there was time for"


def test_a_trial_that_finished_without_a_score_stops_the_run(
    make_task: MakeTask, make_result: MakeResult
):
    (failure,) = gate(make_task(), make_result(scored=False), make_result(repetition=1)).failures

    assert "executed and scored" in failure.expectation
    assert len(failure.rows) == 1


def test_a_trial_still_to_be_executed_stops_the_run(make_task: MakeTask, make_result: MakeResult):
    planned = TrialResult(trial=make_result().trial)

    assert not gate(make_task(), planned, make_result(repetition=1)).success


def test_a_trial_without_any_scored_leaf_stops_the_run(
    make_task: MakeTask, make_result: MakeResult
):
    blank = make_result(leaves=dict.fromkeys(LEAVES, None))

    (failure,) = gate(make_task(), blank, make_result(repetition=1)).failures
    assert "have no leaf with a verifier" in failure.expectation


def test_a_trial_whose_steps_and_answer_were_compared_needs_no_verifier(
    make_task: MakeTask, make_result: MakeResult
):
    blank = make_result(leaves=dict.fromkeys(LEAVES, None))
    compared = EndToEndScore(kind=AnswerKind.SUBJECTIVE)
    root = blank.score.root.model_copy(update={"end_to_end": compared})
    score = blank.score.model_copy(update={"root": root})

    assert gate(make_task(), blank.model_copy(update={"score": score})).success


def test_trials_that_predicted_steps_have_no_leaf_to_score(
    make_task: MakeTask, make_result: MakeResult
):
    blank = make_result(leaves=dict.fromkeys(LEAVES, None))
    steps = score_steps((), ReferenceSolution(steps=(), final_answer=""), None)
    root = blank.score.root.model_copy(update={"steps": steps})
    predicted = blank.model_copy(update={"score": blank.score.model_copy(update={"root": root})})

    result = gate(make_task(), predicted)

    assert result.success, result.failures


@pytest.mark.parametrize("agent", ["reference", "nop"])
def test_the_reference_must_earn_ten_and_doing_nothing_at_most_one(
    make_task: MakeTask, make_result: MakeResult, agent: str
):
    broken = make_result(agent=agent, leaves=dict.fromkeys(LEAVES, 6.0))
    other = make_result(leaves=dict.fromkeys(LEAVES, 6.0))

    (failure,) = gate(make_task(), broken, other).failures

    # No judge can be the cause that a reference has less than this.
    found = {"reference": "7.0", "nop": "6.0"}[agent]
    assert failure.expectation.endswith(f"else the task is broken (found: {found})")
    assert failure.rows == (f"{broken.trial.id} ({agent} on shop-totals, round 0)",)


def test_a_judge_who_gives_the_reference_less_than_ten_proves_no_task_broken(
    make_task: MakeTask, make_result: MakeResult
):
    strict = dict.fromkeys(LEAVES, 10.0) | {"tone": 8.0}
    assert gate(make_task(), make_result(agent="reference", leaves=strict)).success

    for worthless in (strict | {"tone": 0.0}, strict | {"totals": 9.0}):
        broken = make_result(agent="reference", leaves=worthless)
        (failure,) = gate(make_task(), broken).failures
        assert "reference solution" in failure.expectation


def test_judged_leaves_without_a_judge_do_not_spoil_the_references_ten(
    make_task: MakeTask, make_result: MakeResult
):
    leaves = dict.fromkeys(LEAVES, 10.0) | {"tone": None}

    assert gate(make_task(), make_result(agent="reference", leaves=leaves)).success


def test_a_verdict_that_is_missing_does_not_put_the_task_at_fault(
    make_task: MakeTask, make_result: MakeResult
):
    refused = {"tone": Unscored.NO_VERDICT}
    reference = make_result(agent="reference", leaves=dict.fromkeys(LEAVES, 10.0) | refused)
    nop = make_result(agent="nop", leaves=dict.fromkeys(LEAVES, 0.0) | refused)
    answered = make_result(leaves=dict.fromkeys(LEAVES, 3.0))

    found = [f.expectation for f in gate(make_task(), reference, nop, answered).failures]

    assert [text for text in found if "broken" in text] == []


def test_a_judge_that_says_nothing_in_most_trials_stops_the_run(
    make_task: MakeTask, make_result: MakeResult
):
    silent = dict.fromkeys(LEAVES, 3.0) | {"tone": Unscored.NO_VERDICT}
    trials = [make_result(repetition=i, leaves=silent) for i in range(3)]
    unjudged = make_result(repetition=3, leaves=dict.fromkeys(LEAVES, 3.0) | {"tone": None})

    (failure,) = gate(make_task(), *trials, unjudged).failures

    assert "the judge gave no verdict at all" in failure.expectation
    assert len(failure.rows) == 3


def test_an_agent_that_silences_the_judge_does_not_stop_the_run_of_the_others(
    make_task: MakeTask, make_result: MakeResult
):
    silenced = make_result(agent="a:m/x", leaves=dict.fromkeys(LEAVES, Unscored.NO_VERDICT))

    assert gate(make_task(), silenced, make_result()).success


def test_leaves_that_are_not_the_tasks_are_named(make_task: MakeTask, make_result: MakeResult):
    strange = make_result(leaves={"totals": 10.0, "sheets": 1.0, "tone": 1.0, "bonus": 1.0})

    (failure,) = gate(make_task(), strange, make_result(repetition=1)).failures

    assert failure.expectation.endswith("(found: answer, bonus)")


def test_leaf_scores_in_range_with_unscored_ones_pass(make_result: MakeResult):
    rows = leaf_rows([make_result(leaves=dict.fromkeys(LEAVES, 10.0) | {"tone": None})])

    assert hold(leaf_scores_suite(), rows, "r1")[0].success
    assert [row["score"] for row in rows] == [10.0, 10.0, 10.0, None]


@pytest.mark.parametrize("verifier", ["check:text@1", "judge:openai/m@2", "tool_result", "script"])
def test_every_kind_of_verifier_is_one(make_result: MakeResult, verifier: str):
    rows = leaf_rows([make_result()])
    rows[0] |= {"verifier": verifier, "score": None}

    assert hold(leaf_scores_suite(), rows, "r1")[0].success


@pytest.mark.parametrize(
    ("fault", "column"),
    [
        ({"score": 10.5}, "score"),
        ({"verifier": "guess"}, "verifier"),
        ({"reason_length": 0}, "reason_length"),
        ({"leaf_id": "sheets"}, None),
    ],
)
def test_a_faulty_leaf_row_is_named(
    make_result: MakeResult, fault: dict[str, object], column: str | None
):
    rows = leaf_rows([make_result()])
    rows[0] |= fault

    result = hold(leaf_scores_suite(), rows, "r1")[0]

    (failure,) = result.failures
    assert failure.column == column
    assert rows[0]["leaf"] in failure.rows


def test_a_run_whose_trials_were_all_lost_is_stopped_with_its_trials_named(
    make_task: MakeTask, make_result: MakeResult
):
    lost = make_result(error="down")

    assert hold(leaf_scores_suite(), leaf_rows([lost]), "r1")[0].success
    (failure,) = gate(make_task(), lost).failures
    assert failure.rows == (f"{lost.trial.id} ({lost.trial.agent} on shop-totals, round 0)",)
