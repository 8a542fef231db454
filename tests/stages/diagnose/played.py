"""Transcripts of failed trials, event by event, and their records."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from stages.diagnose.record import Record
from stages.diagnose.signals import observe
from taskdata.schema.diagnosis import Label
from taskdata.schema.run import TrialOutcome
from taskdata.schema.scores import TrialScore
from taskdata.schema.success import SuccessRule
from taskdata.schema.task import Task
from taskdata.schema.tool import ToolErrorKind, ToolSpec
from taskdata.schema.transcript import (
    Ending,
    Event,
    MessageEvent,
    ModelEvent,
    ResultPicture,
    ToolCall,
    ToolEvent,
    Transcript,
)
from taskdata.schema.views import RenderedDeliverable

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
REFUSED, BAD, UNKNOWN = (
    ToolErrorKind.REFUSED,
    ToolErrorKind.BAD_ARGUMENTS,
    ToolErrorKind.UNKNOWN_TOOL,
)
READ_PDF = ToolSpec(
    name="ReadPDF",
    description="Read pages.",
    category="perception",
    parameters={
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "first_page": {"type": "integer", "minimum": 1},
            "mode": {"enum": ["text", "tables"]},
        },
        "required": ["path"],
        "additionalProperties": False,
    },
)


def told(text: str, role: str = "user") -> MessageEvent:
    return MessageEvent(role=role, text=text)


def replied(text: str = "I go on.", stop_reason: str = "stop") -> ModelEvent:
    return ModelEvent(text=text, model="m", stop_reason=stop_reason, started_at=NOON, seconds=1)


def called(
    tool: str,
    arguments: dict[str, Any] | None = None,
    *,
    raw: str | None = None,
    text: str = "ok",
    error: ToolErrorKind | None = None,
    files: Sequence[str] = (),
    shown: bool = False,
) -> ToolEvent:
    """A call and its result; `raw`: arguments that could not be read; `shown`: with a picture."""
    picture = ResultPicture(
        name="a page",
        sha256="a" * 64,
        media_type="image/png",
        size_bytes=1,
        width=1,
        height=1,
        was_shown=True,
    )
    read = None if raw is not None else arguments or {}
    return ToolEvent(
        call=ToolCall(id=tool.lower(), tool=tool, arguments=read, raw=raw or ""),
        text=text,
        error=error,
        files=tuple(files),
        pictures=(picture,) if shown else (),
        started_at=NOON,
        seconds=0.1,
    )


def transcript_of(
    *events: Event,
    answer: str = "done",
    ending: Ending = Ending.FINISHED,
    tools: Sequence[ToolSpec] = (READ_PDF,),
    **more: Any,
) -> Transcript:
    """Each call follows a reply of its own, unless the events hold replies."""
    has_replies = any(isinstance(event, ModelEvent) for event in events)
    spread: list[Event] = [told("Plan a trip for two from rates.pdf.")]
    for event in events:
        spread += [event] if has_replies else [replied(), event]
    return Transcript(
        events=tuple(spread), final_answer=answer, ending=ending, tools=tuple(tools), **more
    )


def record_of(
    task: Task,
    outcome: TrialOutcome,
    transcript: Transcript,
    score: TrialScore,
    rendered: Sequence[RenderedDeliverable],
) -> Record:
    rule = SuccessRule(threshold=7.0, min_coverage=0.5)
    signals = observe(task, outcome, transcript, score, rendered, rule)
    return Record(task, outcome, transcript, score, signals)


def named(labels: Sequence[Label]) -> dict[str, Label]:
    """The labels by name, none of which may occur twice."""
    assert len({label.name for label in labels}) == len(labels)
    return {label.name: label for label in labels}
