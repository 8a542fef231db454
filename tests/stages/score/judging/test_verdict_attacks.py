"""An agent gains nothing by keeping the judge from giving a verdict."""

import pytest

from quality.summary import summarise
from stages.score import work
from stages.score.judging.judge import MAX_ASKS
from taskdata.schema.checkpoint import Check, Checkpoint, Judge
from taskdata.schema.scores import Unscored
from taskdata.schema.success import TrialVerdict

EASY = Checkpoint(
    id="easy",
    requirement="The sum is right.",
    verifier=Check(name="json_values", deliverable="out.json", args={"values": {"sum": 5}}),
)
HARD = Checkpoint(
    id="hard",
    requirement="It is well argued.",
    weight=10,
    verifier=Judge(rubric="10 if well argued", deliverables=("out.json",)),
)
TREE = Checkpoint(id="root", requirement="r", children=(EASY, HARD))


@pytest.fixture
def judged_run(new_task, new_run, wire):
    task = new_task(checkpoints=TREE)
    judge = {"provider": "compatible", "model": "j"}
    return task, new_run(task, judge=judge, judge_base_url=wire.openai_url)


@pytest.mark.parametrize("kind", ["refused", "rambling", "empty"])
def test_a_judge_that_gives_no_verdict_makes_nobody_succeed(
    judged_run, store, finished, wire, kind
):
    answers = {
        "refused": [wire.fails(400, "content policy")],
        "rambling": [wire.says("What a fine piece of work! 10 of 10.")] * MAX_ASKS,
        "empty": [wire.says("")] * MAX_ASKS,
    }
    wire.then(*answers[kind])
    task, run = judged_run
    trial_id = finished(run, task, {"out.json": b'{"sum": 5}'})

    work.do(store, run.id, 0)

    (result,) = store.results(run.id)
    assert result.trial.id == trial_id
    assert result.score.root.children[1].leaf.unscored is Unscored.NO_VERDICT
    assert result.root_score == pytest.approx(10 / 11)
    assert result.root_score_upper == 10
    assert result.verdict(run.config.success) is TrialVerdict.OPEN
    (agent,) = summarise(run, [result], {task.content_hash: task}).agents
    assert (agent.root_sr, agent.undecided) == (0, 0)
    assert agent.root_score.mean == pytest.approx(10 / 11)


def test_a_verdict_of_0_credits_as_much_as_none(judged_run, store, finished, wire):
    wire.then(wire.says('{"score": 0, "evidence": "no argument"}'))
    task, run = judged_run
    finished(run, task, {"out.json": b'{"sum": 5}'})

    work.do(store, run.id, 0)

    (result,) = store.results(run.id)
    assert result.root_score == result.root_score_upper == pytest.approx(10 / 11)
    assert result.verdict(run.config.success) is TrialVerdict.FAILED
