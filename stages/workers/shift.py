"""One worker's shift: it takes trials from a backlog until it is empty, several at a time.

It is shared by execute and score and provides the event loop, the rate limits, the model clients,
the record of paid calls, the working folder and the stage's deadline. The stage defines the work on
one trial.
"""

import asyncio
import logging
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from environments.models.limits.coordinator import Coordinator, Exchange
from environments.models.limits.limiter import ProcessLimiter, run_limiter
from environments.models.money.shared_budget import spent_usd
from environments.models.record.recorder import CallRecorder
from environments.models.registry import ModelClients
from environments.ports import SandboxProvider
from environments.reaper.owner import working_folder
from environments.reaper.reap import reaped
from environments.sandbox.providers import sandbox_provider
from stages.workers.backlog import Holder, TakeTrials, holding
from stages.workers.deadline import NO_DEADLINE, StageEnd
from stages.workers.slots import keep_filled
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
    calls: CallRecorder
    """Records model calls, and replays those that were paid for before."""
    holder: Holder
    """Reports to the backlog whether the providers of the trials' models answer."""
    folder: Path
    """Folder for workspaces, removed when the shift ends."""
    ends: StageEnd
    """The stage's deadline, by the clock of the event loop."""
    expected: int
    """About how many trials this shift will take."""


WorkOnTrial = Callable[[str], Awaitable[None]]
"""Does a stage's work on the trial of that id and stores it; raises if it cannot be stored."""
OpenStage = Callable[[WorkerContext], AbstractAsyncContextManager[WorkOnTrial]]
"""Opens what a stage needs in addition, for the length of a shift."""


def run_shift(
    store: Store,
    run: Run,
    take: TakeTrials,
    open_stage: OpenStage,
    *,
    slots: int,
    exchange: Exchange | None = None,
    ends: StageEnd = NO_DEADLINE,
) -> None:
    """Work on trials of a backlog, `slots` at a time in one event loop, until it is empty.

    Args:
        store: This process's store.
        run: The run that the trials belong to.
        take: Takes trials from the backlog.
        open_stage: The stage's work; not called if there are no trials for this worker.
        slots: Number of concurrent trials.
        exchange: Carries messages to the coordinator of the run's limits; None: this worker is the
            only one.
        ends: The stage's deadline, in seconds since the epoch: no trial is started after it.

    Raises:
        Exception: the first error when storing a trial; its trial stays due, and the others were
            worked on all the same.
    """
    if exchange is None:
        spent = spent_usd(store, run)
        exchange = Coordinator(run.config.limits, run.config.max_usd, spent).exchange
    limits = run_limiter(run.id, exchange)
    with holding(take) as holder, limits.running():
        run_loop(_shift(store, run, holder, open_stage, slots, limits, ends))


async def _shift(
    store: Store,
    run: Run,
    holder: Holder,
    open_stage: OpenStage,
    slots: int,
    limits: ProcessLimiter,
    ends: StageEnd,
) -> None:
    seconds = ends.at - time.time()
    if seconds <= 0:
        return
    stops_at = asyncio.get_running_loop().time() + seconds
    first = await asyncio.to_thread(holder.next, slots)
    if not first.trial_ids and not first.waiting:
        return
    run_budget = None if run.config.max_usd is None else limits.budget
    unrecorded: list[Exception] = []
    with reaped(), working_folder() as folder:
        async with (
            ModelClients(limits, run_budget, run.config.deadlines.attempt_seconds) as clients,
            CallRecorder(store) as calls,
        ):
            worker = WorkerContext(
                store=store,
                run=run,
                provider=sandbox_provider(run.config.sandbox),
                clients=clients,
                calls=calls,
                holder=holder,
                folder=folder,
                ends=StageEnd(stops_at, ends.cause),
                expected=len(first.trial_ids) + first.waiting,
            )
            async with open_stage(worker) as work_on:
                recorded = partial(_recorded, work_on, unrecorded)
                await keep_filled(holder, first, slots, stops_at, recorded)
    if unrecorded:
        raise unrecorded[0]


async def _recorded(work_on: WorkOnTrial, unrecorded: list[Exception], trial_id: str) -> bool:
    """Return whether the trial's outcome could be stored; why not is added to `unrecorded`."""
    try:
        await work_on(trial_id)
    # One trial that cannot be stored must not stop the others.
    except Exception as exc:  # noqa: BLE001
        name = type(exc).__name__
        _logger.warning("trial %s: not recorded: %s: %s", trial_id, name, exc)
        unrecorded.append(exc)
        return False
    return True


CLOSING_SECONDS = 60.0
"""Time for tasks and threads that still run after the work to end."""
T = TypeVar("T")


def run_loop(work: Coroutine[Any, Any, T]) -> T:
    """Return the result of `work`, run in a new event loop that tolerates hanging tasks.

    Like `asyncio.run`, but a task or thread that does not end even when cancelled is waited for at
    most `CLOSING_SECONDS` and then abandoned.
    """
    runner = asyncio.Runner(loop_factory=asyncio.new_event_loop)
    try:
        return runner.run(work)
    finally:
        _close(runner)


def _close(runner: asyncio.Runner) -> None:
    closed: Future[None] = Future()

    def close() -> None:
        try:
            runner.close()
        except BaseException as exc:  # noqa: BLE001
            closed.set_exception(exc)
        else:
            closed.set_result(None)

    threading.Thread(target=close, name="closing-loop", daemon=True).start()
    try:
        closed.result(CLOSING_SECONDS)
    except FutureTimeout:
        _logger.warning("something of a batch hangs; it is left until its process ends")
