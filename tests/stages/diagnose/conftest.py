"""Builders for trials to diagnose: a task of two files, its scores, and what the agent did."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from stages.diagnose.record import Record
from stages.diagnose.signals import Signals, observe
from taskdata.schema.checkpoint import Check, Checkpoint, Judge
from taskdata.schema.run import Deliverable, OutcomeStatus, TrialOutcome
from taskdata.schema.scores import LeafScore, NodeScore, TrialScore, Unscored
from taskdata.schema.success import SuccessRule
from taskdata.schema.task import DeliverableSpec, Task
from taskdata.schema.tool import ToolErrorKind
from taskdata.schema.transcript import (
    Ending,
    Event,
    MessageEvent,
    ModelEvent,
    ToolCall,
    ToolEvent,
    Transcript,
)
from taskdata.schema.views import RenderedDeliverable, TextView, UnreadableView
from tests.stages.diagnose.played import record_of, transcript_of

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)

Call = tuple[str, ToolErrorKind | None]


def _leaf(leaf_id: str, name: str, deliverable: str | None) -> Checkpoint:
    return Checkpoint(
        id=leaf_id,
        requirement=f"The {leaf_id} are right.",
        verifier=Check(name=name, deliverable=deliverable),
    )


@pytest.fixture
def trip_task() -> Task:
    """budget (totals, sheets) in plan.xlsx, report (facts, headings, tone) in memo.docx."""
    tone = Checkpoint(
        id="tone",
        requirement="The recommendation is justified.",
        verifier=Judge(rubric="?", deliverables=("memo.docx",)),
    )
    return Task(
        id="trip",
        tier="workflow",
        category="planning_decision",
        capabilities=("logic",),
        title="A trip",
        query="Plan a trip for two and write down what it costs.",
        tools=("ReadCSV", "XlsxFileGenerator", "DocxFileGenerator"),
        deliverables=(
            DeliverableSpec(name="plan.xlsx", type="xlsx"),
            DeliverableSpec(name="memo.docx", type="docx"),
        ),
        checkpoints=Checkpoint(
            id="root",
            requirement="all",
            children=(
                Checkpoint(
                    id="budget",
                    requirement="The budget is right.",
                    children=(
                        _leaf("totals", "xlsx_table", "plan.xlsx"),
                        _leaf("sheets", "xlsx_sheets", "plan.xlsx"),
                    ),
                ),
                Checkpoint(
                    id="report",
                    requirement="The report is right.",
                    children=(
                        _leaf("facts", "text_contains", "memo.docx"),
                        _leaf("headings", "headings", "memo.docx"),
                        tone,
                    ),
                ),
            ),
        ),
    )


def scored(node: Checkpoint, scores: dict[str, float | Unscored | None]) -> NodeScore:
    """The tree's scores: the mean over scored leaves; None: nobody was configured to score it."""
    if not node.children:
        given = scores[node.id]
        score = given if isinstance(given, float) else None
        cause = None if score is not None else given or Unscored.NOT_CONFIGURED
        leaf = LeafScore(
            leaf_id=node.id, score=score, verifier="check:x@1", reason="seen", unscored=cause
        )
        coverage = 0.0 if score is None else 1.0
        return NodeScore(
            id=node.id,
            requirement=node.requirement,
            weight=node.weight,
            score=score,
            coverage=coverage,
            leaf=leaf,
        )
    children = tuple(scored(child, scores) for child in node.children)
    seen = sum(c.weight * c.coverage for c in children)
    points = sum(c.weight * c.coverage * (c.score or 0) for c in children)
    return NodeScore(
        id=node.id,
        requirement=node.requirement,
        weight=node.weight,
        score=points / seen if seen else None,
        coverage=seen / sum(c.weight for c in children),
        children=children,
    )


@pytest.fixture
def make_transcript() -> Callable[..., Transcript]:
    """A transcript of `turns` model calls and these tool calls, each with its error or None."""

    def make(
        calls: Sequence[Call] = (),
        turns: int = 3,
        ending: Ending = Ending.FINISHED,
        answer: str = "",
        has_unseen_calls: bool = False,
    ) -> Transcript:
        events: list[Event] = [MessageEvent(role="user", text="Plan a trip.")]
        events += [
            ModelEvent(text="hm", model="small", started_at=NOON, seconds=1) for _ in range(turns)
        ]
        for number, (tool, error) in enumerate(calls):
            call = ToolCall(id=str(number), tool=tool, arguments={})
            text = "ok" if error is None else f"{tool} could\nnot do it"
            events.append(
                ToolEvent(call=call, text=text, error=error, started_at=NOON, seconds=0.1)
            )
        return Transcript(
            events=tuple(events),
            final_answer=answer,
            ending=ending,
            has_unseen_calls=has_unseen_calls,
        )

    return make


@pytest.fixture
def make_outcome() -> Callable[..., TrialOutcome]:
    """A finished outcome that left these files behind."""

    def make(
        files: Sequence[str] = (),
        answer: str = "",
        trial_id: str = "t1",
        rejected: Sequence[str] = (),
    ) -> TrialOutcome:
        return TrialOutcome(
            trial_id=trial_id,
            attempt=1,
            status=OutcomeStatus.FINISHED,
            ending=Ending.FINISHED,
            final_answer=answer,
            deliverables=tuple(
                Deliverable(name=name, sha256="a" * 64, size_bytes=1) for name in files
            ),
            rejected_files=tuple(rejected),
            sandbox="bubblewrap",
            code_version="test",
            started_at=NOON,
            finished_at=NOON,
        )

    return make


@pytest.fixture
def see(
    trip_task: Task,
    make_transcript: Callable[..., Transcript],
    make_outcome: Callable[..., TrialOutcome],
) -> Callable[..., Signals]:
    """Signals of a trial of the trip; leaves not named score 10."""

    def observed(
        scores: dict[str, float | None] | None = None,
        *,
        calls: Sequence[Call] = (("ReadCSV", None), ("XlsxFileGenerator", None)),
        files: Sequence[str] = ("plan.xlsx", "memo.docx"),
        unreadable: Sequence[str] = (),
        rejected: Sequence[str] = (),
        answer: str = "done",
        task: Task | None = None,
        turns: int = 3,
        ending: Ending = Ending.FINISHED,
        has_unseen_calls: bool = False,
    ) -> Signals:
        task = task or trip_task
        leaves = {leaf.id: 10.0 for leaf in task.checkpoints.leaves()} | (scores or {})
        tree = scored(task.checkpoints, leaves)
        return observe(
            task,
            make_outcome(files, answer, rejected=rejected),
            make_transcript(calls, turns, ending, answer, has_unseen_calls),
            TrialScore(trial_id="t1", root=tree, scorer_version="1"),
            [_rendered(name, name in unreadable) for name in files],
            rule=SuccessRule(threshold=7.0, min_coverage=0.5),
        )

    return observed


def _rendered(name: str, broken: bool) -> RenderedDeliverable:
    view = UnreadableView(reason="not a ZIP file") if broken else TextView(text="x")
    return RenderedDeliverable(name=name, sha256="a" * 64, view=view)


@pytest.fixture
def failed(trip_task: Task, make_outcome: Callable[..., TrialOutcome]) -> Callable[..., Record]:
    """The record of a trial of the trip with these events, in which leaves score 0."""

    def made(
        *events: Event,
        scores: dict[str, float | None] | None = None,
        reasons: dict[str, str] | None = None,
        files: Sequence[str] = ("plan.xlsx", "memo.docx"),
        unreadable: Sequence[str] = (),
        task: Task | None = None,
        **transcript: Any,
    ) -> Record:
        task = task or trip_task
        leaves = {leaf.id: 0.0 for leaf in task.checkpoints.leaves()} | (scores or {})
        root = with_reasons(scored(task.checkpoints, leaves), reasons or {})
        answer = transcript.get("answer", "done")
        return record_of(
            task,
            make_outcome(files, answer),
            transcript_of(*events, **transcript),
            TrialScore(trial_id="t1", root=root, scorer_version="1"),
            [_rendered(name, name in unreadable) for name in files],
        )

    return made


def with_reasons(node: NodeScore, reasons: dict[str, str]) -> NodeScore:
    """The same tree, in which the verifiers of these leaves said this."""
    if node.leaf is not None:
        leaf = node.leaf.model_copy(update={"reason": reasons.get(node.id, node.leaf.reason)})
        return node.model_copy(update={"leaf": leaf})
    below = tuple(with_reasons(child, reasons) for child in node.children)
    return node.model_copy(update={"children": below})
