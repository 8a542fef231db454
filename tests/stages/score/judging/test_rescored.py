"""Scoring a run again: the checks of today, another judge, or the verdicts that are there."""

import json

import pytest

from stages.prepare.rescore import copy_trials, plan_rescoring, rescoring_config
from stages.score import work
from taskdata.schema.checkpoint import Check, Checkpoint, Judge

JUDGE_B = {"provider": "compatible", "model": "b"}


@pytest.fixture
def source(store, new_run, new_task, finished, wire):
    """A run that judge `a` has scored: a checked leaf, and a judged one with 4."""
    leaves = (
        Checkpoint(
            id="sum",
            requirement="Five.",
            verifier=Check(name="answer_contains", args={"all": [["5"]]}),
        ),
        Checkpoint(id="tone", requirement="Polite.", verifier=Judge(rubric="10 if so.")),
    )
    task = new_task(checkpoints=Checkpoint(id="root", requirement="All.", children=leaves))
    wire.respond = lambda seen: verdict({"a": 4, "b": 8}[seen.body["model"]], wire, seen)
    judge = {"provider": "compatible", "model": "a"}
    run = new_run(task, judge=judge, judge_base_url=wire.openai_url)
    finished(run, task, final_answer="It is 5, thank you.")
    work.do(store, run.id, 0)
    assert [seen.body["model"] for seen in wire.seen] == ["a"]
    wire.seen.clear()
    return run


def verdict(score: int, wire, seen):
    text = json.dumps({"score": score, "evidence": "It says so."})
    return wire.says(text, model=seen.body["model"])


def rescored(store, source, name: str, **changes: object):
    run = plan_rescoring(store, source, rescoring_config(source, **changes), name)
    copy_trials(store, run)
    work.do(store, run.id, 0)
    (result,) = store.results(run.id)
    return result


def leaves(result) -> dict[str, tuple[float | None, str]]:
    return {leaf.leaf_id: (leaf.score, leaf.verifier) for leaf in result.score.leaves}


def test_another_judge_is_asked_once_and_both_scorings_stay(store, source, wire):
    (before,) = store.results(source.id)
    again = rescored(store, source, "b", judge=JUDGE_B)
    assert [seen.body["model"] for seen in wire.seen] == ["b"]
    assert (before.root_score, again.root_score) == (7, 9)
    assert leaves(again)["tone"][1].startswith("judge:b@")
    assert leaves(again)["sum"] == leaves(before)["sum"]
    assert store.results(source.id) == [before]
    assert again.judging.calls == 1

    wire.seen.clear()
    assert rescored(store, source, "b", judge=JUDGE_B) == again
    assert wire.seen == []


def test_what_the_source_asked_its_judge_is_not_asked_again(store, source, wire):
    again = rescored(store, source, "again", keeps_verdicts=True)
    assert wire.seen == []
    assert leaves(again)["tone"][0] == 4
    assert (again.judging.calls, again.judging.cost_usd) == (0, 0)


def test_the_same_judge_can_be_asked_anew(store, source, wire):
    wire.respond = lambda seen: verdict(6, wire, seen)
    again = rescored(store, source, "retest")
    assert len(wire.seen) == 1
    assert leaves(again)["tone"][0] == 6
