from collections.abc import Callable

import pytest

from stages.diagnose.record import Record
from stages.diagnose.tool_use import tool_use_labels
from taskdata.schema.checkpoint import Check, Checkpoint, ToolResultCheck
from taskdata.schema.task import InputFile, Task, Tier
from taskdata.schema.transcript import Ending, ToolEvent
from tests.stages.diagnose.played import BAD, REFUSED, UNKNOWN, called, named

Failed = Callable[..., Record]
NO_LOOK = {"files": []}
CUT = "This call was not run: your reply was cut at its length limit while you wrote it."


@pytest.mark.parametrize(
    ("event", "name", "confidence"),
    [
        (called("Reader", error=UNKNOWN), "hallucinated_tool", 1),
        (called("ReadPDF", error=BAD), "missing_parameter", 1),
        (called("ReadPDF", {"path": 3}, error=BAD), "parameter_type_error", 1),
        (
            called("ReadPDF", {"path": "a.pdf", "first_page": 0}, error=BAD),
            "parameter_type_error",
            1,
        ),
        (
            called("ReadPDF", {"path": "a.pdf", "mode": "ocr"}, error=BAD),
            "hallucinated_parameter",
            1,
        ),
        (
            called("ReadPDF", {"path": "a.pdf", "colour": 1}, error=BAD),
            "hallucinated_parameter",
            1,
        ),
        (
            called("Other", {"x": 1}, error=BAD, text="- y: is missing\nOther takes: y."),
            "missing_parameter",
            0.9,
        ),
        (called("Other", {"x": 1}, error=BAD, text="x is odd"), "parameter_type_error", 0.6),
        (called("ReadPDF", raw="{path", error=BAD), "parameter_type_error", 0.9),
        (
            called(
                "ReadPDF",
                {"path": "rates.pdf", "first_page": 9},
                error=REFUSED,
                text="There are no pages 9 to 9: rates.pdf has 2 pages.",
            ),
            "parameter_range_error",
            0.9,
        ),
        (
            called(
                "ReadPDF",
                {"path": "input/rates.pdf"},
                error=REFUSED,
                text="There is no file 'input/rates.pdf'. Files: none.",
            ),
            "parameter_object_selection_error",
            0.9,
        ),
        (
            called("read_file", {"path": "a.pdf"}, error=REFUSED, text="a.pdf is no text"),
            "wrong_tool_selection",
            0.9,
        ),
        (
            called("read_file", {"path": "a.wav"}, error=REFUSED, text="a.wav is not a text file."),
            "wrong_tool_selection",
            0.9,
        ),
        (
            called("read_file", {"path": "rates.pdf"}, error=REFUSED, text="There is no file x."),
            "parameter_object_selection_error",
            0.9,
        ),
        (
            called("write_file", {"path": "output/a.xlsx"}, error=REFUSED, text="It writes text."),
            "wrong_tool_selection",
            0.9,
        ),
    ],
)
def test_a_faulty_call_has_the_label_of_its_fault_and_is_its_evidence(
    failed: Failed, event: ToolEvent, name: str, confidence: float
):
    found = named(tool_use_labels(failed(called("list_files"), event, **NO_LOOK)))

    assert list(found) == [name]
    assert found[name].confidence == confidence
    (evidence,) = found[name].evidence
    assert (evidence.turn, evidence.call) == (2, event.call.id)


@pytest.mark.parametrize(
    "event",
    [
        called("ReadPDF", {"path": "rates.pdf"}),
        called("ReadPDF", {"path": "rates.pdf"}, text="errors: there is no file left to fix"),
        called("ReadPDF", raw="{", error=BAD, text=CUT),
        called("ReadPDF", {"path": "rates.pdf"}, error=REFUSED, text="It is encrypted."),
    ],
)
def test_no_label_is_forced_on_a_call_without_a_fault_of_its_own(failed: Failed, event: ToolEvent):
    assert tool_use_labels(failed(event, **NO_LOOK)) == ()


@pytest.mark.parametrize(
    ("path", "is_invented"),
    [
        ("output/budget_final.csv", True),
        ("input/rates.pdf", False),  # the query names it
        ("input/notes.txt", False),  # a result named it
    ],
)
def test_a_path_that_occurs_nowhere_is_invented(failed: Failed, path: str, is_invented: bool):
    missing = f"There is no file {path!r}. Files: none."
    record = failed(
        called("list_files", text="notes.txt"),
        called("read_file", {"path": path}, error=REFUSED, text=missing),
        **NO_LOOK,
    )
    found = named(tool_use_labels(record))
    assert ("hallucinated_parameter" in found) is is_invented
    assert "parameter_object_selection_error" in found


def test_a_call_that_is_repeated_though_it_failed_is_a_fault_of_planning(failed: Failed):
    again = called("Search", {"q": "x"}, error=REFUSED, text="no")
    assert tool_use_labels(failed(again, again, **NO_LOOK)) == ()
    (label,) = tool_use_labels(failed(again, again, again, **NO_LOOK))
    assert (label.name, label.evidence[0].turn) == ("tool_planning_error", 3)


def test_a_tool_that_a_leaf_asks_for_and_nobody_called_is_missing(failed: Failed, trip_task: Task):
    leaf = Checkpoint(id="looked_up", requirement="r", verifier=ToolResultCheck(tools=("Search",)))
    root = Checkpoint(id="root", requirement="all", children=(leaf,))
    task = trip_task.model_copy(update={"checkpoints": root})

    (label,) = tool_use_labels(failed(called("list_files"), task=task, **NO_LOOK))
    assert (label.name, label.evidence[0].leaf) == ("missing_essential_tool", "looked_up")
    assert tool_use_labels(failed(called("Search"), task=task, **NO_LOOK)) == ()
    assert tool_use_labels(failed(task=task, answer="", **NO_LOOK)) == ()


@pytest.mark.parametrize(
    ("event", "is_missing"),
    [
        (called("list_files", text="input/rates.pdf"), True),
        (called("Other", {"of": "rates"}, error=UNKNOWN), True),
        (called("ReadPDF", {"path": "input/rates.pdf"}), False),
        (called("read_file", {"path": "input/rates.pdf"}, error=REFUSED), False),
        (called("python_execute", {"code": "print(open(path).read())"}), False),
    ],
)
def test_an_agent_that_answers_without_reading_an_input_omitted_a_call(
    failed: Failed, trip_task: Task, event: ToolEvent, is_missing: bool
):
    rates = InputFile(path="rates.pdf", sha256="a" * 64, size_bytes=1)
    task = trip_task.model_copy(update={"files": (rates,)})

    found = named(tool_use_labels(failed(event, task=task, **NO_LOOK)))
    stopped = failed(event, task=task, ending=Ending.OUT_OF_TURNS, **NO_LOOK)

    assert ("missing_essential_tool" in found) is is_missing
    assert "missing_essential_tool" not in named(tool_use_labels(stopped))


@pytest.mark.parametrize(("tier", "is_missing"), [("atomic", True), ("workflow", False)])
def test_an_atomic_task_needs_each_of_its_inputs(
    failed: Failed, trip_task: Task, tier: str, is_missing: bool
):
    files = tuple(InputFile(path=p, sha256="a" * 64, size_bytes=1) for p in ("a.csv", "b.csv"))
    task = trip_task.model_copy(update={"files": files, "tier": Tier(tier)})
    found = named(tool_use_labels(failed(called("ReadCSV", {"path": "a.csv"}), task=task)))
    assert ("missing_essential_tool" in found) is is_missing
    if is_missing:
        assert found["missing_essential_tool"].evidence[0].says.endswith("no call read b.csv")


WRITE = called("Writer", {"path": "output/plan.xlsx"}, files=["output/plan.xlsx"])
LOOK = called("view_file", {"path": "output/plan.xlsx"}, shown=True)
LIST = called("list_files", text="output/plan.xlsx")
FAKE = called("write_file", {"path": "output/plan.xlsx"}, files=["output/plan.xlsx"])


@pytest.mark.parametrize(
    ("events", "name"),
    [
        ([WRITE], "no_verification"),
        ([LIST, WRITE], "no_verification"),
        ([WRITE, LIST], "pseudo_verification"),
        ([WRITE, LOOK, WRITE], "incomplete_verification"),
        ([WRITE, LOOK, WRITE, LIST], "incomplete_verification"),
        ([WRITE, LOOK], None),
    ],
)
def test_a_deliverable_that_was_not_looked_at_in_its_last_state(
    failed: Failed, events: list[ToolEvent], name: str | None
):
    found = named(tool_use_labels(failed(*events, files=["plan.xlsx"])))
    assert list(found) == ([name] if name else [])
    if name:
        (evidence,) = found[name].evidence
        last = max(at for at, event in enumerate(events, start=1) if event is WRITE)
        assert (evidence.deliverable, evidence.leaf) == ("plan.xlsx", "totals")
        assert (evidence.turn, evidence.call) == (last, "writer")


@pytest.mark.parametrize("unreadable", [(), ("plan.xlsx",)])
def test_text_that_was_written_as_a_workbook_is_the_wrong_tool(
    failed: Failed, unreadable: tuple[str, ...]
):
    record = failed(FAKE, LOOK, files=["plan.xlsx"], unreadable=unreadable)
    found = named(tool_use_labels(record))
    assert list(found) == ["wrong_tool_selection"] * bool(unreadable)


def test_a_deliverable_whose_leaves_all_hold_needed_no_look(failed: Failed):
    fine = {"totals": 10.0, "sheets": 10.0}
    assert tool_use_labels(failed(WRITE, files=["plan.xlsx"], scores=fine)) == ()


def test_a_leaf_that_asks_for_a_look_at_a_file_is_about_it(failed: Failed, trip_task: Task):
    look = ToolResultCheck(tools=("view_file",), contains=("plan.xlsx",))
    leaf = Checkpoint(id="looked", requirement="r", verifier=look)
    held = Checkpoint(
        id="sheets", requirement="r", verifier=Check(name="xlsx_sheets", deliverable="plan.xlsx")
    )
    root = Checkpoint(id="root", requirement="all", children=(leaf, held))
    task = trip_task.model_copy(update={"checkpoints": root})
    fine = {"sheets": 10.0}

    found = named(tool_use_labels(failed(WRITE, task=task, files=["plan.xlsx"], scores=fine)))

    assert list(found) == ["missing_essential_tool", "no_verification"]
    assert found["no_verification"].evidence[0].leaf == "looked"


@pytest.mark.parametrize(
    ("tool", "text", "names"),
    [
        ("read_file", "a.txt has 528 characters; offset 9000 is past.", ["parameter_range_error"]),
        ("python_execute", "IndexError: list index out of range", []),
    ],
)
def test_a_value_beyond_a_file_is_no_index_in_a_program(
    failed: Failed, tool: str, text: str, names: list[str]
):
    refused = called(tool, {}, text=text, error=REFUSED)
    assert list(named(tool_use_labels(failed(refused, **NO_LOOK)))) == names


def test_of_unknown_calls_only_the_ending_tells(failed: Failed):
    unseen = failed(
        called("Reader", error=UNKNOWN), has_unseen_calls=True, ending=Ending.REFUSED, files=[]
    )
    (label,) = tool_use_labels(unseen)
    assert label.name == "agent_base_model_issue"
