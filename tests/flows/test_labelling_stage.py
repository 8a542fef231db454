"""The labeller's part of the diagnose stage, and the deadline of the night."""

import pytest

from flows.config import Settings
from flows.stage_flows import _ask_labeller
from stages.diagnose import work
from taskdata.schema.agent import ModelSpec
from taskdata.schema.deadlines import NIGHT_DEADLINE
from taskdata.schema.diagnosis import Diagnosis, FailureLevels, FailureStage
from taskdata.schema.scores import LeafScore, NodeScore, TrialScore


@pytest.fixture
def left_open(store, new_run, plan_trial, task):
    """A run with a labeller, and a failed trial that rules have labelled."""
    run = new_run(task, labeller=ModelSpec.parse("openai/gpt-5.2"))
    trial = plan_trial(run, task)
    leaf = LeafScore(leaf_id="root", score=0.0, verifier="check:x@1", reason="no")
    root = NodeScore(id="root", requirement="all", weight=1, score=0.0, coverage=1, leaf=leaf)
    store.record_score(TrialScore(trial_id=trial.id, root=root, scorer_version="1"), ())
    levels = FailureLevels(leaf=True, composition=False, deliverable=False)
    store.record_diagnosis(
        Diagnosis(
            trial_id=trial.id,
            stage=FailureStage.PLAN,
            levels=levels,
            evidence=("no tool was called",),
            labeller="rules@3",
        )
    )
    return run, trial


def test_after_the_nights_deadline_nobody_is_asked_and_rules_have_labelled(store, left_open):
    run, trial = left_open
    _ask_labeller(Settings(), store, run.id, 0, 0.0, [trial.id])
    (result,) = store.results(run.id)
    assert result.diagnosis.stage is FailureStage.PLAN
    assert NIGHT_DEADLINE in result.diagnosis.by_model.error
    report = work.report(store, run.id, 0, work.ByRules(1, (), (trial.id,)))
    assert (report.done, report.errors) == (1, 1)
    assert report.note.startswith("1 have labels of rules alone: the stage was stopped by")
    assert work.due(store, run.id, 0) == [trial.id]
