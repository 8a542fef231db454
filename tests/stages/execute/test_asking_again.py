"""Leaves that use a tool's answer from right after the trial, in every later scoring, too."""

import json
from pathlib import Path

import pytest

from stages.prepare.rescore import copy_trials, plan_rescoring, rescoring_config
from stages.prepare.work import require_usable
from stages.score import work as scoring
from stages.score.asked_again import check_of, filled
from taskdata.errors import BadTaskData
from taskdata.schema.asked_again import ToolAnswer
from taskdata.schema.checkpoint import AskedAgain, Check, Checkpoint
from taskdata.schema.run import OutcomeStatus
from taskdata.schema.scores import Unscored


def asks(check: Check, tool: str = "python_execute", **fields) -> AskedAgain:
    return AskedAgain(tool=tool, check=check, **fields)


def says_answer(**fields) -> Check:
    return Check(name="answer_contains", args={"all": [["{answer}"]]}, **fields)


def kept(text: str = "", error: str | None = None) -> bytes:
    answer = ToolAnswer(
        tool="t", arguments={}, text=text, error=error, asked_at="2026-01-01T00:00:00Z"
    )
    return answer.canonical_json().encode()


@pytest.fixture
def of_code(new_answer_task):
    """A task whose leaf compares the answer with what a program prints after the trial."""

    def make(final_answer: str, **codes: str):
        verifiers = {
            name: asks(says_answer(), arguments={"code": code}, first_chars=4)
            for name, code in codes.items()
        }
        leaves = [
            Checkpoint(id=name, requirement="It is what is.", verifier=verifier)
            for name, verifier in verifiers.items()
        ]
        return new_answer_task(
            tools=("python_execute",),
            checkpoints=Checkpoint(id="root", requirement="All.", children=tuple(leaves)),
            reference={"steps": [], "final_answer": final_answer},
        )

    return make


@pytest.fixture
def scored(store, evaluate, tmp_path: Path):
    from taskdata.schema.agent import AgentSpec

    def run(task):
        outcome, _ = evaluate(AgentSpec.parse("reference"), task)
        assert outcome.status is OutcomeStatus.FINISHED
        (result,) = store.results(store.runs()[0].id)
        scoring.do(store, result.trial.run_id, 0, tmp_path / "home")
        (result,) = store.results(result.trial.run_id)
        return outcome, {leaf.leaf_id: leaf for leaf in result.score.leaves}

    return run


def test_answers_are_kept_with_the_trial_and_the_leaves_compare_with_them(of_code, scored, store):
    away = "raise SystemExit('the world is away')"
    codes = {"fresh": "print('teal')", "stale": "print('grey')", "away": away}
    outcome, leaves = scored(of_code("It is teal.", **codes))
    assert leaves["fresh"].score == 10.0
    assert leaves["stale"].score == 0.0
    assert "grey" in leaves["stale"].reason
    # A failing tool is not the agent's fault: the trial is scored, and the leaf is unscored.
    assert (leaves["away"].score, leaves["away"].unscored) == (None, Unscored.NOT_OBSERVED)
    assert "gave no answer when it was called again" in leaves["away"].reason
    kept = {
        file.name: json.loads(store.artifacts.read_bytes(file.sha256))
        for file in outcome.deliverables
    }
    assert kept.keys() == {f"asked_again/{name}.json" for name in codes}
    assert kept["asked_again/fresh.json"]["text"].startswith("teal")
    source = store.runs()[0]
    again = plan_rescoring(store, source, rescoring_config(source), "again")
    copy_trials(store, again)
    scoring.do(store, again.id, 0)
    (result,) = store.results(again.id)
    assert {leaf.leaf_id: leaf for leaf in result.score.leaves} == leaves


def test_numbers_of_the_answer_stay_numbers_wherever_they_stand():
    check = Check(
        name="json_values",
        deliverable="out.json",
        args={"values": {"rate": "{answer}", "text": "at {answer}"}, "tolerance": 0.1},
    )
    made = check_of(asks(check, path="rates[0].EUR"), kept('{"rates": [{"EUR": 1.08}]}'))
    assert made.args == {"values": {"rate": 1.08, "text": "at 1.08"}, "tolerance": 0.1}
    assert check_of(asks(says_answer(), first_chars=10), kept("2026-05-04T10:00:00Z")) == filled(
        says_answer(), "2026-05-04"
    )


@pytest.mark.parametrize(
    ("fields", "answer", "says"),
    [
        ({}, None, "no tool was called again"),
        ({}, b"{", "cannot be read"),
        ({}, kept(error="no_network: gone"), "no_network: gone"),
        ({"path": "a.b"}, kept("no JSON"), "did not answer with JSON"),
        ({"path": "a.b"}, kept('{"a": {}}'), "has nothing at a.b"),
        ({}, kept("word"), "args.expected"),
    ],
)
def test_without_an_answer_to_compare_with_nothing_is_checked(fields, answer, says):
    check = Check(name="answer_number", args={"expected": "{answer}"})
    assert says in check_of(asks(check, **fields), answer)


@pytest.mark.parametrize(
    ("verifier", "says"),
    [
        (asks(says_answer(), tool="web_search"), "'web_search' again, which is no tool"),
        (asks(Check(name="answer_number", args={"at": "{answer}"})), "args"),
    ],
)
def test_what_could_never_be_compared_is_refused_before_the_run(new_answer_task, verifier, says):
    leaf = Checkpoint(id="now", requirement="It is what is.", verifier=verifier)
    task = new_answer_task(tools=("python_execute",), checkpoints=leaf)
    with pytest.raises(BadTaskData, match=says):
        require_usable(task)
