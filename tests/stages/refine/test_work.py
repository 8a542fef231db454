from collections.abc import Callable

import pytest

from stages.diagnose import work as diagnose
from stages.refine import work
from taskdata.errors import Misuse, StoreUnavailable
from taskdata.schema.run import OutcomeStatus, Run, Trial
from taskdata.schema.task import Task
from taskdata.store import Store

Play = Callable[..., Trial]


def test_a_trial_that_fell_short_gets_another_attempt_with_feedback(
    store: Store, night: Run, play: Play
):
    parent = play(7.0)

    report = work.do(store, night.id, 1)

    (refined,) = store.trials(night.id, 1)
    assert refined.parent_trial_id == parent.id
    assert refined.id == Trial.make_id(night.id, parent.agent, parent.task_id, 0, 1, "checkpoint")
    assert (refined.round, refined.arm, refined.task_hash) == (1, "checkpoint", parent.task_hash)
    assert "it scored 7.0 of 10" in refined.feedback
    assert (report.stage, report.round, report.due, report.done) == ("refine", 1, 1, 1)
    assert report.note == "1 of 1 trials are tried again with checkpoint feedback"


def test_only_scored_trials_below_the_threshold_of_agents_that_can_learn_are_refined(
    store: Store, night: Run, play: Play
):
    failed = play(3.0)
    play(7.1, repetition=1)
    play(None, repetition=2)
    play(0.0, agent="nop")
    play(4.0, agent="reference")

    assert work.due(store, night.id, 1) == [failed.id]


def test_a_trial_lost_to_infrastructure_has_no_attempt_to_refine(
    store: Store, night: Run, play: Play
):
    done = play(3.0)
    lost = done.model_copy(update={"id": "t-lost", "repetition": 5})
    store.plan_trials([lost])
    outcome = store.outcome(done.id).model_copy(
        update={"trial_id": lost.id, "status": OutcomeStatus.INFRASTRUCTURE, "error": "down"}
    )
    store.record_outcome(outcome)

    assert work.due(store, night.id, 1) == [done.id]


def test_refining_twice_plans_nothing_new_and_keeps_the_first_feedback(
    store: Store, night: Run, play: Play
):
    play(3.0)
    work.do(store, night.id, 1)
    first = store.trials(night.id, 1)

    again = work.do(store, night.id, 1)

    assert (again.due, again.done) == (0, 0)
    assert store.trials(night.id, 1) == first
    assert again.note.startswith("1 of 1 trials")


def test_the_second_round_refines_the_first(
    store: Store,
    night: Run,
    play: Play,
    task: Task,
    score_trial: Callable[..., None],
):
    play(3.0)
    play(2.0, repetition=1)
    work.do(store, night.id, 1)
    better, still_bad = sorted(store.trials(night.id, 1), key=lambda t: t.repetition)
    score_trial(better, task, 10.0)
    score_trial(still_bad, task, 4.0)

    work.do(store, night.id, 2)

    (third,) = store.trials(night.id, 2)
    assert third.parent_trial_id == still_bad.id
    assert "it scored 4.0 of 10" in third.feedback


def test_a_trial_whose_record_is_broken_stays_due_and_does_not_sink_the_others(
    store: Store, night: Run, play: Play
):
    broken = play(3.0, keeps_transcript=False)
    sound = play(3.0, repetition=1)

    report = work.do(store, night.id, 1)

    assert (report.due, report.done, report.errors) == (2, 1, 1)
    assert report.note == (
        "1 of 2 trials are tried again with checkpoint feedback; 1 could not be given any: "
        f"trial {broken.id}: its outcome, transcript or score is missing"
    )
    assert [t.parent_trial_id for t in store.trials(night.id, 1)] == [sound.id]
    assert work.due(store, night.id, 1) == [broken.id]


def test_a_database_that_is_gone_is_not_asked_for_every_trial(
    store: Store, night: Run, play: Play, monkeypatch: pytest.MonkeyPatch
):
    play(3.0)
    play(3.0, repetition=1)
    asked = []

    def gone(self: Store, trials: object) -> int:
        asked.append(trials)
        raise StoreUnavailable("the database is gone")

    monkeypatch.setattr(Store, "plan_trials", gone)
    with pytest.raises(StoreUnavailable, match="gone"):
        work.do(store, night.id, 1)
    assert len(asked) == 1


def test_a_round_that_the_run_does_not_have_is_misuse(store: Store, night: Run):
    for round_ in (0, 3):
        with pytest.raises(Misuse, match=f"no refinement round {round_}"):
            work.do(store, night.id, round_)


def test_the_feedback_is_of_the_kind_that_the_run_asks_for(
    store: Store, new_run: Callable[..., Run], task: Task, play: Play
):
    run = new_run(task, agents=("react:openai/gpt-5.2",), feedback="coarse")
    play(3.0, run=run)

    report = work.do(store, run.id, 1)

    assert store.trials(run.id, 1)[0].feedback == "The result is not right yet."
    assert report.note.endswith("with coarse feedback")


def test_feedback_by_labels_takes_those_that_are_stored(
    store: Store, new_run: Callable[..., Run], task: Task, play: Play
):
    run = new_run(task, agents=("react:openai/gpt-5.2",), feedback="diagnosis")
    parent = play(3.0, run=run)

    before = work.do(store, run.id, 1)
    diagnose.do(store, run.id, 0)
    after = work.do(store, run.id, 1)

    assert (before.errors, before.note.endswith("`nightshift stage diagnose` first")) == (1, True)
    assert (after.errors, store.diagnosis(parent.id) is None) == (0, False)
    (refined,) = store.trials(run.id, 1)
    assert "You tried nothing" in (refined.feedback or "")
