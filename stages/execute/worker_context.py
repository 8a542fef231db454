"""What the trials of one batch share, and which attempt at a trial is to be made."""

import asyncio
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from environments.models.record.log import CallLog, Payer
from environments.models.record.recorder import CallRecorder
from environments.models.registry import ModelClients
from environments.ports import SandboxProvider
from environments.services.running import ServiceRoom
from environments.tools.host.services import ToolServices
from stages.execute.slots.backlog import Holder
from taskdata.schema.model_call import ModelCall
from taskdata.schema.run import Run, Trial
from taskdata.schema.task import Task
from taskdata.store import Store


@dataclass(frozen=True)
class WorkerContext:
    """What the trials of one batch share."""

    store: Store
    run: Run
    provider: SandboxProvider
    clients: ModelClients
    holder: Holder
    """Of the slots: it hears whether trials are answered by their models' providers."""
    calls: CallRecorder
    """Records the calls of the agents' models."""
    services: ToolServices
    endpoints: Mapping[str, Sequence[str]]
    """Base URLs of running local model servers by model, such as `local/smollm2-135m`."""
    folder: Path
    """Workspaces are made here."""
    home: Path
    """Where MCP servers are installed."""
    ends_at: float = math.inf
    """When the stage's deadline comes, by the clock of the event loop."""
    tasks: dict[str, asyncio.Future[Task]] = field(default_factory=dict)
    """Those that were read, by hash: most trials of a batch share theirs with others."""

    async def task(self, task_hash: str) -> Task:
        """Return the task of that hash, read once."""
        reading = self.tasks.get(task_hash)
        if reading is None or (reading.done() and reading.exception() is not None):
            reading = asyncio.ensure_future(asyncio.to_thread(self.store.task, task_hash))
            self.tasks[task_hash] = reading
        return await asyncio.shield(reading)

    @property
    def room(self) -> ServiceRoom:
        """Where the tasks' own services are run."""
        return ServiceRoom(self.store.artifacts, self.provider, self.folder, self.home, self.run.id)


@dataclass(frozen=True)
class Due:
    """An attempt that is to be made."""

    trial: Trial
    attempt: int
    """Its number, from 1."""
    paid: Sequence[ModelCall] = ()
    """What earlier attempts were answered; it is not asked again."""

    @property
    def payer(self) -> Payer:
        """Who pays for the model calls."""
        return Payer.trial(self.trial.id, self.attempt)

    def log(self, calls: CallRecorder) -> CallLog:
        """Return the log of its agent's calls, which replays those of earlier attempts."""
        return CallLog(calls, self.payer, self.paid)

    @classmethod
    def read(cls, store: Store, trial_id: str) -> "Due | None":
        """Return the attempt that would come now; None if the trial has finished."""
        found = store.attempt_due(trial_id)
        if found is None:
            return None
        paid = store.paid_calls(trial_id) if found.was_begun else ()
        return cls(found.trial, found.number, paid)
