import pytest

from dashboards.pages.trial_rows import trial_rows, trials_on_page
from flows.failures import failures_of
from taskdata.schema.night import FailureCluster
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


def test_a_row_says_what_figures_of_failures_ask_for(store, new_run, new_task, plan, finish, grade):
    agent = "react:openai/gpt-5.2"
    run = new_run(new_task(), agents=(agent,))
    trial = plan(run, store.tasks_of_run(run.id).popitem()[1], agent)
    finish(trial)
    grade(trial, 1.0)
    found = failures_of(store, run)
    (row,) = trial_rows(store.results(run.id), store.tasks_of_run(run.id), RULE, found)
    assert (row.failure_type, row.failed_levels) == ("formatting", "A")
    assert row.cluster == found.clusters[0].short_key


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


def test_some_trials_of_each_cluster_are_on_the_page_whatever_else_is(
    store, new_run, new_task, plan
):
    run, task = new_run(new_task()), new_task()
    trials = [plan(run, task, repetition=repetition) for repetition in range(20)]
    late = trials[-1].id
    cluster = FailureCluster(
        key="k",
        title="K",
        stage="plan",
        trials=1,
        agents=("nop",),
        tasks=("t",),
        example=late,
        trial_ids=(late,),
    )
    chosen = trials_on_page(store.results(run.id), most=2, clusters=(cluster,))
    assert {r.trial.repetition for r in chosen} == {0, 19}
