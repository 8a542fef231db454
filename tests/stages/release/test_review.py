"""A person decides once, with a name and a reason; an edit goes back to be proven."""

import pytest

from stages.release.review import awaiting, decide, edit, find, sheet
from taskdata.errors import BadTaskData, Misuse
from taskdata.schema.construct import CandidateStatus, Construction


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
    decide(store, waiting, "approve", "kirsten")
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
