"""A judge that does not answer holds up no trial that needs none, and costs a few of the others."""

import asyncio
import json

import pytest

from stages.score import work
from stages.workers import backlog as backlogs
from stages.workers import slots
from taskdata.schema.checkpoint import Checkpoint, Judge

VERDICT = json.dumps({"score": 6, "evidence": "It says so."})
CORRECT = json.dumps({"sum": 5, "difference": 1, "product": 6}).encode()


@pytest.fixture
def judged(new_task):
    leaf = Checkpoint(id="root", requirement="Good.", verifier=Judge(rubric="10 if so."))
    return new_task("judged", checkpoints=leaf)


@pytest.fixture
def new_judged_run(new_run, wire):
    """Make a run over tasks with a judge."""

    def make(*tasks, **config):
        judge = {"provider": "compatible", "model": "j"}
        return new_run(*tasks, judge=judge, judge_base_url=wire.openai_url, **config)

    return make


def test_trials_without_judged_leaves_do_not_wait_for_the_judge(
    store, new_judged_run, judged, task, finished, wire
):
    run = new_judged_run(judged, task)
    waiting = [finished(run, judged, final_answer="A memo.") for _ in range(8)]
    others = [finished(run, task, {"out.json": CORRECT}) for _ in range(8)]
    came_late = []

    async def after_the_others(seen, request):
        for _ in range(600):
            if all(store.score(trial_id) for trial_id in others):
                return await wire.says(VERDICT)(seen, request)
            await asyncio.sleep(0.1)
        came_late.append(seen)
        return await wire.says(VERDICT)(seen, request)

    wire.respond = lambda seen: after_the_others
    assert work.score_trials(store, run.id, [*waiting, *others]) == 0
    assert not came_late
    assert {store.score(trial_id).root.score for trial_id in waiting} == {6}
    assert {store.score(trial_id).root.score for trial_id in others} == {10}


def test_trials_of_a_judge_that_never_answers_are_left_for_later(
    store, new_judged_run, judged, task, finished, wire, monkeypatch
):
    monkeypatch.setattr(slots, "SECONDS_BETWEEN_ASKS", 0.05)
    # Longer than it takes to score the other trial, which probes are made beside.
    monkeypatch.setattr(backlogs, "SECONDS_BETWEEN_PROBES", 0.5)
    monkeypatch.setattr(backlogs, "SILENT_SECONDS", 0.1)
    run = new_judged_run(judged, task)
    waiting = [finished(run, judged, final_answer=f"Memo {n}.") for n in range(20)]
    other = finished(run, task, {"out.json": CORRECT})
    wire.respond = lambda seen: wire.fails(500, retry_after=2000)

    report = work.do(store, run.id, 0)

    assert (report.due, report.done, report.errors) == (21, 1, 20)
    assert store.score(other).root.score == 10
    assert len(wire.seen) < 15
    reasons = [result.scoring_error or "" for result in store.results(run.id)]
    untouched = [reason for reason in reasons if "trials in a row" in reason]
    assert len(untouched) == 20 - len(wire.seen)
    assert f"provider compatible at {wire.openai_url} did not answer" in untouched[0]

    wire.respond = lambda seen: wire.says(VERDICT)
    report = work.do(store, run.id, 0)
    assert (report.due, report.done) == (20, 20)
    assert {store.score(trial_id).root.score for trial_id in waiting} == {6}


def test_a_run_without_a_judge_has_one_line(store, new_run, judged, finished):
    run = new_run(judged)
    trials = [finished(run, judged) for _ in range(3)]
    assert work.by_judge(store, run.id, trials) == {"no model": trials}
