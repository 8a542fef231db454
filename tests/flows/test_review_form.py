"""The review form of the Prefect UI: everything about a task as text, and the checklist."""

import pytest
from markdown_it import MarkdownIt

from flows.banks import review_form
from flows.banks.reviewing import ReviewInput, apply
from stages.release.review import awaiting, sheet
from taskdata.errors import Misuse
from taskdata.schema.construct import CandidateStatus, Construction
from taskdata.schema.review import ChecklistItem
from taskdata.schema.task import ReferenceSolution, ReferenceStep

POISON = "# big\n</div><script>alert(1)</script> [x](javascript:alert(1)) https://a.example `` ` ``"
YES = {item.value: "yes" for item in ChecklistItem}


@pytest.fixture
def waiting(store, new_task, new_refresh, new_candidate):
    """Two candidates that wait, of which one holds poison wherever a model writes."""
    new_refresh()
    step = ReferenceStep(tool="write_file", arguments={"content": POISON})
    reference = ReferenceSolution(steps=(step,), final_answer=POISON)
    hostile = new_task("hostile", title=POISON, query=POISON, reference=reference)
    leaf = hostile.checkpoints.children[0].model_copy(update={"requirement": POISON})
    tree = hostile.checkpoints.model_copy(
        update={"children": (leaf, *hostile.checkpoints.children[1:])}
    )
    new_candidate(hostile.model_copy(update={"checkpoints": tree}), Construction.REVIEW)
    new_candidate(new_task("plain"), Construction.REVIEW)
    return awaiting(store)


def described(store, waiting, complaint=""):
    return review_form.description([sheet(store, one.id, viewer="") for one in waiting], complaint)


def test_the_form_describes_each_task_with_tree_reference_coverage_and_checklist(store, waiting):
    text = described(store, waiting)
    for said in ("` hostile `", "` plain `", "Checkpoint tree", "write_file", "out.json"):
        assert said in text
    for item in ChecklistItem:
        assert item.question in text


def test_what_a_model_wrote_is_code_and_nothing_else(store, waiting):
    html = MarkdownIt("commonmark", {"html": True}).render(described(store, waiting, POISON))
    assert "<script" not in html
    assert "<a " not in html
    assert "<h1>" not in html
    assert html.count("&lt;script&gt;") >= 5


def test_what_does_not_fit_is_named(store, waiting, monkeypatch):
    monkeypatch.setattr(review_form, "MOST_CHARACTERS", 500)
    assert "Left out here: ` hostile `, ` plain `." in described(store, waiting)


def form(decision, tasks="", comment="", **answers):
    return ReviewInput(
        decision=decision, tasks=tasks, reviewer="kirsten", comment=comment, **answers
    )


def test_the_answers_of_the_form_are_the_checklist(store, waiting):
    assert apply(store, waiting, form("approve those named", "plain", **YES)) == 1
    (decision,) = store.reviews("c-plain")
    assert len(decision.checklist) == len(ChecklistItem)
    assert store.candidate("c-plain").status is CandidateStatus.APPROVED
    back = form("send back those named", "hostile", "the leaf is odd", rubric_right="no")
    assert apply(store, awaiting(store), back) == 1
    assert store.candidate("c-hostile").stage is Construction.CHECKPOINTS


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (form("approve all"), "needs yes to all 6 items"),
        (form("approve all", comment="x", realistic="no"), "does not go with no to realistic"),
        (form("approve those named", "nobody"), "does not wait for review"),
        (form("approve those named"), "no task is named"),
        (form("reject all"), "needs a reason"),
    ],
)
def test_a_form_that_does_not_fit_decides_nothing(store, waiting, answer, says):
    with pytest.raises(Misuse, match=says):
        apply(store, waiting, answer)
    assert len(awaiting(store)) == 2
