from collections.abc import Callable
from dataclasses import replace
from time import process_time

import pytest

from stages.diagnose.labels import diagnose
from stages.diagnose.record import MOST_EVIDENCE, Record, label
from stages.diagnose.taxonomies import labels_of
from taskdata.schema.diagnosis import Taxonomy
from taskdata.schema.transcript import Ending
from tests.soak import at_length_only
from tests.stages.diagnose.played import BAD, REFUSED, UNKNOWN, called, named, transcript_of

MANY = [called("Reader", {"n": n}, error=UNKNOWN) for n in range(8)]
MISSING = {"path": "input/none.pdf"}
NO_FILE = called("ReadPDF", MISSING, error=REFUSED, text="There is no file 'input/none.pdf'.")


@pytest.fixture
def muddled(failed: Callable[..., Record]) -> Record:
    """A trial with a fault of nearly every kind, ended by a limit."""
    write = called("Writer", files=["output/plan.xlsx"])
    return failed(
        *[*MANY, NO_FILE, NO_FILE, NO_FILE, called("ReadPDF", error=BAD), write],
        files=["plan.xlsx"],
        ending=Ending.OUT_OF_TURNS,
        reasons={"totals": "9 data rows; expected 12"},
    )


def test_all_labels_that_fit_are_given_each_once(muddled: Record):
    assert sorted(named(labels_of(muddled))) == [
        "budget_spent_on_retries",
        "dropped_items",
        "hallucinated_parameter",
        "hallucinated_tool",
        "loop",
        "missing_parameter",
        "no_verification",
        "parameter_object_selection_error",
        "tool_planning_error",
    ]


def test_all_evidence_names_what_is_on_record_and_is_no_more_than_can_be_read(muddled: Record):
    calls = {event.call.id for event in muddled.transcript.tool_events}
    leaves = {leaf.id for leaf in muddled.task.checkpoints.leaves()}
    for found in labels_of(muddled):
        assert 1 <= len(found.evidence) <= MOST_EVIDENCE
        for one in found.evidence:
            assert one.call is None or one.call in calls
            assert one.leaf is None or one.leaf in leaves
            assert one.turn is None or 1 <= one.turn <= muddled.transcript.turns
            assert (one.turn, one.leaf) != (None, None)
            assert "\n" not in one.says


def test_a_rule_cannot_invent_a_label():
    with pytest.raises(ValueError, match="no label 'lopp'; it has loop"):
        label(Taxonomy.LONG_RUN, "lopp", 1, ())


def test_nothing_is_labelled_where_nothing_shows(failed: Callable[..., Record]):
    assert labels_of(failed(called("list_files"), files=["plan.docx"])) == ()


@at_length_only
@pytest.mark.soak
def test_1000_diagnoses_take_5_seconds_or_less(muddled: Record):
    events = [called("read_file", {"path": f"{n}.txt"}, text=f"{n} " * 500) for n in range(25)]
    record = replace(muddled, transcript=transcript_of(*events, *muddled.transcript.tool_events))
    started = process_time()
    for _ in range(1000):
        # A copy does not have the cached properties of its original.
        copy = replace(record)
        diagnose("t1", copy.signals)
        assert labels_of(copy)
    assert process_time() - started <= 5
