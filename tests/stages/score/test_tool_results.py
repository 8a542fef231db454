from datetime import UTC, datetime

import pytest

from stages.score.tool_results import score_tool_result
from taskdata.schema.checkpoint import ToolResultCheck
from taskdata.schema.tool import ToolErrorKind
from taskdata.schema.transcript import Ending, ToolCall, ToolEvent, Transcript


def log(*calls: tuple[str, str, ToolErrorKind | None]) -> Transcript:
    events = tuple(
        ToolEvent(
            call=ToolCall(id=str(index), tool=tool, arguments={}),
            text=text,
            error=error,
            started_at=datetime(2026, 1, 1, tzinfo=UTC),
            seconds=0.1,
        )
        for index, (tool, text, error) in enumerate(calls)
    )
    return Transcript(events=events, final_answer="", ending=Ending.FINISHED)


READ = ToolResultCheck(tools=("ReadPDF", "read_file"), contains=("Clause 7", "30 days"))


@pytest.mark.parametrize(
    ("transcript", "score", "reason"),
    [
        (log(("ReadPDF", "clause  7: within 30 DAYS", None)), 10, "gave a result with"),
        (log(("ReadPDF", "clause 7", None), ("read_file", "30 days", None)), 0, "none of 2"),
        (log(("ReadPDF", "Clause 7, 30 days", ToolErrorKind.REFUSED)), 0, "(called: ReadPDF)"),
        (log(("write_file", "Clause 7, 30 days", None)), 0, "(called: write_file)"),
        (log(), 0, "(called: nothing)"),
        (None, None, "no transcript"),
    ],
    ids=["found", "in two results", "failed call", "another tool", "no call", "no transcript"],
)
def test_one_successful_call_must_show_all_texts(transcript, score, reason):
    leaf = score_tool_result("read", READ, transcript)
    assert leaf.score == score
    assert reason in leaf.reason


def test_without_texts_a_successful_call_is_enough():
    verifier = ToolResultCheck(tools=("Plot",))
    assert score_tool_result("plot", verifier, log(("Plot", "", None))).score == 10


@pytest.mark.parametrize("why", ["is_outcome_only", "has_unseen_calls"])
def test_a_log_that_nobody_kept_leaves_the_leaf_unscored(why):
    unseen = log().model_copy(update={why: True})
    found = score_tool_result("leaf", ToolResultCheck(tools=("Calculator",)), unseen)
    assert found.score is None
    assert "unknown" in found.reason
