"""Keeping the slots of one event loop filled, and ending a loop in which something hangs."""

import asyncio
import logging
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import suppress
from typing import Any, TypeVar

from stages.execute.slots.backlog import Holder, SlotGrant

CLOSING_SECONDS = 60.0
"""What is still running when the work is over has so long to end."""
SECONDS_BETWEEN_ASKS = 5.0
"""While there are trials left that nobody may begin yet: their provider is in doubt."""

_logger = logging.getLogger(__name__)
T = TypeVar("T")


async def keep_filled(
    holder: Holder,
    first: SlotGrant,
    slots: int,
    ends_at: float,
    run: Callable[[str], Coroutine[Any, Any, bool]],
) -> None:
    """Run trials, so many at once, until there are none or the time is up.

    Args:
        holder: Asks for the trials.
        first: What it was dealt already.
        slots: Trials in flight at once.
        ends_at: Nothing is begun from then on, by the loop's clock; what runs minds it itself.
        run: Runs one and returns whether it was recorded; raises nothing.
    """
    loop, in_flight = asyncio.get_running_loop(), 0
    ended: asyncio.Queue[tuple[str, bool]] = asyncio.Queue()
    out_of_reach: Exception | None = None
    all_recorded = True

    async def one(trial_id: str) -> None:
        ended.put_nowait((trial_id, await run(trial_id)))

    async with asyncio.TaskGroup() as group:
        dealt = first
        while True:
            for trial_id in dealt.trial_ids:
                group.create_task(one(trial_id))
            in_flight += len(dealt.trial_ids)
            may_begin = in_flight < slots and loop.time() < ends_at
            # One that was not recorded keeps its slot, and its provider from being probed, until
            # the holder leaves.
            more_may_come = dealt.waiting and may_begin and all_recorded
            if not in_flight and not more_may_come:
                break
            over = await _all_in(ended, SECONDS_BETWEEN_ASKS if more_may_come else None)
            in_flight, dealt = in_flight - len(over), SlotGrant()
            if out_of_reach is not None:
                continue
            done = [trial_id for trial_id, was_recorded in over if was_recorded]
            all_recorded = all_recorded and len(done) == len(over)
            free = 0 if loop.time() >= ends_at else slots - in_flight
            try:
                dealt = await asyncio.to_thread(holder.next, free, done)
            # Whatever carries the word: what runs must not be lost with it.
            except Exception as exc:  # noqa: BLE001
                out_of_reach = exc
    if out_of_reach is not None:
        raise out_of_reach


async def _all_in(ended: asyncio.Queue[T], seconds: float | None) -> list[T]:
    """Wait until something is in the queue, so long at most; return all that is."""
    found: list[T] = []
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            found.append(await ended.get())
    while not ended.empty():
        found.append(ended.get_nowait())
    return found


def run_loop(work: Coroutine[Any, Any, T]) -> T:
    """Return the result of `work`, run in a new event loop that something may hang in.

    As `asyncio.run`, but what neither ends when it is cancelled nor by itself, be it a task or a
    thread, is waited for `CLOSING_SECONDS` and then left behind.
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
