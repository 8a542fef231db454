"""Arms branch from one first attempt, go on by themselves, and stop by rule."""

from collections.abc import Callable

import pytest
import sqlalchemy as sa

from stages.refine import work
from taskdata.schema.model_call import CallPurpose, ModelCall
from taskdata.schema.run import OutcomeStatus, Run, Trial
from taskdata.schema.task import Task
from taskdata.schema.usage import Usage
from taskdata.store import Store
from tests.stages.refine.conftest import NOON, REACT

Play = Callable[..., Trial]

ARMS = ("none", "coarse", "checkpoint")


@pytest.fixture
def branching(new_run: Callable[..., Run], task: Task) -> Run:
    """A run of three arms and five rounds."""
    return new_run(task, agents=(REACT,), feedback=ARMS, refinement_rounds=5)


def test_every_arm_starts_from_the_same_first_attempt(store: Store, branching: Run, play: Play):
    parent = play(3.0, run=branching)

    report = work.do(store, branching.id, 1)

    refined = {trial.arm: trial for trial in store.trials(branching.id, 1)}
    assert tuple(sorted(refined)) == tuple(sorted(ARMS))
    assert {trial.parent_trial_id for trial in refined.values()} == {parent.id}
    assert len({trial.id for trial in refined.values()}) == 3
    assert refined["none"].feedback is None
    assert refined["coarse"].feedback != refined["checkpoint"].feedback
    assert (report.due, report.done) == (3, 3)
    assert report.note == (
        "1 of 1 trials are tried again without feedback; 1 of 1 trials are tried again with coarse "
        "feedback; 1 of 1 trials are tried again with checkpoint feedback"
    )


def test_an_arm_goes_on_from_its_own_attempt_and_ends_where_it_passed(
    store: Store, branching: Run, play: Play, task: Task, score_trial: Callable[..., None]
):
    play(3.0, run=branching)
    work.do(store, branching.id, 1)
    first = {trial.arm: trial for trial in store.trials(branching.id, 1)}
    for arm, score in (("none", 3.0), ("coarse", 10.0), ("checkpoint", 6.0)):
        score_trial(first[arm], task, score)

    work.do(store, branching.id, 2)

    second = {trial.arm: trial.parent_trial_id for trial in store.trials(branching.id, 2)}
    assert second == {arm: first[arm].id for arm in ("none", "checkpoint")}


def test_a_stage_that_was_killed_plans_the_arms_that_are_missing(
    store: Store, branching: Run, play: Play
):
    parent = play(3.0, run=branching)
    work.do(store, branching.id, 1)
    planned = store.trials(branching.id, 1)
    with store._plainly_writing() as connection:
        connection.execute(sa.text("DELETE FROM trial WHERE id = :id"), {"id": planned[0].id})

    assert work.due(store, branching.id, 1) == [parent.id]
    report = work.do(store, branching.id, 1)

    assert (report.due, report.done) == (1, 1)
    assert store.trials(branching.id, 1) == planned


def test_an_attempt_that_an_earlier_version_planned_is_not_planned_again(
    store: Store, night: Run, play: Play
):
    parent = play(3.0)
    work.do(store, night.id, 1)
    earlier = Trial.make_id(night.id, parent.agent, parent.task_id, 0, 1)
    with store._plainly_writing() as connection:
        connection.execute(sa.text("UPDATE trial SET id = :id WHERE round = 1"), {"id": earlier})

    assert work.due(store, night.id, 1) == []


@pytest.mark.parametrize(
    ("scores", "stops"),
    [
        ((3.0, 3.0, 2.0), True),
        ((3.0, 5.0, 5.0, 4.0), True),
        ((3.0, 2.0), False),
        ((3.0, 3.0, 4.0), False),
        ((3.0, 5.0, 5.0), False),
        ((3.0, 3.0, 4.0, 4.0), False),
    ],
)
def test_an_arm_stops_after_two_rounds_without_gain(
    store: Store,
    branching: Run,
    play: Play,
    task: Task,
    score_trial: Callable[..., None],
    scores: tuple[float, ...],
    stops: bool,
):
    play(scores[0], run=branching)
    for round_, score in enumerate(scores[1:], start=1):
        work.do(store, branching.id, round_)
        for trial in store.trials(branching.id, round_):
            score_trial(trial, task, score if trial.arm == "none" else 3.0 + round_ / 2)

    report = work.do(store, branching.id, len(scores))

    going_on = {trial.arm for trial in store.trials(branching.id, len(scores))}
    assert going_on == ({"coarse", "checkpoint"} if stops else set(ARMS))
    assert ("; 1 stopped after two rounds without gain" in report.note) is stops


def test_no_attempt_is_planned_once_the_budget_is_gone(
    store: Store, new_run: Callable[..., Run], task: Task, play: Play
):
    run = new_run(task, agents=(REACT,), feedback=ARMS, max_usd=1.0)
    trial = play(3.0, run=run)
    store.record_calls([a_call(trial, cost_usd=1.0)])

    report = work.do(store, run.id, 1)

    assert (report.due, store.trials(run.id, 1)) == (0, [])
    assert report.note.endswith("; 3 not planned because the run's budget (max_usd) is gone")
    store.set_max_usd(run.id, 5.0)
    assert work.do(store, run.id, 1).done == 3


def test_the_budget_is_gone_where_too_little_is_left_for_a_call(
    store: Store, new_run: Callable[..., Run], task: Task, play: Play
):
    run = new_run(task, agents=(REACT,), repetitions=2, max_usd=1.0)
    done = play(3.0, run=run)
    lost = done.model_copy(update={"id": "t-lost", "repetition": 1})
    store.plan_trials([lost])
    unpaid = {"status": OutcomeStatus.INFRASTRUCTURE, "error": "the run's money is used up: ..."}
    outcome = store.outcome(done.id)
    store.record_outcome(outcome.model_copy(update={"trial_id": lost.id, **unpaid}))

    assert work.due(store, run.id, 1) == []
    store.record_outcome(outcome.model_copy(update={"trial_id": lost.id, "attempt": 2}))
    assert work.due(store, run.id, 1) == [done.id]


def a_call(trial: Trial, cost_usd: float) -> ModelCall:
    return ModelCall(
        purpose=CallPurpose.AGENT,
        trial_id=trial.id,
        attempt=1,
        key="a" * 64,
        model="gpt-5.2",
        usage=Usage(input_tokens=10, output_tokens=1),
        cost_usd=cost_usd,
        at=NOON,
    )
