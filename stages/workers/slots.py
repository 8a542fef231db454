"""The slots of one shift: which trials run in them, and when the backlog is asked for more.

To ask takes a few milliseconds of the worker and of the scheduler. Where trials take no longer
themselves, a worker asks for a few in advance, as many as it begins within `SECONDS_IN_ADVANCE`.
They wait for nobody: after `SECONDS_IN_RESERVE` in which no slot came free they go back, and where
trials take seconds, as those of a model do, none is asked for in advance.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from typing import Any

from stages.workers.backlog import Holder, SlotGrant

SECONDS_BETWEEN_ASKS = 5.0
"""Pause while waiting trials may not start, because their circuit breaker is open."""
SECONDS_IN_ADVANCE = 0.1
SECONDS_IN_RESERVE = 1.0
SECONDS_UNTOLD = 0.2
"""Trials that are over are reported after this time, also while there are more in reserve."""
_RATE_SECONDS = 1.0
_LEAST_PARTS = 4
"""A reserve is at most such a part of what waits, so that the last trials are shared evenly."""

Ended = Sequence[tuple[str, bool]]
"""Trials that are over, and whether each was stored."""


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

    Raises:
        Exception: The backlog could not be asked; the running trials have been finished.
    """
    ended: asyncio.Queue[tuple[str, bool]] = asyncio.Queue()
    filling = _Filling(holder, first, slots, ends_at)

    async def one(trial_id: str) -> None:
        ended.put_nowait((trial_id, await run(trial_id)))

    async with asyncio.TaskGroup() as group:
        while True:
            for trial_id in filling.begun():
                group.create_task(one(trial_id))
            if filling.is_over:
                break
            await filling.note(await _all_in(ended, filling.patience))
    if filling.error is not None:
        raise filling.error


class _Filling:
    """What runs in the slots, what is in reserve, and what the backlog has not been told."""

    def __init__(self, holder: Holder, first: SlotGrant, slots: int, ends_at: float) -> None:
        self._holder = holder
        self._slots = slots
        self._ends_at = ends_at
        self._now = asyncio.get_running_loop().time
        self._reserve = deque(first.trial_ids)
        self._is_new = True
        """Whether the backlog was asked just now: what it grants in time is begun."""
        self._waiting = first.waiting
        self._in_flight = 0
        self._untold: list[str] = []
        self._all_recorded = True
        self._ends: deque[float] = deque()
        """When the last trials were over."""
        self._asked_at = self._now()
        self.error: Exception | None = None
        """Why the backlog cannot be asked any more."""

    def begun(self) -> list[str]:
        """Return the trials that take the free slots now."""
        count = min(self._free, len(self._reserve)) if self._is_in_time or self._is_new else 0
        self._is_new = False
        self._in_flight += count
        return [self._reserve.popleft() for _ in range(count)]

    @property
    def is_over(self) -> bool:
        """Whether nothing runs and nothing more may begin."""
        return not self._in_flight and not self._more_may_come

    @property
    def patience(self) -> float | None:
        """Seconds to wait for a trial to end before the backlog is asked; None: until one does."""
        if self._reserve:
            return SECONDS_IN_RESERVE
        return SECONDS_BETWEEN_ASKS if self._more_may_come else None

    async def note(self, over: Ended) -> None:
        """Note trials that are over, and ask the backlog for others where the reserve is short."""
        self._in_flight -= len(over)
        if self.error is not None:
            return
        done = [trial_id for trial_id, was_recorded in over if was_recorded]
        self._all_recorded = self._all_recorded and len(done) == len(over)
        self._untold += done
        self._ends.extend(self._now() for _ in over)
        is_due = self._now() >= self._asked_at + SECONDS_UNTOLD or self._holder.has_silence
        if is_due or not over or len(self._reserve) < self._free:
            await self._ask(gives_back=not over or self._holder.has_silence)

    @property
    def _free(self) -> int:
        return self._slots - self._in_flight

    @property
    def _is_in_time(self) -> bool:
        return self._now() < self._ends_at

    @property
    def _more_may_come(self) -> bool:
        # The backlog counts a trial that was not stored as running until the holder leaves, and
        # does not probe its provider meanwhile; so waiting for more would never end.
        return bool(self._waiting and self._free and self._is_in_time and self._all_recorded)

    async def _ask(self, *, gives_back: bool) -> None:
        returned = tuple(self._reserve) if gives_back else ()
        if gives_back:
            self._reserve.clear()
        wanted = self._free - len(self._reserve) + (0 if gives_back else self._in_advance())
        free = max(0, wanted) if self._is_in_time else 0
        done, self._untold, self._asked_at = self._untold, [], self._now()
        try:
            granted = await asyncio.to_thread(self._holder.next, free, done, returned)
        # The transport decides what it raises. Running trials continue; then the error is raised.
        except Exception as exc:  # noqa: BLE001
            self.error, granted = exc, SlotGrant()
            self._reserve.clear()
        self._reserve.extend(granted.trial_ids)
        self._is_new = True
        self._waiting = granted.waiting

    def _in_advance(self) -> int:
        """Return how many trials beyond the free slots will be begun very soon."""
        while self._ends and self._ends[0] < self._now() - _RATE_SECONDS:
            self._ends.popleft()
        soon = int(len(self._ends) / _RATE_SECONDS * SECONDS_IN_ADVANCE)
        return min(soon, self._waiting // _LEAST_PARTS) if self._all_recorded else 0


async def _all_in(ended: asyncio.Queue[tuple[str, bool]], seconds: float | None) -> Ended:
    """Wait for an entry in the queue, at most `seconds`; return all entries."""
    found: list[tuple[str, bool]] = []
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            found.append(await ended.get())
    while not ended.empty():
        found.append(ended.get_nowait())
    return found
