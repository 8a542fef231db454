"""The review form of the Prefect UI: a section for each task, with everything about it as text."""

import re

import pytest
from markdown_it import MarkdownIt
from prefect._internal.pydantic.v2_schema import create_v2_schema
from prefect.utilities.schema_tools.validation import is_valid

from flows.banks import review_form, reviewing
from flows.banks.review_form import about, in_field, introduction
from flows.banks.reviewing import Section, TaskAnswer, apply, form_for, review_by_form
from stages.release.review import awaiting, sheet
from stages.release.reviewing.deciding import decide
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


def described(store, one, fault=""):
    return about(sheet(store, one.id, viewer=""), fault)


def form(store, candidates, reviewer="kirsten", **answers):
    """Return the form as it is sent: task_1 is about the first of the candidates."""
    sections = [Section(sheet(store, one.id, viewer="")) for one in candidates]
    given = {
        name: {"verdict": said} if isinstance(said, str) else said for name, said in answers.items()
    }
    return form_for(sections, len(sections)).model_validate({"reviewer": reviewer, **given})


def test_a_section_describes_its_task_with_tree_reference_and_coverage(store, waiting):
    hostile, plain = waiting
    assert "write_file" in described(store, hostile)
    text = described(store, plain, "no reason")
    for said in ("**Not stored: ` no reason `**", "Checkpoint tree", "out.json", "Cheats"):
        assert said in text


def test_the_form_has_one_section_for_each_task_with_the_checklist(store, waiting):
    schema = create_v2_schema("ReviewInput", model_base=type(form(store, waiting)))
    assert [schema["properties"][f"task_{n}"]["title"] for n in (1, 2)] == ["hostile", "plain"]
    assert schema["required"] == ["reviewer"]
    asked = schema["definitions"]["TaskAnswer"]["properties"]
    assert [asked[item.value]["description"] for item in ChecklistItem] == [
        item.question for item in ChecklistItem
    ]
    assert is_valid({"reviewer": "kirsten", "task_2": {"verdict": "reject"}}, schema)
    assert not is_valid({"reviewer": "", "task_2": {"verdict": "reject"}}, schema)
    assert not is_valid({"reviewer": "kirsten", "task_2": {"verdict": "perhaps"}}, schema)


def test_what_a_model_wrote_is_code_and_nothing_else(store, waiting):
    text = described(store, waiting[0], POISON)
    for shown in (text, as_the_ui_takes(in_field(text))):
        html = MarkdownIt("commonmark", {"html": True}).render(shown)
        assert "<script" not in html
        assert "<a " not in html
        assert "<h1>" not in html
        assert html.count("&lt;script&gt;") >= 5


def as_the_ui_takes(described):
    """Return the description of a field as Prefect's UI makes Markdown of it."""
    return re.sub(r"\n(?!\n)", " ", described)


def test_lists_of_a_section_are_still_lists_in_the_ui(store, waiting):
    html = MarkdownIt("commonmark").render(as_the_ui_takes(in_field(described(store, waiting[1]))))
    assert html.count("<li>") > html.count("<ul>") >= 3
    assert "<pre>" not in html


def test_what_does_not_fit_is_cut_and_said(store, waiting, monkeypatch):
    monkeypatch.setattr(review_form, "MOST_CHARACTERS", 300)
    text = described(store, waiting[0])
    assert text.endswith("**This is cut.** `nightshift review show hostile` shows the rest.")
    assert len(text) < 400


def test_the_form_says_how_many_tasks_wait():
    assert "5 of 22 tasks" in introduction(5, 22)
    assert "2 tasks wait" in introduction(2, 2)


def test_every_task_gets_an_answer_of_its_own(store, waiting):
    unsure = {"verdict": "approve", "comment": "rare", **YES, "realistic": "unsure"}
    back = {"verdict": "send back", "comment": "the leaf is odd", "rubric_right": "no"}
    assert apply(store, waiting, form(store, waiting, task_1=back, task_2=unsure)) == (2, {})
    (decision,) = store.reviews("c-plain")
    said = [one.answer for one in decision.checklist]
    assert said == ["unsure", "yes", "yes", "yes", "yes", "yes"]
    assert store.candidate("c-plain").status is CandidateStatus.APPROVED
    (other,) = store.reviews("c-hostile")
    assert [str(one) for one in other.checklist] == ["rubric_right: no"]
    assert store.candidate("c-hostile").stage is Construction.CHECKPOINTS


def test_yes_to_all_six_is_one_choice_and_later_none(store, waiting):
    answer = form(store, waiting, task_2="approve, yes to all six")
    assert apply(store, waiting, answer) == (1, {})
    (decision,) = store.reviews("c-plain")
    assert [one.answer for one in decision.checklist] == ["yes"] * len(ChecklistItem)
    assert [one.id for one in awaiting(store)] == ["c-hostile"]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"verdict": "approve"}, "needs yes to all 6 items"),
        ({"verdict": "approve", "comment": "x", "realistic": "no"}, "does not go with no to"),
        ({"verdict": "approve, yes to all six", "realistic": "no"}, "does not go with no to"),
        ({"verdict": "reject"}, "needs a reason"),
        ({"realistic": "yes"}, "has answers, but no verdict"),
    ],
)
def test_an_answer_that_does_not_fit_is_not_stored_and_the_others_are(store, waiting, given, says):
    answer = form(store, waiting, task_1=given, task_2="approve, yes to all six")
    made, refused = apply(store, waiting, answer)
    assert made == 1
    assert says in refused["c-hostile"].fault
    assert refused["c-hostile"].given == TaskAnswer.model_validate(given)
    assert [one.id for one in awaiting(store)] == ["c-hostile"]


def test_a_task_that_was_decided_meanwhile_is_refused(store, waiting):
    answer = form(store, waiting, task_2="approve, yes to all six")
    decide(store, waiting[1], "reject", "tove", "the other one says it all")
    made, refused = apply(store, waiting, answer)
    assert made == 0
    assert "does not wait for review: it is at rejected" in refused["c-plain"].fault


def test_forms_follow_until_all_is_decided(store, waiting, monkeypatch):
    monkeypatch.setattr(reviewing, "TASKS_PER_FORM", 1)
    answers = iter(["decide later", {"verdict": "reject"}, "approve, yes to all six", "reject"])
    shown = []

    def pause(wait_for_input, key, **_):
        section = wait_for_input.model_fields["task_1"]
        shown.append((section.title, section.default.verdict, "Not stored" in section.description))
        given = next(answers)
        given = {"verdict": given, "comment": "x"} if given == "reject" else given
        given = {"verdict": given} if isinstance(given, str) else given
        return wait_for_input.model_validate({"reviewer": "kirsten", "task_1": given})

    monkeypatch.setattr(reviewing, "pause_flow_run", pause)
    assert review_by_form(store, waiting[0].refresh_id) == 2
    assert shown == [
        ("hostile", "decide later", False),
        ("plain", "decide later", False),
        ("plain", "reject", True),
        ("hostile", "decide later", False),
    ]
