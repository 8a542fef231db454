"""A rescoring has its source's trials, under the same agents, tasks and repetitions."""

from pathlib import Path

import pytest

from stages.prepare import work
from stages.prepare.rescore import default_name, plan_rescoring, rescoring_config
from taskdata.errors import Misuse
from taskdata.schema.agent import AgentSpec
from taskdata.schema.run import OutcomeStatus, RunStatus

JUDGE = {"provider": "compatible", "model": "Judge.B/2"}


@pytest.fixture
def recorded(store, new_run, task, plan_trial, load_module):
    """A run of two rounds with a row of every kind, as `recorded.py` makes it."""
    module = load_module(Path(__file__).parents[2] / "recorded.py")
    run = new_run(task, agents=("nop", "reference"), refinement_rounds=1, max_usd=9.0)
    return module.record(store, run, task, plan_trial)


@pytest.fixture
def rescore(store, recorded):
    def plan(name: str = "again", **changes: object):
        source = store.run(recorded.run.id)
        config = rescoring_config(source, keeps_verdicts=True, **changes)
        return plan_rescoring(store, source, config, name)

    return plan


def question(result) -> tuple[str, str, int, int]:
    trial = result.trial
    return trial.agent, trial.task_id, trial.repetition, trial.round


def test_outcomes_and_files_are_those_of_the_source_and_scores_are_not(store, recorded, rescore):
    run = rescore()
    report = work.do(store, run.id)
    assert (report.due, report.done) == (2, 2)
    assert "2 lost to infrastructure errors" in report.note

    ours, theirs = store.results(run.id), store.results(recorded.run.id)
    assert [question(r) for r in ours] == [question(r) for r in theirs]
    for copy, source in zip(ours, theirs, strict=True):
        same = source.outcome.model_copy(update={"trial_id": copy.trial.id})
        assert copy.outcome == same
        assert (copy.score, copy.diagnosis, copy.scoring_error) == (None, None, None)
        assert copy.trial.feedback == source.trial.feedback
    refined = {r.trial.parent_trial_id for r in ours if r.trial.agent == "nop"}
    first = next(r.trial.id for r in ours if r.trial.agent == "nop" and r.trial.round == 0)
    assert refined == {None, first}


def test_what_the_source_paid_is_not_paid_again(store, recorded, rescore):
    run = rescore()
    before = store.past_efforts("nop")
    work.do(store, run.id)
    assert store.spent_usd(run.id) == 0
    assert store.figures()[run.id].cost_usd == 0
    assert store.past_efforts("nop") == before
    assert run.config.max_usd is None
    assert store.figures()[recorded.run.id].cost_usd == 2.0


def test_preparing_again_adds_only_what_the_source_has_done_since(
    store, recorded, rescore, load_module
):
    run = rescore()
    work.do(store, run.id)
    again = work.do(store, run.id)
    assert again.done == 2

    lost = next(r for r in store.results(recorded.run.id) if r.is_infrastructure_error)
    late = load_module(Path(__file__).parents[2] / "recorded.py").finished(
        lost.trial, store, {"late.txt": b"late"}, attempt=2
    )
    store.record_outcome(late)
    assert work.do(store, run.id).done == 3
    found = {question(r): r.outcome for r in store.results(run.id)}[question(lost)]
    assert (found.status, found.attempt) == (OutcomeStatus.FINISHED, 2)
    assert [file.name for file in found.deliverables] == ["late.txt"]


def test_a_source_that_is_gone_or_has_nothing_to_score_is_named(store, rescore, recorded, new_run):
    run = rescore()
    empty = new_run()
    plan = plan_rescoring(store, empty, rescoring_config(empty), "again")
    with pytest.raises(Misuse, match=f"run {empty.id} has no finished trial to score"):
        work.do(store, plan.id)
    store.begin_removing([recorded.run.id])
    with pytest.raises(Misuse, match="no longer in the store"):
        work.do(store, run.id)


def test_a_name_stands_for_one_way_of_scoring(store, rescore, recorded):
    first = rescore("b", judge=JUDGE)
    assert first.id == f"{recorded.run.id}-b"
    assert rescore("b", judge=JUDGE, max_usd=2.0) == first
    with pytest.raises(Misuse, match="give this one another --name than 'b'"):
        rescore("b")


@pytest.mark.parametrize("name", ["", "Upper", "a/b", "confirm", "x" * 41])
def test_a_name_that_could_be_no_part_of_an_id_is_misuse(rescore, name):
    with pytest.raises(Misuse, match="--name"):
        rescore(name)


def test_without_a_name_it_is_the_judges(rescore, recorded):
    assert default_name(rescore().config) == "again"
    assert default_name(rescoring_config(recorded.run, judge=JUDGE)) == "judge-b-2"


def test_it_is_listed_and_is_no_night(store, rescore, recorded):
    run = rescore()
    store.set_run_status(run.id, RunStatus.COMPLETED)
    store.set_run_status(recorded.run.id, RunStatus.COMPLETED)
    assert {one.id for one in store.runs()} == {run.id, recorded.run.id}
    assert store.runs_without_a_night() == [recorded.run.id]


def test_agents_need_no_key_and_confirmations_are_not_rescored(new_run, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    source = new_run(agents=("react:openai/gpt-5.2",))
    work.require_fitting(rescoring_config(source, max_usd=1.0))
    with pytest.raises(Misuse, match="OPENAI_API_KEY"):
        work.require(source.config)
    imported = AgentSpec(harness="import", label="manus", results="no such folder")
    work.require_fitting(rescoring_config(new_run(agents=(imported,))))
    again = new_run(purpose="confirmation", confirms=source.id)
    with pytest.raises(Misuse, match="is a confirmation"):
        rescoring_config(again)
