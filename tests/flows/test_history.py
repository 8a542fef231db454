"""Nights of real runs: kept, compared, planned again where something stands out."""

from datetime import UTC, datetime, timedelta

import pytest

from flows import confirming
from flows.cli.runs.sentences import told
from flows.history import rebuild, record_night, take_in
from stages.prepare import work as preparing
from stages.prepare.confirm import confirmation_id
from taskdata.errors import Misuse
from taskdata.schema.agent import AgentSpec
from taskdata.schema.run import OutcomeStatus, RunStatus, TrialOutcome
from taskdata.schema.scores import LeafScore, NodeScore, TrialScore
from taskdata.schema.transcript import Ending

AGENT = AgentSpec.parse("react:openai/gpt-5.2")
REPETITIONS = 2
START = datetime(2026, 3, 1, 2, tzinfo=UTC)


@pytest.fixture
def tasks(new_task):
    kinds = ("data_analysis", "creative_design", "retrieval_qa")
    return [new_task(f"task-{i:02d}", category=kinds[i % 3]) for i in range(12)]


@pytest.fixture
def finish(store, new_run, plan_trial, tasks):
    """Store a completed run whose trials have these scores, by task; one day after another."""

    def outcome(trial_id):
        return TrialOutcome(
            trial_id=trial_id,
            attempt=1,
            status=OutcomeStatus.FINISHED,
            ending=Ending.FINISHED,
            cost_usd=0.01,
            turns=3,
            wall_seconds=5.0,
            sandbox="bubblewrap",
            code_version="test",
            started_at=START,
            finished_at=START,
        )

    def score(trial_id, value):
        leaf = LeafScore(leaf_id="a", score=value, verifier="check:x@1", reason="seen")
        root = NodeScore(id="root", requirement="all", weight=1, score=value, coverage=1, leaf=leaf)
        return TrialScore(trial_id=trial_id, root=root, scorer_version="1")

    def fill(run, scores, completed=True):
        for task, value in zip(tasks, scores, strict=True):
            for repetition in range(run.config.repetitions):
                if task.id not in run.config.only.get(AGENT.name, (task.id,)):
                    continue
                trial = plan_trial(run, task, AGENT.name, repetition)
                store.record_outcome(outcome(trial.id))
                store.record_score(score(trial.id, value), ())
        if completed:
            store.set_run_status(run.id, RunStatus.COMPLETED)
        return store.run(run.id)

    def make(scores, completed=True, **config):
        run = new_run(*tasks, agents=(AGENT,), repetitions=REPETITIONS, **config)
        return fill(run, scores, completed)

    make.fill = fill
    return make


GOOD = [9.0, 8.0, 9.5, 10.0, 8.5, 9.0, 8.0, 9.0, 10.0, 8.5, 9.0, 9.5]
BAD = [4.0, 3.0, 5.5, 5.0, 3.5, 4.0, 2.0, 4.0, 6.0, 3.5, 3.0, 4.5]


def test_runs_of_before_are_taken_in_when_the_next_one_is_published(store, finish):
    old = finish(GOOD)
    unfinished = finish(GOOD, completed=False)
    new = finish(BAD, completed=False)
    morning = record_night(store, new.id, finished_at=new.created_at + timedelta(hours=3))
    assert morning.baseline == (old.id,)
    assert [night.run_id for night in store.nights()] == [new.id, old.id]
    assert store.night(unfinished.id) is None
    assert (store.night(new.id).status, store.night(new.id).wall_s) == ("completed", 3 * 3600)
    assert store.morning(new.id) == morning
    assert [c.verdict for c in morning.changes if c.scope == "all"] == ["suspected"]


def test_a_night_that_is_recorded_again_is_replaced_and_nothing_is_doubled(store, finish):
    run = finish(GOOD)
    first = record_night(store, run.id)
    assert record_night(store, run.id) == first
    assert len(list(store.nights())) == 1
    assert take_in(store) == 0


def test_all_nights_can_be_made_again_from_their_runs(store, finish):
    runs = [finish(GOOD), finish(GOOD), finish(BAD)]
    assert take_in(store) == 3
    mornings = [store.morning(run.id) for run in runs]
    assert rebuild(store) == 3
    assert [store.morning(run.id) for run in runs] == mornings


def test_a_run_that_was_not_published_has_no_morning_and_the_way_out_is_named(store, finish):
    run = finish(GOOD)
    with pytest.raises(Misuse, match="nightshift morning --rebuild"):
        store.morning(run.id)


def test_what_stands_out_is_planned_again_once_and_the_re_run_decides(store, finish, monkeypatch):
    monkeypatch.setattr(preparing, "require", lambda config: None)
    finish(GOOD)
    run = finish(BAD, max_usd=5.0)
    report = confirming.plan(store, run.id, 3)
    again = confirming.find_confirmation(store, run.id)
    assert again.id == confirmation_id(run.id)
    assert (again.config.confirms, again.config.purpose) == (run.id, "confirmation")
    assert again.config.repetitions == 3
    assert 0 < again.config.max_usd <= 5.0
    assert report.due == 3 * len(again.config.only[AGENT.name]) == 36
    assert confirming.plan(store, run.id, 3).note == f"run {again.id} confirms it"
    assert again.id not in {known.id for known in store.runs()}
    assert preparing.do(store, again.id).due == 36
    with confirming.recorded(store, again):
        finish.fill(again, BAD, completed=False)
    morning = record_night(store, run.id)
    (overall,) = [c for c in morning.changes if c.scope == "all"]
    assert (overall.verdict, overall.confirmed_by) == ("confirmed", again.id)
    assert store.night(again.id).confirms == run.id
    later = finish(BAD)
    assert again.id not in record_night(store, later.id).baseline


def test_a_re_run_gives_an_agent_only_the_tasks_that_stand_out_for_it(store, finish, monkeypatch):
    monkeypatch.setattr(preparing, "require", lambda config: None)
    for _ in range(3):
        finish(GOOD)
    run = finish([0.0, *GOOD[1:]])
    confirming.plan(store, run.id, 3)
    again = confirming.find_confirmation(store, run.id)
    assert again.config.only == {AGENT.name: ("task-00",)}
    assert preparing.do(store, again.id).due == 3


@pytest.mark.parametrize(
    ("config", "note"),
    [({"replies": "keep"}, "would confirm nothing"), ({"max_usd": 0.001}, "is used up")],
)
def test_what_would_confirm_nothing_or_cost_too_much_is_not_run_again(
    store, finish, monkeypatch, config, note
):
    monkeypatch.setattr(confirming, "spent_usd", lambda store, run: 1.0)
    finish(GOOD)
    run = finish(BAD, **config)
    report = confirming.plan(store, run.id, 3)
    assert note in report.note
    assert (report.due, confirming.find_confirmation(store, run.id)) == (0, None)


def test_quiet_nights_are_not_run_again(store, finish):
    finish(GOOD)
    run = finish(GOOD)
    assert "nothing stands out" in confirming.plan(store, run.id, 3).note
    assert "not set" in confirming.plan(store, run.id, 0).note


def test_a_re_run_that_fails_leaves_the_night_with_its_suspicion(store, finish):
    finish(GOOD)
    run = finish(BAD)
    confirming.plan(store, run.id, 3)
    with confirming.recorded(store, confirming.find_confirmation(store, run.id)):
        raise RuntimeError("the provider is down")
    assert confirming.find_confirmation(store, run.id).status is RunStatus.FAILED
    morning = record_night(store, run.id)
    assert [c.verdict for c in morning.changes if c.scope == "all"] == ["suspected"]


def test_the_sentences_say_what_changed_by_how_much_and_how_sure_that_is(store, finish):
    old, new = finish(GOOD), finish(BAD)
    said = told(record_night(store, new.id), store.night(new.id))
    (overall,) = [line for line in said["Got worse"] if "all tasks" in line]
    assert "fell from 9.00 to 4.00 (-5.00, 95 % interval" in overall
    assert "success 100% then 0%, 12 tasks. No re-run has confirmed it." in overall
    assert f"Compared with {old.id}." in said["How this was compared"][-1]
    assert "At most 5% of nights" in said["How this was compared"][-1]
    quiet = told(record_night(store, finish(BAD).id))
    assert "Got worse" not in quiet
