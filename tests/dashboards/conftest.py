"""Builders for runs to draw: trials recorded in a real store, numbers made by hand."""

import base64
import gzip
import json
import zlib
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from struct import pack
from typing import Any

import pytest
from bs4 import BeautifulSoup

from dashboards.build import build
from flows.failures import failures_of
from quality.summary import summarise
from taskdata.schema.diagnosis import Diagnosis, FailureLevels, FailureStage, FailureType
from taskdata.schema.estimate import Estimate
from taskdata.schema.plan import Plan
from taskdata.schema.run import (
    Deliverable,
    OutcomeStatus,
    Run,
    StageReport,
    Trial,
    TrialOutcome,
    TrialResult,
)
from taskdata.schema.scores import LeafScore, NodeScore, TrialScore, Unscored
from taskdata.schema.summary import AgentSummary
from taskdata.schema.task import Task
from taskdata.schema.transcript import (
    Ending,
    Event,
    MessageEvent,
    ModelEvent,
    ToolCall,
    ToolEvent,
    Transcript,
    Usage,
)
from taskdata.schema.views import JsonView, RenderedDeliverable, View
from taskdata.store import Store

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def plan(store: Store) -> Callable[..., Trial]:
    """Plan one trial of `run`."""

    def planned(
        run: Run,
        task: Task,
        agent: str = "nop",
        round_: int = 0,
        repetition: int = 0,
        feedback: str | None = None,
        arm: str = "checkpoint",
    ) -> Trial:
        def identity(number: int) -> str:
            own = arm if number else ""
            return Trial.make_id(run.id, agent, task.id, repetition, number, own)

        trial = Trial(
            id=identity(round_),
            run_id=run.id,
            agent=agent,
            task_id=task.id,
            task_hash=task.content_hash,
            tier=task.tier,
            category=task.category,
            repetition=repetition,
            round=round_,
            arm=arm if round_ else "",
            parent_trial_id=identity(round_ - 1) if round_ else None,
            feedback=feedback,
        )
        store.plan_trials([trial])
        return trial

    return planned


@pytest.fixture
def finish(store: Store) -> Callable[..., None]:
    """Record that the agent ended the trial, with `text` as everything it said and read."""

    def finished(
        trial: Trial,
        text: str = "hello",
        events: Sequence[Event] | None = None,
        answer: str = "done",
        files: Mapping[str, bytes] | None = None,
        planned: Plan | None = None,
        **fields: Any,
    ) -> None:
        call = ToolCall(id="1", tool="write_file", arguments={"path": text, "content": text})
        usage = Usage(input_tokens=100, output_tokens=20)
        events = events or [
            MessageEvent(role="user", text=text),
            ModelEvent(
                text=text, model="small", usage=usage, cost_usd=0.25, started_at=NOON, seconds=1
            ),
            ToolEvent(call=call, text=text, started_at=NOON, seconds=0.5),
        ]
        transcript = Transcript(
            events=tuple(events), final_answer=answer, ending=Ending.FINISHED, plan=planned
        )
        kept = store.artifacts.put_bytes(transcript.model_dump_json().encode())
        delivered = tuple(
            Deliverable(name=name, sha256=store.artifacts.put_bytes(data), size_bytes=len(data))
            for name, data in (files or {}).items()
        )
        outcome = TrialOutcome(
            trial_id=trial.id,
            attempt=1,
            status=OutcomeStatus.FINISHED,
            ending=Ending.FINISHED,
            final_answer=answer,
            transcript_sha256=kept,
            deliverables=delivered,
            usage=transcript.usage,
            cost_usd=transcript.cost_usd,
            wall_seconds=12.5,
            turns=transcript.turns,
            tool_calls=len(transcript.tool_events),
            sandbox="bubblewrap",
            code_version="test",
            started_at=NOON,
            finished_at=NOON,
        )
        store.record_outcome(outcome.model_copy(update=fields))

    return finished


@pytest.fixture
def lose(store: Store) -> Callable[..., None]:
    """Record that the trial failed for a reason outside the agent."""

    def lost(trial: Trial, cause: str, detail: str = "Traceback") -> None:
        store.record_outcome(
            TrialOutcome(
                trial_id=trial.id,
                attempt=1,
                status=OutcomeStatus.INFRASTRUCTURE,
                error=cause,
                error_detail=detail,
                sandbox="bubblewrap",
                code_version="test",
                started_at=NOON,
                finished_at=NOON,
            )
        )

    return lost


def tree(task: Task, given: float | Unscored | None, reason: str) -> NodeScore:
    """Every leaf with the same score, or the same cause why it has none."""
    score = None if given is None or isinstance(given, Unscored) else given
    cause = None if score is not None else given or Unscored.NOT_CONFIGURED
    coverage = 0.0 if score is None else 1.0
    leaves = tuple(
        NodeScore(
            id=leaf.id,
            requirement=leaf.requirement,
            weight=leaf.weight,
            score=score,
            coverage=coverage,
            leaf=LeafScore(
                leaf_id=leaf.id,
                score=score,
                verifier="check:json_values@1",
                reason=reason,
                unscored=cause,
            ),
        )
        for leaf in task.checkpoints.leaves()
    )
    root = task.checkpoints
    return NodeScore(
        id=root.id,
        requirement=root.requirement,
        weight=1,
        score=score,
        coverage=coverage,
        children=leaves,
    )


@pytest.fixture
def grade(store: Store) -> Callable[..., None]:
    """Record scores, views and labels of a finished trial."""

    def graded(
        trial: Trial,
        score: float | Unscored | None,
        reason: str = "found 5",
        views: Mapping[str, View] | None = None,
        preview_png: bytes | None = None,
        evidence: str = "no tool was called",
    ) -> None:
        preview = None if preview_png is None else store.artifacts.put_bytes(preview_png)
        rendered = [
            RenderedDeliverable(name=name, sha256="a" * 64, view=view, preview_png_sha256=preview)
            for name, view in (views or {}).items()
        ]
        root = tree(store.task(trial.task_hash), score, reason)
        store.record_score(
            TrialScore(trial_id=trial.id, root=root, scorer_version="score@1"), rendered
        )
        if isinstance(score, float) and score <= 7:
            levels = FailureLevels(leaf=True, composition=False, deliverable=False)
            store.record_diagnosis(
                Diagnosis(
                    trial_id=trial.id,
                    stage=FailureStage.PLAN,
                    type=FailureType.FORMATTING,
                    levels=levels,
                    evidence=(evidence,),
                    labeller="rules@1",
                )
            )

    return graded


@pytest.fixture
def dashboard(store: Store) -> Callable[[Run], str]:
    """The page of a run as it is in the store now."""

    def built(run: Run) -> str:
        summary = summarise(
            store.run(run.id),
            store.results(run.id),
            store.tasks_of_run(run.id),
            store.gates(run.id),
            store.stages(run.id),
        )
        return build(store, summary, run_failures=failures_of(store, store.run(run.id)))

    return built


@pytest.fixture
def night(store, new_task, new_run, plan, finish, grade, lose) -> Run:
    """Two agents and two tasks: good, bad and refined, lost, and one still due."""
    tasks = [new_task("first"), new_task("second", title="Another sum")]
    run = new_run(*tasks, agents=("nop", "react:openai/gpt-5.2"))
    for task, score in zip(tasks, (9.0, 3.0), strict=True):
        trial = plan(run, task, "react:openai/gpt-5.2")
        finish(trial, files={"out.json": b'{"sum": 5}'})
        grade(trial, score, views={"out.json": JsonView(value={"sum": 5})})
    again = plan(run, tasks[1], "react:openai/gpt-5.2", round_=1, feedback="Not there yet.")
    finish(again)
    grade(again, 8.0)
    lose(plan(run, tasks[0]), "openai: 503 after 5 tries; check the endpoint")
    plan(run, tasks[1])
    store.record_stage(StageReport(stage="execute", run_id=run.id, due=1, done=4, seconds=61))
    return run


@pytest.fixture
def data_of() -> Callable[[str, str], Any]:
    """The JSON of one data element of a page."""

    def read(page: str, element_id: str) -> Any:
        element = BeautifulSoup(page, "html.parser").find(id=element_id)
        return json.loads(element.string)

    return read


@pytest.fixture
def details_of(data_of) -> Callable[[str, str], Any]:
    """The details of one trial as the page carries them."""

    def read(page: str, trial_id: str) -> Any:
        packed = data_of(page, "trial-details")[trial_id]
        return json.loads(gzip.decompress(base64.b64decode(packed)))

    return read


@pytest.fixture
def agent_numbers() -> Callable[..., AgentSummary]:
    """One agent's numbers; what is not given is that of an agent without a single score."""

    def numbers(name: str = "react:openai/gpt-5.2", **known: Any) -> AgentSummary:
        nothing = Estimate(mean=None, ci95=None)
        fields = {
            "agent": name,
            "is_control": name in ("reference", "nop"),
            "trials": 4,
            "scored": 0,
            "errors": 0,
            "pending": 0,
            "root_score": nothing,
            "root_sr": None,
            "root_sr_ci95": None,
            "root_sr_at": {str(k): None for k in range(5, 10)},
            "pass_at_k": {},
            "pass_hat_k": {},
            "leaf_sr": None,
            "tool_sr": None,
            "coverage": None,
            "capability_sr": {"logic": None},
            "category": {},
            "deliverable_type": {},
            "tier": {},
            "cost_usd": None,
            "wall_s": 0.0,
            "turns": None,
            "tokens": 0,
            "score_per_usd": None,
            "failures": {},
        }
        return AgentSummary.model_validate(fields | known)

    return numbers


@pytest.fixture
def result_of(plan) -> Callable[..., TrialResult]:
    """What is known of one trial, without going through the store's outcome tables."""

    def result(run: Run, task: Task, agent: str, score: float | None, **known: Any) -> TrialResult:
        trial = plan(run, task, agent)
        found = TrialScore(trial_id=trial.id, root=tree(task, score, "x"), scorer_version="1")
        return TrialResult(trial=trial, score=found, **known)

    return result


def chunk(kind: bytes, content: bytes) -> bytes:
    return pack(">I", len(content)) + kind + content + pack(">I", zlib.crc32(kind + content))


@pytest.fixture
def png() -> bytes:
    """A picture of one grey pixel."""
    header = pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)
    image = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"\0\x80")) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + image
