"""Leaves of one `all_required` node share a question; every other leaf has its own."""

import json
from dataclasses import replace

import pytest

from environments.ports import Media
from stages.score import work
from stages.score.evidence import TrialEvidence
from stages.score.judging.judge import MAX_ASKS, group_request
from stages.score.judging.questions import MOST_TOGETHER, asked_together
from stages.score.judging.shown import show
from stages.score.judging.sight import Sight
from stages.score.judging.tokens import tokens_of
from taskdata.schema.checkpoint import Check, Checkpoint, Judge
from taskdata.schema.scores import Unscored


def judged_leaf(name: str, rubric: str = "10 if so.") -> Checkpoint:
    return Checkpoint(id=name, requirement=f"{name} holds.", verifier=Judge(rubric=rubric))


def required(*children: Checkpoint, **more: object) -> Checkpoint:
    return Checkpoint(id="all", requirement="All.", rule="all_required", children=children, **more)


CHECKED = Checkpoint(
    id="checked", requirement="Said.", verifier=Check(name="answer_contains", args={"all": [["x"]]})
)
GROUP = required(judged_leaf("one"), CHECKED, judged_leaf("two"))
TREE = Checkpoint(id="root", requirement="All.", children=(judged_leaf("alone"), GROUP))


def ids(root: Checkpoint) -> list[list[str]]:
    return [[one.leaf.id for one in group] for group in asked_together(root)]


def test_required_leaves_of_one_node_are_a_group_and_all_others_are_alone():
    assert ids(TREE) == [["alone"], ["one", "two"]]
    assert ids(judged_leaf("only")) == [["only"]]
    assert ids(CHECKED) == []
    leaves = [judged_leaf(f"leaf-{number}") for number in range(MOST_TOGETHER + 3)]
    assert [len(group) for group in ids(required(*leaves))] == [MOST_TOGETHER, 3]


@pytest.fixture
def scored(store, new_run, new_task, finished, wire):
    """Score one trial, whose judge gives these replies to questions about the group."""
    alone = wire.says(json.dumps({"score": 4, "evidence": "Half of it."}))

    def score(*replies, tree=TREE, **config):
        left = iter(replies)
        wire.respond = lambda seen: next(left) if "requirements follow" in said(seen) else alone
        task = new_task(checkpoints=tree)
        names = config.pop("judge", "compatible/a")
        run = new_run(task, judge=names, judge_base_url=wire.openai_url, **config)
        trial = finished(run, task, final_answer="x")
        report = work.do(store, run.id, 0)
        assert (report.done, report.errors) == (1, 0)
        return {leaf.leaf_id: leaf for leaf in store.score(trial).leaves}

    return score


def said(seen) -> str:
    return seen.body["messages"][-1]["content"]


def verdicts(wire, **scores: int):
    found = {number.strip("n"): {"score": s, "evidence": number} for number, s in scores.items()}
    return wire.says(json.dumps(found))


def test_a_group_is_one_question_with_a_verdict_on_each_leaf(scored, wire):
    found = scored(verdicts(wire, n1=10, n2=3))
    assert {name: found[name].score for name in ("alone", "one", "two")} == {
        "alone": 4,
        "one": 10,
        "two": 3,
    }
    assert found["two"].reason == "n2"
    assert len(wire.seen) == 2
    (question,) = [said(seen) for seen in wire.seen if "requirements follow" in said(seen)]
    evidence, _, asked = question.partition("\nEND UNTRUSTED ")
    assert "1. Requirement: one holds." in asked
    assert "2. Requirement: two holds." in asked
    # All questions about the trial are equal up to the requirements.
    assert {said(seen).partition("\nEND UNTRUSTED ")[0] for seen in wire.seen} == {evidence}
    (body,) = [seen.body for seen in wire.seen if said(seen) == question]
    assert body["response_format"]["json_schema"]["schema"]["required"] == ["1", "2"]


def test_verdicts_on_other_numbers_never_become_scores(scored, wire):
    strange = [verdicts(wire, n1=10), verdicts(wire, n1=9, n2=9, n3=9), verdicts(wire, n0=9, n1=9)]
    found = scored(*strange[:MAX_ASKS])
    assert [found[name].unscored for name in ("one", "two")] == [Unscored.NO_VERDICT] * 2
    assert "not on 1 to 2" in found["one"].reason
    assert found["alone"].score == 4


def test_a_second_ask_may_bring_all_verdicts(scored, wire):
    found = scored(wire.says("well, hm"), verdicts(wire, n1=8, n2=9))
    assert [found[name].score for name in ("one", "two")] == [8, 9]


def test_each_judge_of_a_panel_is_asked_once_about_a_group(scored, wire):
    replies = [verdicts(wire, n1=2, n2=10), verdicts(wire, n1=8, n2=6)]
    found = scored(*replies, judge=["compatible/a", "compatible/b"], panel="mean")
    assert [found[name].score for name in ("one", "two")] == [5, 8]
    assert [found[name].disagreement for name in ("one", "two")] == [6, 4]
    assert len(wire.seen) == 4


def test_a_long_group_cuts_the_files_and_no_rubric(new_task):
    leaves = [judged_leaf(f"leaf-{n}", f"Rubric {n}: " + "to the word " * 60) for n in range(5)]
    task = new_task(checkpoints=required(*leaves))
    sight = Sight(max_tokens=6_000)
    trial = TrialEvidence(views={}, final_answer="lorem ipsum " * 20_000, task=task)
    (group,) = asked_together(task.checkpoints)
    request = group_request(show(trial, task.checkpoints.leaves(), {}, sight), group)
    system, asked = request.messages
    for one in group:
        assert one.verifier.rubric in asked.text
    assert asked.opening is not None
    shown = "".join(piece for piece in asked.opening.pieces if not isinstance(piece, Media))
    assert "more characters are not shown" in shown
    total = sum(map(tokens_of, (system.text, shown, asked.text))) + request.max_tokens
    assert total <= sight.max_tokens
    # With one leaf a question there is room for more.
    alone = replace(trial, task=new_task(checkpoints=required(leaves[0])))
    more = show(alone, leaves[:1], {}, sight).opening.pieces
    assert sum(map(len, more)) > 1.5 * len(shown)
