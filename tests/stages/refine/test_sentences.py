"""Every check and label has a sentence, and what a check found makes a true one."""

from collections.abc import Callable

import pytest

from stages.diagnose.signals import LeafSignal, Signals
from stages.refine.check_sentences import TOLD, check_sentence
from stages.refine.label_sentences import LABELS as SENTENCES
from stages.refine.label_sentences import STAGES, TYPES, label_sentence, stage_sentences
from stages.refine.policy import Policy
from stages.score.evidence import TrialEvidence
from stages.score.guide.example_files import VIEWS
from stages.score.library import check_library, run_check
from taskdata.schema.checkpoint import Check, Checkpoint
from taskdata.schema.diagnosis import (
    LABELS,
    Diagnosis,
    Evidence,
    FailureLevels,
    FailureStage,
    FailureType,
    Label,
    ModelLabelling,
    Taxonomy,
)
from taskdata.schema.task import DeliverableSpec, Task
from tests.stages.refine.test_feedback import seen

ROWS = {"columns": ["Region", "Revenue"], "rows": [["North", 1234.5], ["South", 7]]}


@pytest.fixture
def task(new_task: Callable[..., Task]) -> Task:
    specs = tuple(DeliverableSpec(name=n, type=n.rpartition(".")[2]) for n in VIEWS)
    return new_task(query="Put the sheets Plan and Notes into the workbook.", deliverables=specs)


def signals_of(check: Check, **changes: object) -> Signals:
    trial = TrialEvidence(views=VIEWS, delivered=tuple(VIEWS), final_answer="It may be 5.")
    score = run_check("a", check, trial)
    checkpoint = Checkpoint(id="a", requirement="R.", verifier=check)
    fields = {"undelivered": False, "finding": score.finding, **changes}
    leaf = LeafSignal(checkpoint=checkpoint, score=score.score, holds=False, share=1, **fields)
    return seen(leaves=(leaf,))


def test_every_check_that_can_fail_on_a_file_has_words():
    assert set(TOLD) == set(check_library()) - {"file_exists"}


def test_every_stage_type_and_label_of_an_agent_has_a_sentence():
    names = {taxonomy: set(SENTENCES[taxonomy]) for taxonomy in SENTENCES}

    assert names == {t: set(LABELS[t]) for t in Taxonomy if t is not Taxonomy.INFRASTRUCTURE}
    assert (set(STAGES), set(TYPES)) == (set(FailureStage), set(FailureType))


@pytest.mark.parametrize(
    ("name", "deliverable", "args", "told"),
    [
        (
            "table_contains",
            "memo.docx",
            {"key": "Region", **ROWS},
            "memo.docx: 1 of 2 values looked at are right.",
        ),
        ("table_contains", "report.pdf", {"columns": ["Nix"], "rows": [["x"]]}, "a column that is"),
        ("pdf_pages", "report.pdf", {"min": 5}, "report.pdf: there are too few pages."),
        ("pdf_pages", "report.pdf", {"max": 1}, "report.pdf: there are too many pages."),
        ("headings", "memo.docx", {"expected": ["Findings", "Risks"]}, "1 of 2 headings"),
        ("answer_number", None, {"expected": 77}, "The final answer: the number that it states"),
        ("answer_contains", None, {"all": [["Oslo"]]}, "something that it should state is"),
        ("text_contains", "notes.md", {"all": [["One"]], "none": ["Two"]}, "must not be there"),
        ("docx_images", "memo.docx", {"min": 3}, "memo.docx: there are too few pictures."),
        ("html_ids", "page.html", {"ids": ["offers", "q", "z"]}, "1 of 3 elements looked for"),
    ],
)
def test_a_sentence_says_what_is_wrong_and_no_value(task, name, deliverable, args, told):
    check = Check(name=name, deliverable=deliverable, args=args)
    signals = signals_of(check)

    sentence = check_sentence(signals.leaves[0], signals, Policy(task))

    assert told in sentence


@pytest.mark.parametrize(
    ("sheet", "told"),
    [
        ("Nowhere", "a sheet that is looked for is not there."),
        ("Regions", "the sheet is there; 1 of 2 values looked at are right."),
        ("Plan", "sheet Plan is not there."),
        ("Notes", "sheet Notes is there; a column that is looked for is not there."),
    ],
)
def test_a_sheet_is_told_to_be_there_or_not(task, sheet, told):
    args = {"sheet": sheet, "key": "Region", **ROWS}
    check = Check(name="xlsx_table", deliverable="book.xlsx", args=args)
    signals = signals_of(check)

    assert check_sentence(signals.leaves[0], signals, Policy(task)).endswith(told)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"missing": ("report.pdf",)}, "report.pdf is missing."),
        ({"unreadable": ("report.pdf",)}, "report.pdf could not be opened."),
    ],
)
def test_a_file_that_did_not_arrive_is_all_that_is_said(task, changes, told):
    check = Check(name="pdf_pages", deliverable="report.pdf", args={"min": 5})
    (leaf,) = signals_of(check, undelivered=True).leaves
    signals = seen(leaves=(leaf,), **changes)

    assert check_sentence(leaf, signals, Policy(task)) == told


def diagnosis_of(label: Label, labeller: str) -> Diagnosis:
    return Diagnosis(
        trial_id="t1",
        stage=FailureStage.EXECUTE,
        levels=FailureLevels(leaf=True, composition=False, deliverable=False),
        evidence=(),
        labels=(label,),
        labeller=labeller,
    )


@pytest.mark.parametrize(
    ("name", "labeller", "told"),
    [
        (
            "parameter_object_selection_error",
            "rules@3",
            "You asked for a file, sheet or page that is not there (turn 4: OCR: no such file).",
        ),
        (
            "parameter_object_selection_error",
            "openai/gpt-5.2",
            "You asked for a file, sheet or page that is not there (turn 4).",
        ),
        (
            "missing_essential_tool",
            "rules@3",
            "You did not call a tool that the work needs (turn 4).",
        ),
    ],
)
def test_a_label_is_told_with_its_place_and_quoted_only_where_the_agent_saw_it(
    task, name, labeller, told
):
    evidence = Evidence(says="OCR: no such file", turn=4)
    label = Label(taxonomy=Taxonomy.TOOL_USE, name=name, confidence=1, evidence=(evidence,))

    assert label_sentence(label, diagnosis_of(label, labeller), seen(), Policy(task)) == told


def test_where_a_model_labels_too_only_evidence_of_rules_is_quoted(task):
    evidence = Evidence(says="OCR: no such file", turn=4)
    name = "parameter_object_selection_error"
    by_rule = Label(taxonomy=Taxonomy.TOOL_USE, name=name, confidence=1, evidence=(evidence,))
    by_model = by_rule.model_copy(update={"by": "openai/gpt-5.2"})
    diagnosis = diagnosis_of(by_rule, "rules@3+openai/gpt-5.2@1")

    told = [label_sentence(one, diagnosis, seen(), Policy(task)) for one in (by_rule, by_model)]
    assert told == [
        "You asked for a file, sheet or page that is not there (turn 4: OCR: no such file).",
        "You worked on the wrong file, sheet, page or region (turn 4).",
    ]


def test_how_the_work_broke_down_is_not_told_of_a_stage_that_a_model_decided():
    evidence = (Evidence(says="no such file", turn=4),)
    label = Label(taxonomy=Taxonomy.LONG_RUN, name="loop", confidence=1, evidence=evidence)
    asked = ModelLabelling(model="m", decided=("stage",))
    diagnosis = diagnosis_of(label, "rules@3+openai/m@1").model_copy(update={"by_model": asked})
    assert list(stage_sentences(diagnosis, seen())) == [
        "The work broke down while you carried it out."
    ]
