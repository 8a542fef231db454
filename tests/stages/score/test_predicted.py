"""A trial that predicted steps is scored beside the reference, and its tree stays unscored."""

import pytest

from stages.score import work
from stages.score.predicted import predicted_score
from taskdata.errors import BadTaskData
from taskdata.schema.scores import NodeScore
from taskdata.schema.task import ObjectiveAnswer, ReferenceSolution, ReferenceStep
from taskdata.schema.transcript import Ending, Prediction, ToolCall, Transcript

STEP = ReferenceStep(tool="Calculator", arguments={"expression": "2 + 3"})
REFERENCE = ReferenceSolution(steps=(STEP, STEP), final_answer="5")
CALLED = Prediction(call=ToolCall(id="1", tool=STEP.tool, arguments=STEP.arguments))
AGENT = "function_calling_steps:compatible/m"


def transcript(*predictions: Prediction) -> Transcript:
    return Transcript(
        events=(), final_answer="5", ending=Ending.OUT_OF_TURNS, predictions=predictions
    )


@pytest.fixture
def task(new_task):
    return new_task("sum", reference=REFERENCE, answer=ObjectiveAnswer(whitelist=(("5", "five"),)))


def test_the_score_stage_marks_the_steps_and_invents_no_root_score(store, new_run, task, finished):
    run = new_run(task, agents=(AGENT,))
    kept = transcript(CALLED, Prediction(answer="5")).model_dump_json().encode()
    trial_id = finished(
        run, task, agent=AGENT, transcript_sha256=store.artifacts.put_bytes(kept), final_answer="5"
    )

    report = work.do(store, run.id, 0)

    root = store.score(trial_id).root
    assert (report.done, report.errors) == (1, 0)
    assert (root.score, root.coverage) == (None, 0)
    assert [mark.aligned for mark in root.steps.calls] == [True, False]
    assert (root.steps.answer.aligned, root.steps.answer.score) == (False, 0)
    assert {leaf.verifier for leaf in store.score(trial_id).leaves} == {"check"}
    assert all("not done" in leaf.reason for leaf in store.score(trial_id).leaves)


def test_a_trial_that_ended_before_its_first_prediction_is_wrong_throughout(task):
    marks = predicted_score(task, transcript()).steps
    assert [mark.aligned for mark in marks.calls] == [False, False]
    assert (marks.answer.has_reference, marks.answer.score) == (True, 0)


def test_predictions_of_a_task_without_a_reference_are_an_error(new_task):
    with pytest.raises(BadTaskData, match="has no reference"):
        predicted_score(new_task("sum"), transcript(CALLED))


def test_scores_stored_before_there_were_marks_are_read_and_written_alike():
    plain = NodeScore(id="root", requirement="x", weight=1, score=5, coverage=1)
    stored = plain.model_dump(mode="json")
    assert "steps" not in stored
    assert NodeScore.model_validate(stored) == plain
