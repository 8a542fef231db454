"""A panel: each judge is asked by itself, and what they say becomes one score."""

import json
from collections import Counter

import pytest

from stages.prepare.rescore import copy_trials, plan_rescoring, rescoring_config
from stages.score import work
from stages.score.judging.judge import MAX_ASKS
from stages.score.judging.panel import asking_order, combined, pooled
from stages.workers import backlog as backlogs
from stages.workers import slots
from taskdata.schema.checkpoint import Checkpoint, Judge
from taskdata.schema.scores import LeafScore, Unscored

NAMES = ("a", "b", "c")


@pytest.mark.parametrize(
    ("scores", "mean", "median", "majority"),
    [
        ((8, 9, 1), 6, 8, 8.5),
        ((7, 6, 10), 23 / 3, 7, 6.5),
        ((9, 5), 7, 7, 5),
        ((10, 9, 2, 4), 6.25, 6.5, 3),
        ((3,), 3, 3, 3),
    ],
)
def test_what_scores_come_to(scores, mean, median, majority):
    # At 7 it is no success yet, and neither is a tie of votes.
    found = [pooled(scores, rule, 7.0) for rule in ("mean", "median", "majority")]
    assert found == pytest.approx([mean, median, majority])


def test_each_judge_is_the_first_about_as_often_and_the_order_is_repeated():
    orders = [asking_order("trial", f"leaf-{n}", 3) for n in range(600)]
    assert orders == [asking_order("trial", f"leaf-{n}", 3) for n in range(600)]
    assert orders != [asking_order("other trial", f"leaf-{n}", 3) for n in range(600)]
    assert min(Counter(map(tuple, orders)).values()) > 60


def leaf(model: str, score: float | None, reason: str = "because") -> LeafScore:
    unscored = Unscored.NO_VERDICT if score is None else None
    verifier = f"judge:{model}@2"
    return LeafScore(leaf_id="x", score=score, verifier=verifier, reason=reason, unscored=unscored)


def test_who_gave_no_verdict_is_named_and_the_others_decide():
    said = [leaf("b/b", 4), leaf("a:1", None, "it refused"), leaf("c@x", 9, "good")]
    found = combined(said, "mean", 7.0)
    assert (found.score, found.disagreement, found.unscored) == (6.5, 5, None)
    assert found.verifier == "judge:mean(a:1, b/b, c@x)@2"
    assert found.reason.startswith("mean of b/b 4, c@x 9: ")
    assert found.reason.endswith("Without a verdict: a:1: it refused")
    assert [(one.name, one.score) for one in found.panel] == [("b/b", 4), ("a:1", None), ("c@x", 9)]
    assert LeafScore.model_validate(found.model_dump(mode="json")) == found


def test_a_long_reason_hides_no_missing_verdict():
    found = combined([leaf("a", 4, "x" * 2_000), leaf("b", None, "it refused")], "mean", 7.0)
    assert len(found.reason) <= 2_000
    assert found.reason.endswith("b: it refused")
    assert found.disagreement is None


def test_without_any_verdict_the_leaf_is_unscored():
    found = combined([leaf("a", None), leaf("b", None)], "median", 7.0)
    assert (found.score, found.unscored, found.disagreement) == (None, Unscored.NO_VERDICT, None)
    assert found.reason == "no judge of the panel gave a verdict: a: because; b: because"


@pytest.fixture
def judged(new_task):
    leaves = tuple(
        Checkpoint(id=f"leaf-{n}", requirement=f"Point {n}.", verifier=Judge(rubric="10 if so."))
        for n in range(2)
    )
    return new_task(checkpoints=Checkpoint(id="root", requirement="All.", children=leaves))


@pytest.fixture
def new_panel_run(new_run, wire):
    """Make a run whose judges are `a`, `b` and `c`, each behind the scripted server."""

    def make(*tasks, **config):
        judges = [f"compatible/{name}" for name in NAMES]
        return new_run(*tasks, judge=judges, judge_base_url=wire.openai_url, **config)

    return make


def says(wire, **scores):
    """Have each judge say a score, or whatever else is given."""

    def respond(seen):
        name = seen.body["model"]
        said = scores[name]
        if not isinstance(said, int):
            return said
        return wire.says(json.dumps({"score": said, "evidence": f"opinion of {name}"}), model=name)

    wire.respond = respond


def asked(wire) -> Counter:
    return Counter(seen.body["model"] for seen in wire.seen)


def test_every_judge_is_asked_alone_about_every_leaf(store, new_panel_run, judged, finished, wire):
    says(wire, a=2, b=8, c=9)
    run = new_panel_run(judged)
    trial = finished(run, judged, final_answer="A memo.")
    report = work.do(store, run.id, 0)
    assert (report.done, report.errors) == (1, 0)
    assert asked(wire) == {"a": 2, "b": 2, "c": 2}
    assert not any("opinion of" in json.dumps(seen.body["messages"]) for seen in wire.seen)

    score = store.score(trial)
    assert score.root.score == 8
    for one in score.leaves:
        assert (one.score, one.disagreement) == (8, 7)
        assert one.verifier.startswith("judge:median(a, b, c)@")
        assert {opinion.name: opinion.reason for opinion in one.panel} == {
            name: f"opinion of {name}" for name in NAMES
        }
        order = [NAMES[place] for place in asking_order(trial, one.leaf_id, 3)]
        assert [opinion.name for opinion in one.panel] == order
    assert store.results(run.id)[0].judging.calls == 6


def test_one_who_refuses_or_babbles_leaves_it_to_the_others(
    store, new_panel_run, judged, finished, wire
):
    says(wire, a=4, b=wire.fails(400, "not this"), c=wire.says("well, hm", model="c"))
    run = new_panel_run(judged, panel="mean")
    trial = finished(run, judged, final_answer="A memo.")
    work.do(store, run.id, 0)
    assert asked(wire)["c"] == 2 * MAX_ASKS
    for one in store.score(trial).leaves:
        assert (one.score, one.disagreement) == (4, None)
        assert "Without a verdict: " in one.reason
        assert {opinion.name for opinion in one.panel if opinion.score is None} == {
            "compatible/b",
            "c",
        }


def test_what_there_is_nothing_to_look_at_in_no_judge_is_asked(
    store, new_panel_run, judged, finished, wire
):
    run = new_panel_run(judged)
    trial = finished(run, judged, final_answer="")
    work.do(store, run.id, 0)
    assert wire.seen == []
    assert store.score(trial).root.score == 0
    assert {one.panel for one in store.score(trial).leaves} == {()}


def test_a_trial_waits_for_a_judge_and_the_others_are_paid_once(
    store, new_panel_run, judged, finished, wire, monkeypatch
):
    monkeypatch.setattr(slots, "SECONDS_BETWEEN_ASKS", 0.05)
    monkeypatch.setattr(backlogs, "SECONDS_BETWEEN_PROBES", 0.1)
    monkeypatch.setattr(backlogs, "SILENT_SECONDS", 0.1)
    says(wire, a=4, b=6, c=wire.fails(500, retry_after=2000))
    run = new_panel_run(judged)
    waiting = [finished(run, judged, final_answer=f"Memo {n}.") for n in range(16)]
    report = work.do(store, run.id, 0)

    # Though two judges answer, a panel that one keeps silent in is given up as one judge is.
    assert (report.due, report.done, report.errors) == (16, 0, 16)
    begun = asked(wire)["a"] // 2
    assert 0 < begun < 16
    assert any("did not answer" in (r.scoring_error or "") for r in store.results(run.id))

    wire.seen.clear()
    says(wire, a=4, b=6, c=8)
    assert work.do(store, run.id, 0).done == 16
    assert asked(wire) == {"a": 2 * (16 - begun), "b": 2 * (16 - begun), "c": 32}
    assert {store.score(trial).root.score for trial in waiting} == {6}


def test_all_judged_trials_of_a_panel_wait_in_one_line(store, new_run, judged, task, finished):
    run = new_run(judged, task, judges=["openai/a", "openai/b", "anthropic/c"])
    first, second = finished(run, judged), finished(run, task)
    lines = work.by_judge(store, run.id, [first, second])
    assert lines == {"openai and anthropic": [first], "no model": [second]}


def test_another_rule_over_the_same_judges_costs_nothing(
    store, new_panel_run, judged, finished, wire
):
    says(wire, a=2, b=8, c=9)
    run = new_panel_run(judged)
    finished(run, judged, final_answer="A memo.")
    work.do(store, run.id, 0)
    wire.seen.clear()

    config = rescoring_config(run, keeps_verdicts=True, panel="majority")
    again = plan_rescoring(store, run, config, "majority")
    copy_trials(store, again)
    work.do(store, again.id, 0)
    (result,) = store.results(again.id)
    assert (result.root_score, result.judging.calls, wire.seen) == (8.5, 0, [])
