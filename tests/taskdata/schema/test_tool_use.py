"""Counting the tools that the agent of a trial called."""

from datetime import UTC, datetime

from environments.toolkit.definition import MAX_TEXT_CHARS
from taskdata.schema.task import Capability
from taskdata.schema.tool import ToolErrorKind, ToolSpec
from taskdata.schema.tool_use import OTHERS, OVERLONG_CHARS, ToolUse, tool_uses
from taskdata.schema.transcript import Ending, ToolCall, ToolEvent, Transcript

OCR = ToolSpec(name="OCR", description="Read.", category=Capability.PERCEPTION, parameters={})


def transcript(*calls: tuple[str, ToolErrorKind | None], **known) -> Transcript:
    events = tuple(
        ToolEvent(
            call=ToolCall(id=str(place), tool=tool, arguments={}),
            text="",
            error=error,
            started_at=datetime(2026, 3, 1, tzinfo=UTC),
            seconds=0,
        )
        for place, (tool, error) in enumerate(calls)
    )
    return Transcript(events=events, final_answer="", ending=Ending.FINISHED, tools=(OCR,), **known)


def test_calls_are_counted_by_tool_with_what_kept_them_from_a_result():
    refused, unknown = ToolErrorKind.REFUSED, ToolErrorKind.UNKNOWN_TOOL
    calls = [("OCR", None), ("OCR", refused), ("OCR", refused), ("Ocr", unknown), ("finish", None)]
    assert tool_uses(transcript(*calls)) == (
        ToolUse(
            tool="OCR", category=Capability.PERCEPTION, calls=3, errors={refused: 2}, overlong=0
        ),
        ToolUse(tool="Ocr", category=None, calls=1, errors={unknown: 1}, overlong=0),
    )


def test_results_that_no_agent_is_shown_whole_are_counted():
    assert OVERLONG_CHARS == MAX_TEXT_CHARS
    long, short = (
        event.model_copy(update={"text": "x" * length})
        for event, length in zip(
            transcript(("OCR", None), ("OCR", None)).events, (100_001, 100_000), strict=True
        )
    )
    (use,) = tool_uses(transcript().model_copy(update={"events": (long, short)}))
    assert (use.calls, use.overlong) == (2, 1)


def test_calls_that_nobody_saw_are_not_none():
    assert tool_uses(transcript()) == ()
    assert tool_uses(transcript(has_unseen_calls=True)) is None
    assert tool_uses(transcript(is_outcome_only=True)) is None


def test_names_that_an_agent_makes_up_do_not_fill_the_store():
    made_up = [(f"{'x' * 500}", ToolErrorKind.UNKNOWN_TOOL)]
    made_up += [(f"tool {place}", ToolErrorKind.UNKNOWN_TOOL) for place in range(100)]
    uses = {use.tool: use.calls for use in tool_uses(transcript(*made_up))}
    assert (len(uses), uses[OTHERS], uses["x" * 80]) == (21, 81, 1)
