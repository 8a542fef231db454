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
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass
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
from stages.workers.backlog import Holder, SlotGrant, TakeTrials, holding
from stages.workers.deadline import NO_DEADLINE, StageEnd
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

                async def recorded(trial_id: str) -> bool:
                    try:
                        await work_on(trial_id)
                    # One trial that cannot be stored must not stop the others.
                    except Exception as exc:  # noqa: BLE001
                        name = type(exc).__name__
                        _logger.warning("trial %s: not recorded: %s: %s", trial_id, name, exc)
                        unrecorded.append(exc)
                        return False
                    return True

                await keep_filled(holder, first, slots, stops_at, recorded)
    if unrecorded:
        raise unrecorded[0]


CLOSING_SECONDS = 60.0
"""Time for tasks and threads that still run after the work to end."""
SECONDS_BETWEEN_ASKS = 5.0
"""Pause while waiting trials may not start, because their circuit breaker is open."""

_logger = logging.getLogger(__name__)
T = TypeVar("T")


async def keep_filled(
    holder: Holder,
    first: SlotGrant,
    slots: int,
    ends_at: float,
    run: Callable[[str], Coroutine[Any, Any, bool]],
) -> None:
    """Run trials, `slots` at a time, until there are none or the deadline has passed.

    Args:
        holder: Requests trials from the backlog.
        first: The trials that were granted already.
        slots: Number of concurrent trials.
        ends_at: No trial is started after this time of the loop's clock; a running trial watches
            its own deadline.
        run: Runs one trial and returns whether it was stored; raises nothing.
    """
    loop, in_flight = asyncio.get_running_loop(), 0
    ended: asyncio.Queue[tuple[str, bool]] = asyncio.Queue()
    backlog_error: Exception | None = None
    all_recorded = True

    async def one(trial_id: str) -> None:
        ended.put_nowait((trial_id, await run(trial_id)))

    async with asyncio.TaskGroup() as group:
        granted = first
        while True:
            for trial_id in granted.trial_ids:
                group.create_task(one(trial_id))
            in_flight += len(granted.trial_ids)
            may_begin = in_flight < slots and loop.time() < ends_at
            # The backlog counts a trial that was not stored as running until the holder leaves, and
            # does not probe its provider meanwhile; so waiting for more would never end.
            more_may_come = granted.waiting and may_begin and all_recorded
            if not in_flight and not more_may_come:
                break
            over = await _all_in(ended, SECONDS_BETWEEN_ASKS if more_may_come else None)
            in_flight, granted = in_flight - len(over), SlotGrant()
            if backlog_error is not None:
                continue
            done = [trial_id for trial_id, was_recorded in over if was_recorded]
            all_recorded = all_recorded and len(done) == len(over)
            free = 0 if loop.time() >= ends_at else slots - in_flight
            try:
                granted = await asyncio.to_thread(holder.next, free, done)
            # The transport decides what it raises. Running trials continue; then the error is
            # raised.
            except Exception as exc:  # noqa: BLE001
                backlog_error = exc
    if backlog_error is not None:
        raise backlog_error


async def _all_in(ended: asyncio.Queue[T], seconds: float | None) -> list[T]:
    """Wait for an entry in the queue, at most `seconds`; return all entries."""
    found: list[T] = []
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            found.append(await ended.get())
    while not ended.empty():
        found.append(ended.get_nowait())
    return found


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
