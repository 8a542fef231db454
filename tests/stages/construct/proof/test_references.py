"""Solutions drafted by a model count only if they earn the full score."""

import json

import pytest

from stages.construct.proof import prove, references
from taskdata.schema.checkpoint import Checkpoint, Judge
from taskdata.schema.construct import CandidateStatus, Construction


def solution(expression: str, final_answer: str, tool: str = "Calculator") -> dict[str, object]:
    arguments = json.dumps({"expression": expression})
    step = {"tool": tool, "thought": "Add them up.", "arguments": arguments}
    return {"steps": [step], "final_answer": final_answer}


@pytest.fixture
def says(wire):
    def script(*solutions: dict[str, object]) -> None:
        wire.then(*(wire.says(json.dumps(one)) for one in solutions))

    return script


@pytest.fixture
def unsolved(bring, sums, wire):
    """A candidate at the prove stage that lacks a solution."""
    (candidate,) = bring(sums(expression=None), draft_references=True, base_url=wire.openai_url)
    return candidate


def test_a_solution_that_fails_goes_back_and_the_next_one_counts(store, unsolved, says, wire):
    says(solution("40 + 1", "It is 41."), solution("40 + 2", "It is 42."))
    report = prove.do(store, "r1")
    assert report.note == "1 proven"
    drafting, proving = store.steps(unsolved.id)[-2:]
    assert (drafting.verdict, drafting.calls, drafting.attempt) == ("reference_drafted", 2, 1)
    assert (proving.verdict, proving.attempt) == ("proven", 2)
    told = wire.seen[1].body["messages"][-1]["content"]
    assert "the reference solution earns 0.00 of 10" in told
    assert "40 + 1" in told
    (step,) = store.draft(unsolved.id).reference.steps
    assert (step.arguments, step.result) == ({"expression": "40 + 2"}, "42")
    assert store.candidate(unsolved.id).stage is Construction.REVIEW


def test_an_accepted_solution_is_not_played_a_second_time(store, unsolved, says):
    says(solution("40 + 2", "It is 42."))
    prove.do(store, "r1")
    facts = store.steps(unsolved.id)[-1].facts
    assert len(store.proof_trials([facts["task_hash"]])) == 2


def test_a_chain_that_misbehaves_goes_back(store, unsolved, says, wire):
    says(solution("40 / 0", "It is 42."), solution("40 + 2", "It is 42."))
    assert prove.do(store, "r1").note == "1 proven"
    assert "step 1, Calculator: refused" in wire.seen[1].body["messages"][-1]["content"]


def test_a_tool_that_the_task_does_not_offer_goes_back(store, unsolved, says, wire):
    says(solution("42", "It is 42.", tool="Solver"), solution("40 + 2", "It is 42."))
    assert prove.do(store, "r1").note == "1 proven"
    assert "'Solver'] cannot be called here" in wire.seen[1].body["messages"][-1]["content"]


def test_without_a_solution_that_counts_the_task_stays_unproven(store, unsolved, says, wire):
    says(*[solution("40 + 1", "It is 41.")] * 9)
    assert prove.do(store, "r1").note == "1 unproven"
    assert len(wire.seen) == store.refresh("r1").config.max_asks
    drafting = store.steps(unsolved.id)[-2]
    assert drafting.verdict == "no_reference"
    assert drafting.reasons[0] == "the reference solution earns 0.00 of 10"
    assert store.draft(unsolved.id).reference is None
    candidate = store.candidate(unsolved.id)
    assert (candidate.stage, candidate.status) == (Construction.REVIEW, CandidateStatus.OPEN)


def test_a_model_out_of_reach_leaves_the_candidate_due(store, unsolved, says, wire):
    wire.then(wire.fails(401, "who are you"))
    report = prove.do(store, "r1")
    assert (report.due, report.done, report.errors) == (1, 0, 1)
    assert report.note.count("first cause") == 1
    says(solution("40 + 2", "It is 42."))
    assert prove.do(store, "r1").note == "1 proven"


def test_a_spent_budget_proves_without_a_draft(store, bring, sums, wire):
    bring(
        sums(expression=None),
        draft_references=True,
        base_url=wire.openai_url,
        limits={"max_calls": 0},
    )
    assert prove.do(store, "r1").note == "1 unproven"
    assert wire.seen == []


def test_only_what_code_can_confirm_is_drafted(store, bring, sums, wire):
    judged = Checkpoint(id="root", requirement="Friendly.", verifier=Judge(rubric="10: friendly"))
    config = {"draft_references": True, "base_url": wire.openai_url}
    bring(sums("judged", expression=None, checkpoints=judged), sums("solved"), **config)
    assert references.due(store, "r1") == []
    assert prove.do(store, "r1").note == "1 proven, 1 unproven"
    assert wire.seen == []
