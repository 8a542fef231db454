"""A person decides once, with a name and a reason; an edit goes back to be proven."""

from datetime import UTC, datetime

import pytest

from stages.construct.assembling import assembled
from stages.construct.history import found_violations, is_sent_back
from stages.release.review import awaiting, find, sheet
from stages.release.reviewing.deciding import decide, edit
from taskdata.errors import BadTaskData, Misuse
from taskdata.schema.construct import CandidateStatus, Construction, Origin
from taskdata.schema.review import ALL_YES, ItemAnswer
from taskdata.schema.withdrawal import Withdrawal


def fields_of(store, candidate, **changes):
    return store.draft(candidate.id).model_dump(mode="json") | changes


def no_rules(_candidate, _draft):
    return ()


def test_a_reviewer_sees_the_seed_and_every_step(store, waiting):
    found = sheet(store, waiting.task_id)
    assert found.seed.query.text == "add things up"
    assert [step.verdict for step in found.steps] == ["drafted"]
    assert found.draft.title == "Sum two numbers"
    assert awaiting(store) == [store.candidate(waiting.id)]


def test_a_decision_is_kept_with_reviewer_time_and_comment(store, waiting):
    decide(store, waiting, "reject", "kirsten", "the numbers are made up")
    (decision,) = store.reviews(waiting.id)
    assert (decision.decision, decision.reviewer) == ("reject", "kirsten")
    assert decision.comment == "the numbers are made up"
    assert decision.at.tzinfo is not None
    assert store.candidate(waiting.id).status is CandidateStatus.REJECTED
    assert awaiting(store) == []


def test_nobody_decides_twice(store, waiting):
    decide(store, waiting, "approve", "kirsten", checklist=ALL_YES)
    with pytest.raises(Misuse, match="does not wait for review: it is at approved"):
        decide(store, store.candidate(waiting.id), "reject", "ole", "no")


def test_a_candidate_that_a_stage_fails_on_can_be_rejected_but_not_approved(store, waiting):
    store.set_candidate(waiting.id, stage=Construction.GENERATE)
    stuck = store.candidate(waiting.id)
    with pytest.raises(Misuse, match="does not wait for review: it is at generate"):
        decide(store, stuck, "approve", "kirsten")
    decide(store, stuck, "reject", "kirsten", "the provider will not have it")
    assert store.candidate(waiting.id).status is CandidateStatus.REJECTED
    assert store.candidates(stage=Construction.GENERATE, status=CandidateStatus.OPEN) == []


def test_a_rejection_needs_a_reason_and_a_decision_a_name(store, waiting):
    with pytest.raises(Misuse, match="needs a reason"):
        decide(store, waiting, "reject", "kirsten", " ")
    with pytest.raises(Misuse, match="needs a reviewer"):
        decide(store, waiting, "approve", " ")


def test_an_edit_is_proven_again(store, waiting):
    changed = fields_of(store, waiting, title="Add up two numbers")
    edit(store, waiting, changed, "kirsten", "clearer", no_rules)
    assert store.draft(waiting.id).title == "Add up two numbers"
    assert store.candidate(waiting.id).stage is Construction.PROVE
    assert awaiting(store) == []


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"title": ""}, "field title"),
        ({"files": ["secret.csv"]}, "field files: 'secret.csv' is not among"),
        ({"files": ["../secret.csv"]}, "must be a relative path"),
        ({"surprise": 1}, "field surprise"),
    ],
)
def test_an_edit_that_makes_no_task_changes_nothing(store, waiting, changes, says):
    before = store.draft(waiting.id)
    with pytest.raises(BadTaskData, match=says):
        edit(store, waiting, fields_of(store, waiting, **changes), "kirsten", "", no_rules)
    assert store.draft(waiting.id) == before
    assert store.reviews(waiting.id) == []


def test_an_edit_that_breaks_a_rule_is_refused_with_the_rule(store, waiting):
    def rules(_candidate, _draft):
        return ("the query names the tool Calculator",)

    with pytest.raises(BadTaskData, match="breaks 1 rules: the query names the tool"):
        edit(store, waiting, fields_of(store, waiting), "kirsten", "", rules)


def test_an_unknown_candidate_is_misuse(store):
    with pytest.raises(Misuse, match="candidate 'nobody' is not in the store"):
        find(store, "nobody")


def test_a_shortened_id_is_told_what_it_may_mean(store, waiting):
    with pytest.raises(Misuse, match=f"did you mean {waiting.task_id}?"):
        find(store, waiting.task_id[:-1])


def answer(item, given, note=""):
    return ItemAnswer(item=item, answer=given, note=note)


def test_an_approval_needs_six_times_yes_or_a_reason_and_never_goes_with_a_no(store, waiting):
    most = ALL_YES[1:]
    for checklist in ((), most, (answer("realistic", "unsure"), *most)):
        with pytest.raises(Misuse, match="needs yes to all 6 items"):
            decide(store, waiting, "approve", "kirsten", checklist=checklist)
    with pytest.raises(Misuse, match="does not go with no to realistic"):
        decide(store, waiting, "approve", "kirsten", "x", (answer("realistic", "no"), *most))
    with pytest.raises(Misuse, match="answers an item twice"):
        decide(store, waiting, "approve", "kirsten", checklist=(*ALL_YES, ALL_YES[0]))
    decide(store, waiting, "approve", "kirsten", "", (answer("realistic", "unsure", "?"), *most))
    assert store.candidate(waiting.id).status is CandidateStatus.APPROVED


@pytest.mark.parametrize(
    ("item", "stage"),
    [("rubric_right", Construction.CHECKPOINTS), ("unambiguous", Construction.REWRITE)],
)
def test_what_is_sent_back_is_due_again_with_what_the_reviewer_found(store, waiting, item, stage):
    decide(store, waiting, "send_back", "kirsten", "", (answer(item, "no", "which year?"),))
    assert store.candidate(waiting.id).stage is stage
    (found,) = found_violations(store.steps(waiting.id))
    assert found.message.endswith("which year?")
    assert found.is_of_tree == (item == "rubric_right")
    assert is_sent_back(store.steps(waiting.id))


def test_a_variation_of_an_exemplar_is_not_sent_back(store, waiting):
    varied = waiting.model_copy(update={"origin": Origin.EXPANSION})
    with pytest.raises(Misuse, match="its tools were recorded with it"):
        decide(store, varied, "send_back", "kirsten", "unclear")


def test_a_verdict_on_what_was_decided_meanwhile_is_refused(store, waiting):
    decide(store, waiting, "approve", "kirsten", checklist=ALL_YES)
    with pytest.raises(Misuse, match="was decided about meanwhile"):
        decide(store, waiting, "reject", "ole", "no")
    assert [one.reviewer for one in store.reviews(waiting.id)] == ["kirsten"]


@pytest.mark.parametrize(
    ("reviewer", "says"), [("x" * 10_000, "at most 200"), ("a\0b", "holds NUL"), ("\n", "reviewer")]
)
def test_a_name_that_is_none_is_refused(store, waiting, reviewer, says):
    with pytest.raises(Misuse, match=says):
        decide(store, waiting, "approve", reviewer, checklist=ALL_YES)


def test_a_withdrawn_task_is_not_approved(store, waiting):
    task = assembled(store, waiting)
    tombstone = Withdrawal(
        task_hash=task.content_hash,
        task_id=task.id,
        bank="office",
        reason="its answer is on the web",
        withdrawn_at=datetime(2026, 3, 1, tzinfo=UTC),
    )
    store.add_withdrawals([tombstone])
    with pytest.raises(Misuse, match="was withdrawn on 2026-03-01"):
        decide(store, waiting, "approve", "kirsten", checklist=ALL_YES)
