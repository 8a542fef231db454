import pytest

from dashboards.pages.trial_rows import trial_rows, trials_on_page
from taskdata.schema.scores import Unscored
from taskdata.schema.success import SuccessRule

RULE = SuccessRule(threshold=7, min_coverage=0.5)


@pytest.mark.parametrize(
    ("score", "verdict"),
    [
        (7.1, "succeeded"),
        (7.0, "failed"),
        (0.0, "failed"),
        (None, "unscored"),
        (Unscored.NO_VERDICT, "open"),
    ],
)
def test_a_trial_succeeds_above_the_threshold(
    store, new_run, new_task, plan, finish, grade, score, verdict
):
    task = new_task()
    run = new_run(task)
    trial = plan(run, task)
    finish(trial)
    grade(trial, score)
    (row,) = trial_rows(store.results(run.id), store.tasks_of_run(run.id), RULE)
    shown = (0.0, 10.0) if verdict == "open" else (score, score)
    assert (row.score, row.upper) == shown
    assert (row.verdict, row.state) == (verdict, "finished")
    assert row.failure_stage == ("plan" if verdict == "failed" else "")


def test_a_lost_trial_and_one_still_due_are_told_apart(night, store):
    rows = trial_rows(store.results(night.id), store.tasks_of_run(night.id), RULE)
    states = {(r.agent, r.task_id): (r.verdict, r.state) for r in rows if r.agent == "nop"}
    assert states == {
        ("nop", "first"): ("infrastructure", "infrastructure error"),
        ("nop", "second"): ("due", "due"),
    }


def test_of_too_many_trials_the_first_repetitions_of_all_agents_are_on_the_page(
    store, new_run, new_task, plan
):
    agents = ("nop", "react:openai/gpt-5.2")
    tasks = [new_task("first"), new_task("second")]
    run = new_run(*tasks, agents=agents)
    for agent in agents:
        for task in tasks:
            for repetition in range(3):
                plan(run, task, agent, repetition=repetition)
    results = store.results(run.id)

    chosen = trials_on_page(results, most=6)

    places = [(r.trial.agent, r.trial.task_id, r.trial.repetition) for r in chosen]
    assert places == sorted(places)
    assert set(places) == {
        *((agent, task.id, 0) for agent in agents for task in tasks),
        *((agent, "first", 1) for agent in agents),
    }
    assert trials_on_page(results, most=12) == results
