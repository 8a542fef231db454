"""Keep the slots of one event loop filled, and end a loop in which something hangs."""

import asyncio
import logging
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import suppress
from typing import Any, TypeVar

from stages.workers.backlog import Holder, SlotGrant

CLOSING_SECONDS = 60.0
"""Tasks and threads that still run after the work have so long to end."""
SECONDS_BETWEEN_ASKS = 5.0
"""While trials are waiting that may not begin yet: their provider's circuit breaker is open."""

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
        slots: Trials in flight at once.
        ends_at: No trial is begun after this time of the loop's clock; a trial in flight watches
            its own deadline.
        run: Runs one trial and returns whether it was recorded; raises nothing.
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
            # The backlog counts a trial that was not recorded as in flight until the holder leaves,
            # and never probes its provider meanwhile; so waiting for more would not end.
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
            # The transport decides what it raises. Trials in flight go on; then this is raised.
            except Exception as exc:  # noqa: BLE001
                backlog_error = exc
    if backlog_error is not None:
        raise backlog_error


async def _all_in(ended: asyncio.Queue[T], seconds: float | None) -> list[T]:
    """Wait for something in the queue, at most `seconds`; return everything that is in it."""
    found: list[T] = []
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            found.append(await ended.get())
    while not ended.empty():
        found.append(ended.get_nowait())
    return found


def run_loop(work: Coroutine[Any, Any, T]) -> T:
    """Return the result of `work`, run in a new event loop that something may hang in.

    Like `asyncio.run`, but a task or thread that does not end, not even when it is cancelled, is
    waited for at most `CLOSING_SECONDS` and then abandoned.
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
