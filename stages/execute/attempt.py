"""What the trials of a shift share, and the one attempt at a trial that its phases work on."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from zlib import crc32

from environments.models.paid import Attempt, CallWriter
from environments.services.running import ServiceRoom
from environments.tools.host.services import ToolServices
from stages.execute.dialogue.journal import Journal
from stages.execute.outcome import OutcomeDraft
from stages.workers.deadline import Deadline
from stages.workers.shift import WorkerContext
from taskdata.schema.agent import AgentSpec
from taskdata.schema.model_call import ModelCall
from taskdata.schema.run import Trial
from taskdata.schema.task import Task
from taskdata.store import Store


@dataclass(frozen=True)
class ExecuteContext:
    """What the trials of one shift of the execute stage share."""

    worker: WorkerContext
    services: ToolServices
    endpoints: Mapping[str, Sequence[str]]
    """Base URLs of running local model servers by model, such as `local/smollm2-135m`."""
    home: Path
    """Where MCP servers are installed."""
    tasks: dict[str, asyncio.Future[Task]] = field(default_factory=dict)
    """The tasks that were read, by hash: most trials of a shift share theirs with others."""

    async def task(self, task_hash: str) -> Task:
        """Return the task of that hash, read once."""
        reading = self.tasks.get(task_hash)
        if reading is None or (reading.done() and reading.exception() is not None):
            reading = asyncio.ensure_future(asyncio.to_thread(self.worker.store.task, task_hash))
            self.tasks[task_hash] = reading
        return await asyncio.shield(reading)

    @property
    def service_room(self) -> ServiceRoom:
        """Where the tasks' own services are run."""
        worker = self.worker
        return ServiceRoom(
            worker.store.artifacts, worker.provider, worker.folder, self.home, worker.run.id
        )

    def base_url(self, agent: AgentSpec, trial: Trial) -> str | None:
        """Return where the agent's model is served; None: at its provider's own URL."""
        servers = self.endpoints.get(str(agent.model))
        if not servers:
            return agent.base_url
        # Chosen by task: the server that has read a task's prompt answers its next round faster.
        chosen = crc32(f"{trial.task_id}/{trial.repetition}".encode()) % len(servers)
        return servers[chosen]


@dataclass(frozen=True)
class DueAttempt:
    """An attempt that is to be made at a trial."""

    trial: Trial
    number: int
    """From 1."""
    paid: Sequence[ModelCall] = ()
    """The calls that earlier attempts have paid for; their replies are replayed."""

    @property
    def payer(self) -> Attempt:
        """What the attempt's model calls are booked on."""
        return Attempt(self.trial.id, self.number)

    @classmethod
    def read(cls, store: Store, trial_id: str) -> "DueAttempt | None":
        """Return the attempt that comes next; None if the trial has finished."""
        found = store.attempt_due(trial_id)
        if found is None:
            return None
        paid = store.paid_calls(trial_id) if found.was_begun else ()
        return cls(found.trial, found.number, paid)


@dataclass(frozen=True)
class RunningAttempt:
    """An attempt while its phases are at work on it."""

    shared: ExecuteContext
    due: DueAttempt
    journal: Journal
    deadline: Deadline
    draft: OutcomeDraft

    @property
    def calls(self) -> CallWriter:
        """Stores what the attempt's model calls were paid for."""
        return self.shared.worker.calls
