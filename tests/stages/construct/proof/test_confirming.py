"""A second solution, whose author has not seen the tree, confirms a reference or disputes it."""

import json

import pytest

from stages.construct.history import reference_kind
from stages.construct.proof import prove
from stages.release.review import sheet
from stages.release.reviewing.deciding import edit
from taskdata.schema.checkpoint import Check, Checkpoint
from taskdata.schema.construct import Construction
from taskdata.schema.release import ReferenceKind


def solution(expression: str, final_answer: str) -> dict[str, object]:
    arguments = json.dumps({"expression": expression})
    step = {"tool": "Calculator", "thought": "Add them up.", "arguments": arguments}
    return {"steps": [step], "final_answer": final_answer}


@pytest.fixture
def says(wire):
    def script(*solutions: dict[str, object]) -> None:
        wire.then(*(wire.says(json.dumps(one)) for one in solutions))

    return script


@pytest.fixture
def solved(bring, sums, wire):
    """A candidate at the prove stage whose reference is to be confirmed."""
    (candidate,) = bring(sums(), draft_twice=True, base_url=wire.openai_url)
    return candidate


def kind_of(store, candidate) -> ReferenceKind:
    draft, steps = store.draft(candidate.id), store.steps(candidate.id)
    return reference_kind(draft, steps, store.reviews(candidate.id))


def test_a_second_solution_that_agrees_confirms_the_reference(store, solved, says, wire):
    assert kind_of(store, solved) is ReferenceKind.SELF_CONSISTENT
    says(solution("2 + 40", "There are 42 apples."))
    assert prove.do(store, "r1").note == "1 proven"
    confirming, proving = store.steps(solved.id)[-2:]
    assert (confirming.verdict, confirming.reasons) == ("reference_confirmed", ())
    assert proving.verdict == "proven"
    assert kind_of(store, solved) is ReferenceKind.TWICE
    (step,) = store.draft(solved.id).reference.steps
    assert step.arguments == {"expression": "40 + 2"}


def test_its_author_sees_neither_the_tree_nor_the_reference(store, solved, says, wire):
    says(solution("2 + 40", "There are 42 apples."))
    prove.do(store, "r1")
    told = "\n".join(message["content"] for message in wire.seen[0].body["messages"])
    assert "forty apples and two more" in told
    assert "42" not in told
    assert "answer_contains" not in told
    assert "40 + 2" not in told


def test_a_second_solution_with_another_result_disputes_the_reference(store, solved, says, wire):
    says(solution("40 - 2", "There are 38 apples."))
    assert prove.do(store, "r1").note == "1 proven"
    assert len(wire.seen) == 1, "its author may not learn from scores"
    confirming = store.steps(solved.id)[-2]
    assert confirming.verdict == "reference_disputed"
    assert confirming.reasons[0] == "the second solution does not reach the full score"
    assert confirming.facts["second"]["final_answer"] == "There are 38 apples."
    assert kind_of(store, solved) is ReferenceKind.SELF_CONSISTENT
    shown = sheet(store, solved.task_id)
    assert shown.reference is ReferenceKind.SELF_CONSISTENT
    assert shown.confirmation == confirming
    assert store.candidate(solved.id).stage is Construction.REVIEW


def test_a_figure_that_a_requirement_names_must_be_the_same(store, bring, sums, says, wire):
    given = Check(name="answer_contains", args={"all": [["apples"]]})
    leaf = Checkpoint(id="n", requirement="The answer says that 42 apples stay.", verifier=given)
    tree = Checkpoint(id="root", requirement="It is right.", children=(leaf,))
    made = sums(checkpoints=tree)
    reference = made.reference.model_copy(update={"final_answer": "42 apples."})
    (candidate,) = bring(
        made.model_copy(update={"reference": reference}), draft_twice=True, base_url=wire.openai_url
    )
    says(solution("40 - 2", "38 apples."))
    prove.do(store, "r1")
    disputed = next(s for s in store.steps(candidate.id) if s.verdict == "reference_disputed")
    assert disputed.reasons == ("the final answer: only the reference states '42'",)


def test_a_chain_that_misbehaves_is_mended_without_a_word_about_the_tree(store, solved, says, wire):
    says(solution("40 / 0", "There are 42."), solution("2 + 40", "There are 42."))
    prove.do(store, "r1")
    told = wire.seen[1].body["messages"][-1]["content"]
    assert "step 1, Calculator: refused" in told
    assert "earn" not in told
    assert kind_of(store, solved) is ReferenceKind.TWICE


def test_a_model_out_of_reach_leaves_the_candidate_due(store, solved, says, wire):
    wire.then(wire.fails(401, "who are you"))
    report = prove.do(store, "r1")
    assert (report.done, report.errors) == (0, 1)
    says(solution("2 + 40", "There are 42."))
    assert prove.do(store, "r1").note == "1 proven"


def test_the_stronger_model_drafts_where_one_is_configured(store, bring, sums, says, wire):
    (candidate,) = bring(
        sums(expression=None),
        draft_references=True,
        reference_model={"provider": "openai", "model": "gpt-5.2-pro"},
        reference_base_url=wire.openai_url,
    )
    says(solution("40 + 2", "It is 42."))
    prove.do(store, "r1")
    assert wire.seen[0].body["model"] == "gpt-5.2-pro"
    assert kind_of(store, candidate) is ReferenceKind.STRONGER_MODEL


def test_a_reference_that_the_author_of_the_tree_drafts_is_self_consistent(
    store, bring, sums, says, wire
):
    (candidate,) = bring(sums(expression=None), draft_references=True, base_url=wire.openai_url)
    assert kind_of(store, candidate) is ReferenceKind.NONE
    says(solution("40 + 2", "It is 42."))
    prove.do(store, "r1")
    assert kind_of(store, candidate) is ReferenceKind.SELF_CONSISTENT


def test_another_tree_asks_for_another_confirmation(store, solved, says, wire):
    says(solution("2 + 40", "There are 42 apples."))
    prove.do(store, "r1")
    draft = store.draft(solved.id)
    (leaf,) = draft.checkpoints.children
    tree = draft.checkpoints.model_copy(
        update={"children": (leaf.model_copy(update={"requirement": "It says 42 apples."}),)}
    )
    weak = store.steps(solved.id)[-1].model_copy(
        update={
            "stage": Construction.CHECKPOINTS,
            "attempt": 9,
            "verdict": "regenerated",
            "draft": draft.model_copy(update={"checkpoints": tree}),
        }
    )
    store.record_step(weak, stage=Construction.PROVE)
    assert kind_of(store, solved) is ReferenceKind.SELF_CONSISTENT
    prove.do(store, "r1")
    assert kind_of(store, solved) is ReferenceKind.TWICE


def test_a_reference_that_a_person_wrote_is_not_confirmed(store, solved, says, wire):
    says(solution("40 - 2", "There are 38 apples."))
    prove.do(store, "r1")
    fields = store.draft(solved.id).model_dump(mode="json")
    fields["reference"]["final_answer"] = "All in all: 42."
    candidate = store.candidate(solved.id)
    edit(store, candidate, fields, "kirsten", "said better", lambda c, d: ())
    assert kind_of(store, solved) is ReferenceKind.PERSON
    assert prove.do(store, "r1").note == "1 proven"
    assert len(wire.seen) == 1
