"""What `results` and `show` say of agents that predict steps, and of what a model thought."""

import json
from datetime import UTC, datetime

import pytest

from flows.config import load_settings
from quality.atomic.step_by_step import score_steps
from stages.prepare.work import first_trial
from taskdata.schema.agent import AgentSpec
from taskdata.schema.run import OutcomeStatus, Run, RunConfig, RunStatus, TrialOutcome
from taskdata.schema.scores import NodeScore, TrialScore
from taskdata.schema.task import ObjectiveAnswer, ReferenceSolution, ReferenceStep
from taskdata.schema.transcript import Ending, ModelEvent, Prediction, ToolCall, Transcript
from taskdata.store import Store

AGENT = AgentSpec.parse("function_calling_steps:compatible/m")
STEP = ReferenceStep(tool="Calculator", arguments={"expression": "3 + 4"})
REFERENCE = ReferenceSolution(steps=(STEP,), final_answer="7")
SEVEN = ObjectiveAnswer(whitelist=(("7",),))
PREDICTIONS = (
    Prediction(call=ToolCall(id="1", tool="Calculator", arguments={"expression": "3 * 4"})),
    Prediction(answer="7"),
)
NOW = datetime.now(UTC)


@pytest.fixture
def predicted(home, new_task) -> str:
    """A run of one agent over one task, whose steps it predicted; returns the trial's id."""
    store = Store.open(load_settings().address)
    task = new_task("sum", reference=REFERENCE, answer=SEVEN)
    release = store.add_release("test", (task,), {})
    run = Run(
        id="run-1",
        status=RunStatus.COMPLETED,
        config=RunConfig(bank="test", agents=(AGENT,)),
        release_hash=release.hash,
        code_version="test",
        created_at=NOW,
    )
    store.add_run(run)
    trial = first_trial(run.id, AGENT.name, task.content_hash, task, 0)
    store.plan_trials([trial])
    thought = ModelEvent(text="7", thinking="3 and 4 is 7.", model="m", started_at=NOW, seconds=1)
    transcript = Transcript(
        events=(thought,), final_answer="7", ending=Ending.FINISHED, predictions=PREDICTIONS
    )
    store.record_outcome(
        TrialOutcome(
            trial_id=trial.id,
            attempt=1,
            status=OutcomeStatus.FINISHED,
            ending=Ending.FINISHED,
            transcript_sha256=store.artifacts.put_bytes(transcript.model_dump_json().encode()),
            sandbox="bubblewrap",
            code_version="test",
            started_at=NOW,
            finished_at=NOW,
        )
    )
    marks = score_steps(PREDICTIONS, REFERENCE, SEVEN)
    root = NodeScore(id="root", requirement="x", weight=1, score=None, coverage=0, steps=marks)
    store.record_score(TrialScore(trial_id=trial.id, root=root, scorer_version="1"), ())
    store.close()
    return trial.id


def test_results_have_the_accuracies_of_predicted_steps(command, predicted):
    shown = command("results").stdout
    assert "Step by step" in shown
    assert all(name in shown for name in ("InstAcc", "ToolAcc", "ArgAcc", "SummAcc"))
    assert "1 of 1" in shown


def test_programs_get_them_with_their_counts_and_no_root_score(command, predicted):
    (agent,) = json.loads(command("results", "--json").stdout)["agents"]
    steps = agent["steps"]
    assert (agent["scored"], agent["root_score"]["mean"]) == (0, None)
    assert steps["inst_acc"] == {"mean": 1.0, "ci95": None, "n": 2, "method": None}
    assert (steps["tool_acc"]["mean"], steps["arg_acc"]["mean"]) == (1.0, 0.0)
    assert (steps["summ_acc"]["mean"], steps["answers"], steps["answers_unscored"]) == (1.0, 1, 0)


def test_a_trial_shows_its_marks_and_its_transcript_what_was_thought(command, predicted):
    shown = command("show", predicted, "--transcript").stdout
    assert "Predicted steps" in shown
    assert "It thought:\n    3 and 4 is 7." in shown
    found = json.loads(command("show", predicted, "--json").stdout)
    assert found["score"]["root"]["steps"]["answer"]["score"] == 1
    assert found["transcript"]["events"][0]["thinking"] == "3 and 4 is 7."
