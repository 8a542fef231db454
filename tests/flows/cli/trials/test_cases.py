"""`nightshift show` of a planning trial."""

import pytest

from flows.config import load_settings
from stages.prepare.work import first_trial
from stages.score.planning.mark import mark
from stages.score.planning.scored import root_of
from taskdata.schema.agent import AgentSpec
from taskdata.schema.planning_score import PredictedPlan
from taskdata.schema.run import Run, RunConfig, RunStatus
from taskdata.schema.scores import TrialScore
from taskdata.schema.transcript import Ending, Transcript
from taskdata.store import Store
from tests.flows.cli.conftest import NOW, finished_outcome
from tests.price_cases import CHAIN, action, answer, case, unsolvable

PLANNER = "planner:openai/gpt-5.2"


@pytest.fixture
def stored(home):
    """Store one answer to a case; returns the trial's id."""

    def store_one(task, predicted) -> str:
        store = Store.open(load_settings().address)
        run = Run(
            id="run-1",
            status=RunStatus.COMPLETED,
            config=RunConfig(bank="plans", agents=(AgentSpec.parse(PLANNER),)),
            release_hash=store.add_release("plans", (task,), {}).hash,
            code_version="test",
            created_at=NOW,
        )
        store.add_run(run)
        trial = first_trial(run.id, PLANNER, task.content_hash, task, 0)
        store.plan_trials([trial])
        transcript = Transcript(
            events=(), final_answer="", ending=Ending.FINISHED, predicted_plan=predicted
        )
        store.record_outcome(finished_outcome(store, trial.id, None, transcript))
        root = root_of(task, predicted, mark(task, predicted))
        store.record_score(TrialScore(trial_id=trial.id, root=root, scorer_version="1"), ())
        store.close()
        return trial.id

    return store_one


def test_answer_errors_and_reference_are_told(command, stored):
    trial = stored(case(), answer(action("find_cost", item="lamp"), *CHAIN[1:], left_out=5))

    told = command("show", trial).stdout

    for part in (
        "Correct: no",
        "E6, major, step 1: there is no tool 'find_cost' [code]",
        '1. find_cost {"item": "lamp"}',
        '1. find_price {"item": "lamp"}',
        "5 more calls were not read",
        "Send the total to the buyer.",
    ):
        assert part in told


@pytest.mark.parametrize(
    ("task", "predicted", "says"),
    [
        (unsolvable(), answer(refusal="Which lamp?"), "Refusal: Which lamp?"),
        (case(), PredictedPlan(fault="two JSON objects"), "could not be read: two JSON objects"),
    ],
)
def test_refusals_and_faults_are_told(command, stored, task, predicted, says):
    assert says in command("show", stored(task, predicted)).stdout
