"""One worker's shift: it takes trials from a backlog until there are none, several at a time.

What execute and score share: the event loop, the rate limits, the model clients, the record of
paid calls, the working folder and the stage's deadline. What is done with one trial, a stage says.
"""

import asyncio
import logging
import math
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path

from environments.models.limits.alone import alone
from environments.models.limits.shared import Exchange, SharedLimiter, run_limiter
from environments.models.paid import CallWriter
from environments.models.registry import ModelClients
from environments.ports import SandboxProvider
from environments.reaper.owner import working_folder
from environments.reaper.reap import reaped
from environments.sandbox.providers import sandbox_provider
from stages.workers.backlog import Holder, TakeTrials, holding
from stages.workers.loop import keep_filled, run_loop
from taskdata.schema.run import Run
from taskdata.store import Store

_logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class WorkerContext:
    """What the trials of one shift share."""

    store: Store
    run: Run
    provider: SandboxProvider
    clients: ModelClients
    calls: CallWriter
    """Stores what model calls were paid for."""
    holder: Holder
    """Tells the backlog whether the providers of the trials' models answer."""
    folder: Path
    """Workspaces are made here; it is removed when the shift ends."""
    ends_at: float
    """The stage's deadline, by the clock of the event loop."""
    expected: int
    """About how many trials this shift will take."""


WorkOnTrial = Callable[[str], Awaitable[None]]
"""Does a stage's work on the trial of that id and records it; raises where it cannot record it."""
OpenStage = Callable[[WorkerContext], AbstractAsyncContextManager[WorkOnTrial]]
"""Opens what a stage needs besides, for the length of a shift."""


def run_shift(
    store: Store,
    run: Run,
    take: TakeTrials,
    open_stage: OpenStage,
    *,
    slots: int,
    exchange: Exchange | None = None,
    ends_at: float = math.inf,
) -> None:
    """Work on trials of a backlog, `slots` at a time in one event loop, until it has none.

    Args:
        store: This process's store.
        run: The run that the trials belong to.
        take: Takes trials from the backlog.
        open_stage: What the stage does; not called where there are no trials for this worker.
        slots: Trials in flight at once.
        exchange: Carries messages to the coordinator of the run's limits; None: this worker is the
            only one.
        ends_at: The stage's deadline, in seconds since the epoch: no trial is begun after it.

    Raises:
        Exception: The first error with which recording a trial failed; its trial stays due, and
            the others were worked on all the same.
    """
    limits = run_limiter(run.id, exchange or alone(store, run))
    with holding(take) as holder, limits.running():
        run_loop(_shift(store, run, holder, open_stage, slots, limits, ends_at))


async def _shift(
    store: Store,
    run: Run,
    holder: Holder,
    open_stage: OpenStage,
    slots: int,
    limits: SharedLimiter,
    ends_at: float,
) -> None:
    seconds = ends_at - time.time()
    if seconds <= 0:
        return
    stops_at = asyncio.get_running_loop().time() + seconds
    first = await asyncio.to_thread(holder.next, slots)
    if not first.trial_ids and not first.waiting:
        return
    purse = None if run.config.max_usd is None else limits.purse
    unrecorded: list[Exception] = []
    with reaped(), working_folder() as folder:
        async with (
            ModelClients(limits, purse, run.config.deadlines.attempt_seconds) as clients,
            CallWriter(store) as calls,
        ):
            worker = WorkerContext(
                store=store,
                run=run,
                provider=sandbox_provider(run.config.sandbox),
                clients=clients,
                calls=calls,
                holder=holder,
                folder=folder,
                ends_at=stops_at,
                expected=len(first.trial_ids) + first.waiting,
            )
            async with open_stage(worker) as work_on:

                async def recorded(trial_id: str) -> bool:
                    try:
                        await work_on(trial_id)
                    # One trial that cannot be recorded must not stop the others.
                    except Exception as exc:  # noqa: BLE001
                        name = type(exc).__name__
                        _logger.warning("trial %s: not recorded: %s: %s", trial_id, name, exc)
                        unrecorded.append(exc)
                        return False
                    return True

                await keep_filled(holder, first, slots, stops_at, recorded)
    if unrecorded:
        raise unrecorded[0]
