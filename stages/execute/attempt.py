"""One attempt at a trial: what its phases share, and the outcome that they draft."""

import asyncio
import logging
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zlib import crc32

from environments.models.faults import one_line
from environments.models.record.log import CallLog, Payer
from environments.models.record.recorder import CallRecorder
from environments.models.wire.arguments import clean_text
from environments.services.starting import ServiceHost
from environments.toolkit.services import ToolServices
from stages.execute.dialogue.journal import Journal
from stages.workers.deadline import Deadline
from stages.workers.shift import WorkerContext
from taskdata.errors import NightshiftError
from taskdata.schema.agent import AgentSpec
from taskdata.schema.limits import SandboxLimits
from taskdata.schema.model_call import ModelCall
from taskdata.schema.run import Deliverable, OutcomeStatus, Trial, TrialOutcome
from taskdata.schema.self_verification import SelfVerification
from taskdata.schema.task import Task
from taskdata.schema.tool_use import tool_uses
from taskdata.schema.transcript import ModelEvent, ShownFile, ToolEvent, Transcript
from taskdata.schema.usage import Usage
from taskdata.store import Store
from taskdata.version import code_version

_logger = logging.getLogger(__name__)
_CAUSE_CHARS = 500
_DETAIL_CHARS = 20_000


@dataclass(frozen=True)
class Counts:
    """What an attempt used; None: unknown, never 0."""

    usage: Usage | None = None
    cost_usd: float | None = None
    turns: int | None = None
    tool_calls: int | None = None
    tool_errors: int | None = None
    model_id: str | None = None

    @classmethod
    def of(cls, journal: Journal) -> "Counts":
        """Return the counts of the recorded events, also for a trial that was cut short."""
        models = [event for event in journal.events if isinstance(event, ModelEvent)]
        tools = [event for event in journal.events if isinstance(event, ToolEvent)]
        errors = sum(1 for event in tools if event.error is not None)
        parts = (*journal.events, *(journal.plan.replies if journal.plan else ()))
        costs = [part.cost_usd for part in parts if part.cost_usd is not None]
        planned = Usage() if journal.plan is None else journal.plan.usage
        return cls(
            usage=sum((event.usage for event in models), planned),
            cost_usd=sum(costs) if len(costs) == len(parts) else None,
            turns=len(models) or len(tools),
            tool_calls=len(tools) if journal.calls_are_seen else None,
            tool_errors=errors if journal.calls_are_seen else None,
            model_id=models[-1].model if models else None,
        )


@dataclass(frozen=True)
class Stored:
    """References to what a trial left, in the store."""

    transcript: Transcript
    transcript_sha256: str
    deliverables: tuple[Deliverable, ...]
    rejected: tuple[str, ...]
    """Files that were refused, with reasons."""
    pictures: tuple[ShownFile, ...] = ()
    """Of the results of its tools."""
    verified: SelfVerification | None = None


@dataclass
class OutcomeDraft:
    """What is known of an attempt's outcome so far; the phases of the trial fill it in."""

    trial_id: str
    attempt: int
    sandbox: str
    started_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    sandbox_image: str | None = None
    limits: SandboxLimits | None = None

    def finished(
        self,
        stored: Stored,
        counts: Counts,
        prompt_version: str | None = None,
        wall_seconds: float | None = None,
    ) -> TrialOutcome:
        """Return the outcome of a completed attempt."""
        return self._outcome(
            OutcomeStatus.FINISHED,
            counts,
            ending=stored.transcript.ending,
            final_answer=stored.transcript.final_answer,
            transcript_sha256=stored.transcript_sha256,
            tool_uses=tool_uses(stored.transcript),
            tool_pictures=stored.pictures,
            self_verification=stored.verified,
            deliverables=stored.deliverables,
            rejected_files=stored.rejected,
            prompt_version=prompt_version,
            wall_seconds=wall_seconds,
        )

    def failed(
        self,
        error: str,
        journal: Journal,
        error_detail: str | None = None,
        wall_seconds: float = 0.0,
    ) -> TrialOutcome:
        """Return the outcome of an attempt that failed for a reason that is not the agent's.

        If the outcome cannot hold everything that is known, it holds at least the cause.
        """
        facts: dict[str, Any] = {
            "error": error,
            "error_detail": error_detail,
            "wall_seconds": wall_seconds,
        }
        facts |= {"tool_pictures": journal.pictures.stored}
        try:
            return self._outcome(OutcomeStatus.INFRASTRUCTURE, Counts.of(journal), **facts)
        # Without an outcome the trial would stay due for ever, and nobody would learn why.
        except Exception as exc:  # noqa: BLE001
            _logger.warning("trial %s: its counts are lost: %s", self.trial_id, cause(exc))
            least = replace(self, sandbox_image=None, limits=None)
            return least._outcome(OutcomeStatus.INFRASTRUCTURE, Counts(), **facts)

    def _outcome(self, status: OutcomeStatus, counts: Counts, **facts: Any) -> TrialOutcome:
        return TrialOutcome(
            **vars(self),
            **vars(counts),
            **facts,
            status=status,
            code_version=code_version(),
            finished_at=datetime.now(UTC),
        )


def cause(exc: Exception) -> str:
    """Return the cause on one line, with the exception's type unless it is one of our own."""
    text = one_line(clean_text(str(exc)), limit=_CAUSE_CHARS)
    return text if isinstance(exc, NightshiftError) else f"{type(exc).__name__}: {text}"


def detail_of(store: Store, journal: Journal, exc: Exception) -> str:
    """Return the traceback, and the artifact with the events up to the failure; blocks."""
    detail = clean_text("".join(traceback.format_exception(exc)))[-_DETAIL_CHARS:]
    if not journal.events and journal.plan is None:
        return detail
    try:
        parts = (*([] if journal.plan is None else [journal.plan]), *journal.events)
        lines = "\n".join(part.model_dump_json() for part in parts)
        journal.pictures.store(store.artifacts)
        kept = store.artifacts.put_bytes(lines.encode())
    # Failing to store the events must not hide the cause.
    except Exception as error:  # noqa: BLE001
        return f"{detail}\nThe events up to here could not be kept: {cause(error)}"
    return f"{detail}\nThe events up to here: artifact {kept}"


@dataclass(frozen=True)
class ExecuteContext:
    """What the trials of one shift of the execute stage share."""

    worker: WorkerContext
    services: ToolServices
    endpoints: Mapping[str, Sequence[str]]
    """Base URLs of running local model servers by model, such as `local/smollm2-135m`."""
    home: Path
    """State folder of this installation, where MCP servers are installed."""
    tasks: dict[str, asyncio.Future[Task]] = field(default_factory=dict)
    """The tasks read so far, by hash: most trials of a shift share theirs with others."""

    async def task(self, task_hash: str) -> Task:
        """Return the task of that hash; it is read once."""
        reading = self.tasks.get(task_hash)
        if reading is None or (reading.done() and reading.exception() is not None):
            reading = asyncio.ensure_future(asyncio.to_thread(self.worker.store.task, task_hash))
            self.tasks[task_hash] = reading
        return await asyncio.shield(reading)

    @property
    def service_host(self) -> ServiceHost:
        """Where the tasks' own services are run."""
        worker = self.worker
        return ServiceHost(
            worker.store.artifacts, worker.provider, worker.folder, self.home, worker.run.id
        )

    def base_url(self, agent: AgentSpec, trial: Trial) -> str | None:
        """Return the URL of the agent's model; None: its provider's own URL."""
        servers = self.endpoints.get(str(agent.model))
        if not servers:
            return agent.base_url
        # Chosen by task: a server that has cached a task's prompt answers the next round faster.
        chosen = crc32(f"{trial.task_id}/{trial.repetition}".encode()) % len(servers)
        return servers[chosen]


@dataclass(frozen=True)
class DueAttempt:
    """An attempt that must be made at a trial."""

    trial: Trial
    number: int
    """Counted from 1."""
    paid: Sequence[ModelCall] = ()
    """The calls that earlier attempts have paid for; their replies are replayed."""

    @property
    def payer(self) -> Payer:
        """Who is charged for the attempt's model calls."""
        return Payer.trial(self.trial.id, self.number)

    def log(self, calls: CallRecorder) -> CallLog:
        """Return the log of the agent's calls, which replays those of earlier attempts."""
        return CallLog(calls, self.payer, self.paid)

    @classmethod
    def read(cls, store: Store, trial_id: str) -> "DueAttempt | None":
        """Return the next attempt; None if the trial has finished."""
        found = store.attempt_due(trial_id)
        if found is None:
            return None
        paid = store.paid_calls(trial_id) if found.was_begun else ()
        return cls(found.trial, found.number, paid)


@dataclass(frozen=True)
class RunningAttempt:
    """An attempt while its phases are running."""

    shared: ExecuteContext
    due: DueAttempt
    journal: Journal
    deadline: Deadline
    draft: OutcomeDraft

    @property
    def calls(self) -> CallRecorder:
        """Records the attempt's model calls."""
        return self.shared.worker.calls
