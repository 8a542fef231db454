"""The page of a trial whose result was imported: what nobody measured is no number."""

import json


def test_effort_that_is_unknown_is_shown_as_such(
    store, new_run, new_task, plan, finish, dashboard, details_of
):
    run = new_run(new_task("imported"))
    (trial,) = [plan(run, task) for task in store.tasks_of_run(run.id).values()]
    unknown = ("wall_seconds", "turns", "tool_calls", "tool_errors", "usage", "cost_usd")
    finish(trial, **dict.fromkeys(unknown))

    page = dashboard(run)

    facts = dict(details_of(page, trial.id)["facts"])
    assert facts["Effort"] == "– turns, – tool calls, – failed"
    assert (facts["Tokens"], facts["Time"], facts["Cost"]) == ("–", "–", "unknown")
    assert "tokens or time unknown for 1 trial" in page


def test_a_transcript_that_nobody_kept_is_not_an_empty_one(
    store, new_run, new_task, plan, finish, dashboard, details_of
):
    run = new_run(new_task("imported"))
    (trial,) = [plan(run, task) for task in store.tasks_of_run(run.id).values()]
    unseen = {"events": [], "final_answer": "5", "ending": "finished", "is_outcome_only": True}
    finish(trial, transcript_sha256=store.artifacts.put_bytes(json.dumps(unseen).encode()))

    (entry,) = details_of(dashboard(run), trial.id)["transcript"]

    assert "imported" in entry["title"]
