from collections.abc import Callable

import pytest

from stages.diagnose.signals import Signals, one_line
from taskdata.errors import NightshiftError
from taskdata.schema.checkpoint import Check, Checkpoint
from taskdata.schema.task import InputFile, Task
from taskdata.schema.tool import ToolErrorKind

See = Callable[..., Signals]
REFUSED, UNKNOWN = ToolErrorKind.REFUSED, ToolErrorKind.UNKNOWN_TOOL


def test_tool_calls_are_counted_without_finish_and_with_their_failures(see: See):
    signals = see(
        calls=[
            ("ReadCSV", None),
            ("ReadXLSX", REFUSED),
            ("Reader", UNKNOWN),
            ("finish", None),
        ]
    )

    assert signals.calls == 3
    assert signals.failed_calls == 2
    assert signals.malformed_calls == 1
    assert signals.failures_at_end == 2
    assert signals.first_error == "ReadXLSX: ReadXLSX could not do it"


def test_claiming_to_be_done_is_no_call_and_an_untouched_input_no_work(see: See, trip_task: Task):
    given = InputFile(path="plan.xlsx", sha256="a" * 64, size_bytes=1)
    task = trip_task.model_copy(update={"files": (given,)})

    idle = see(calls=[("claim_done", None)], files=["plan.xlsx"], answer="", task=task)
    busy = see(calls=[("claim_done", None)], files=["memo.docx"], answer="", task=task)

    assert (idle.calls, idle.tried_nothing) == (0, True)
    assert not busy.tried_nothing


@pytest.mark.parametrize(
    ("changes", "holds"),
    [
        ({}, True),
        ({"rule": "all_required"}, False),
        ({"rule": "all_required", "passes_from": 6.0}, True),
    ],
)
def test_a_leaf_that_its_parent_requires_holds_if_it_passes(
    see: See, trip_task: Task, changes: dict, holds: bool
):
    budget, report = trip_task.checkpoints.children
    budget = budget.model_copy(update=changes)
    tree = trip_task.checkpoints.model_copy(update={"children": (budget, report)})
    task = trip_task.model_copy(update={"checkpoints": tree})

    signals = see({"totals": 7.5}, task=task)

    (totals,) = [leaf for leaf in signals.leaves if leaf.checkpoint.id == "totals"]
    assert totals.holds is holds


def test_a_call_that_wrote_a_file_counts_as_a_step_toward_a_deliverable(see: See):
    assert see(calls=[("ReadCSV", None)]).writing_calls == 0
    assert see(calls=[("DocxFileGenerator", REFUSED), ("write_file", None)]).writing_calls == 2


def test_deliverables_are_missing_misnamed_or_unreadable(see: See):
    signals = see(files=["Plan.xlsx", "memo.docx", "notes.txt"], unreadable=["memo.docx"])

    assert signals.missing == ("plan.xlsx",)
    assert signals.misnamed == ("Plan.xlsx",)
    assert signals.unreadable == ("memo.docx",)
    assert {leaf.checkpoint.id for leaf in signals.leaves if leaf.undelivered} == {
        "totals",
        "sheets",
        "facts",
        "headings",
        "tone",
    }


def test_leaves_share_the_root_score_by_their_weights(see: See):
    signals = see({"totals": 0.0, "tone": None})

    shares = {leaf.checkpoint.id: leaf.share for leaf in signals.leaves}
    # `report` counts two thirds, for one of its three leaves was not scored.
    assert sum(shares.values()) == pytest.approx(1)
    assert shares["totals"] == pytest.approx(0.5 / (1 + 2 / 3))
    assert "tone" not in shares
    lost = sum(leaf.lost for leaf in signals.leaves)
    assert 10 - lost == pytest.approx(signals.root_score)


def test_a_node_is_broken_when_it_fails_though_most_of_its_leaves_hold(see: See):
    assert see({"facts": 0.0}).broken_nodes == ("report",)
    assert see({"facts": 0.0, "tone": 0.0}).broken_nodes == ("root",)
    assert see({"facts": 0.0, "tone": 0.0, "totals": 0.0}).broken_nodes == ()


def test_without_deliverables_the_final_answer_is_what_is_asked_for(see: See, trip_task: Task):
    answer_only = trip_task.model_copy(
        update={
            "deliverables": (),
            "checkpoints": Checkpoint(
                id="root", requirement="r", verifier=Check(name="answer_number")
            ),
        }
    )

    blank = see({"root": 0.0}, task=answer_only, answer="  ", files=())
    given = see({"root": 0.0}, task=answer_only, answer="41", files=())

    assert blank.missing == ("final answer",)
    assert blank.leaves[0].undelivered
    assert given.missing == ()
    assert not given.leaves[0].undelivered


def test_a_trial_without_a_scored_leaf_has_no_signals(see: See):
    leaves = ("totals", "sheets", "facts", "headings", "tone")

    with pytest.raises(NightshiftError, match="t1 has no scored leaf"):
        see(dict.fromkeys(leaves))


def test_what_an_agent_wrote_becomes_one_short_printable_line():
    assert one_line("a\x1b[31mb\n\tc\u202ed") == "a [31mb c d"
    assert one_line("x" * 500) == "x" * 159 + "…"
