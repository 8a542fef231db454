from collections.abc import Callable

import pytest

from stages.diagnose.long_runs import long_run_labels
from stages.diagnose.record import Record
from taskdata.schema.diagnosis import Label
from taskdata.schema.transcript import Ending, Event
from tests.stages.diagnose.played import BAD, REFUSED, called, named, replied, told

Failed = Callable[..., Record]
LIST = called("list_files", {"path": "."}, text="plan.xlsx")
OTHER = called("read_file", {"path": "a.txt"}, text="a")
CHANGE = called("write_file", {"path": "output/a.txt"}, files=["output/a.txt"])
CUT = "This call was not run: your reply was cut at its length limit while you wrote it."


def found(record: Record) -> dict[str, Label]:
    return named(long_run_labels(record))


@pytest.mark.parametrize(
    ("events", "turn"),
    [
        ([LIST, LIST, LIST], 3),
        ([LIST, OTHER, LIST, OTHER, LIST, LIST], 6),
        ([CHANGE, CHANGE, CHANGE], 3),
        ([LIST, LIST], None),
        ([LIST, CHANGE, LIST, called("write_file", {}, files=["output/b"]), LIST], None),
        ([LIST, LIST, called("list_files", {"path": "."}, text="two files")], None),
        ([replied("Hm."), replied("Hm."), replied("Hm."), replied("Hm.")], 4),
        ([replied("Hm."), replied("Hm."), replied("Ah."), replied("Hm.")], None),
    ],
)
def test_a_loop_is_the_same_call_with_the_same_result(
    failed: Failed, events: list[Event], turn: int | None
):
    labels = found(failed(*events))
    assert ("loop" in labels) is (turn is not None)
    if turn:
        assert [one.turn for one in labels["loop"].evidence] == [turn]


@pytest.mark.parametrize(
    ("ending", "confidence"), [(Ending.OUT_OF_TURNS, 0.7), (Ending.FINISHED, None)]
)
def test_a_repetition_that_a_limit_cut_off_may_have_been_a_loop(
    failed: Failed, ending: Ending, confidence: float | None
):
    labels = found(failed(OTHER, LIST, LIST, ending=ending))
    assert (labels["loop"].confidence if "loop" in labels else None) == confidence


@pytest.mark.parametrize(
    ("answer", "files", "name"),
    [
        ("The plan is done.", ["plan.xlsx"], "premature_stop"),
        ("The plan is done.", ["plan.xlsx", "memo.docx"], None),
        ("The plan is done.", ["plan.xlsx", "Memo.docx"], None),  # it did, under another name
        ("Plan made. You can then fill in the memo yourself.", ["plan.xlsx"], "handed_back"),
        ("Would you like me to write the memo?", ["plan.xlsx"], "handed_back"),
        ("Would you like me to add a chart?", ["plan.xlsx", "memo.docx"], None),
        (
            "Two days are planned; follow the same steps for the others.",
            ["plan.xlsx", "memo.docx"],
            "handed_back",
        ),
        ("As you can see, all is there.", ["plan.xlsx", "memo.docx"], None),
    ],
)
def test_an_agent_that_ends_early_stops_or_hands_back(
    failed: Failed, answer: str, files: list[str], name: str | None
):
    labels = found(failed(LIST, answer=answer, files=files))
    assert list(labels) == ([name] if name else [])


def test_whoever_is_stopped_by_a_budget_did_not_stop_early(failed: Failed):
    assert found(failed(LIST, files=[], ending=Ending.OUT_OF_TURNS)) == {}


def test_a_call_that_was_repeated_before_the_last_turn_is_no_loop(failed: Failed):
    events = [replied(), LIST, replied(), LIST]
    limited = {"files": [], "ending": Ending.OUT_OF_TURNS}
    assert list(found(failed(*events, **limited))) == ["loop"]
    assert found(failed(*events, replied("I think."), **limited)) == {}


@pytest.mark.parametrize(
    ("reason", "says"),
    [
        ("91 data rows; expected 116", "116 data rows asked for, 91 delivered"),
        (
            "1 of 2 columns and row counts; 91 data rows, expected at least 116",
            "at least 116 data rows asked for, 91 delivered",
        ),
        ("3 slides; expected 5 to 8", "5 slides asked for, 3 delivered"),
        ("120 data rows; expected 116", None),
        ("0 data rows; expected 116", None),  # nothing was delivered, so nothing was dropped
        ("contrast 2; expected at least 5", None),
    ],
)
def test_dropped_items_are_what_a_check_counted_too_few_of(
    failed: Failed, reason: str, says: str | None
):
    labels = found(failed(LIST, reasons={"totals": reason}))
    if says is None:
        assert labels == {}
    else:
        (evidence,) = labels["dropped_items"].evidence
        assert (evidence.says, evidence.leaf) == (says, "totals")


def test_a_leaf_that_holds_dropped_nothing(failed: Failed):
    fine = {"totals": 10.0}
    assert found(failed(LIST, reasons={"totals": "91 data rows; expected 116"}, scores=fine)) == {}


def test_results_that_are_too_long_and_replies_that_were_cut(failed: Failed):
    labels = found(
        failed(
            called("read_file", text="x" * 100_001),
            called("write_file", raw='{"text": "', error=BAD, text=CUT),
        )
    )
    assert [one.turn for one in labels["overlong_output"].evidence] == [1]
    on_record = "x" * 99_950 + "\n[cut: 100000 of 500032 characters are on record]"
    (label,) = found(failed(called("read_file", text=on_record))).values()
    assert label.evidence[0].says == "read_file: a result of 500032 characters"
    assert [one.turn for one in labels["cut_off_reply"].evidence] == [2]


@pytest.mark.parametrize(
    ("failures", "ending", "is_wasted"),
    [
        (3, Ending.OUT_OF_TURNS, True),
        (3, Ending.FINISHED, False),
        (2, Ending.OUT_OF_TURNS, False),
    ],
)
def test_a_budget_is_spent_on_retries_where_most_turns_brought_nothing(
    failed: Failed, failures: int, ending: Ending, is_wasted: bool
):
    misses = [called("Search", {"q": n}, error=REFUSED, text="no") for n in range(failures)]
    labels = found(failed(LIST, OTHER, *misses, ending=ending, files=[]))
    assert ("budget_spent_on_retries" in labels) is is_wasted


def test_turns_without_any_call_are_spent_as_well(failed: Failed):
    events = [replied("a"), told("No action."), replied("b"), told("No action."), replied("c")]
    (label,) = found(failed(*events, ending=Ending.OUT_OF_TURNS, files=[])).values()
    assert label.evidence[0].says == "3 of 3 turns had no call that succeeded"
