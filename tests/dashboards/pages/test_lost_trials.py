from dashboards.pages.lost_trials import lost_trials


def test_causes_come_with_their_agents_and_trials(store, new_run, new_task, plan, lose, finish):
    tasks = [new_task(name) for name in ("one", "two", "three")]
    run = new_run(*tasks, agents=("nop", "reference"))
    down = [plan(run, task, agent) for task in tasks for agent in ("nop", "reference")]
    for trial in down:
        lose(trial, "server down\nfor maintenance")
    unscored = plan(run, tasks[0], "nop", repetition=1)
    finish(unscored)
    store.record_scoring_error(unscored.id, "renderer did not start")
    first, second = lost_trials(store.results(run.id))
    assert first.cause == "server down for maintenance"
    assert first.agents == ("nop", "reference")
    assert first.trials == 6
    assert set(first.trial_ids) == {trial.id for trial in down}
    assert (second.cause, second.trial_ids) == ("renderer did not start", (unscored.id,))
