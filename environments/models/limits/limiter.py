"""The queue of one process for each provider's slots, within the coordinator's shares.

A thread reports to the coordinator a few times a second while there are calls, and at once after a
rate limit error or while the window still grows fast. Callers wait for an answer only if they have
no share. While the coordinator cannot be reached, the last shares stay valid but no money is
reserved, so under a cap no new call is made.
"""

import asyncio
import logging
import math
import os
import socket
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import cache

from environments.models.limits.coordinator import (
    REPORT_SECONDS,
    Coordinator,
    Exchange,
    Report,
)
from environments.models.limits.protocols import Outcome
from environments.models.limits.provider_limits import ProviderLimits
from environments.models.limits.shared_limits import Demand
from environments.models.money.run_budget import RunBudget
from taskdata.errors import ModelUnavailable

_LEAST_SECONDS_BETWEEN_REPORTS = 0.02
_SHORTEST_SLEEP_SECONDS = 0.005

_logger = logging.getLogger(__name__)


class _Place:
    """A caller's place in the queue, and its slot once it has one."""

    def __init__(self, tokens: int) -> None:
        self.tokens = tokens
        self.loop = asyncio.get_running_loop()
        self.woken = asyncio.Event()
        self.decreases: int | None = None
        """The `decreases` of the window in which the call began; None: it has not begun."""
        self.waited_seconds = 0.0
        self.outcome: Outcome | None = None
        self.is_unused = False

    def report(self, outcome: Outcome) -> None:
        self.outcome = outcome

    def give_back(self) -> None:
        self.is_unused = True

    def wake(self) -> None:
        """Make the caller check again; may be called from any thread."""
        # If the loop is closed, nobody waits.
        with suppress(RuntimeError):
            self.loop.call_soon_threadsafe(self.woken.set)


class _Queue(ProviderLimits):
    """The callers of one provider, first come, first served; the limiter's lock guards it."""

    def __init__(self) -> None:
        super().__init__(time.monotonic())
        self.waiting: deque[_Place] = deque()

    def admit(self, asking: _Place | None = None) -> float:
        """Start every call that may begin; return the seconds until `asking` should check again."""
        now = time.monotonic()
        while self.waiting:
            first = self.waiting[0]
            if not first.loop.is_closed():
                if (seconds := self.wait(first.tokens, now)) > 0:
                    # The first in the queue keeps the time; it wakes the others.
                    if first is asking:
                        return seconds
                    first.wake()
                    break
                first.decreases = self.start(first.tokens, now)
                first.wake()
            self.waiting.popleft()
        return math.inf

    def leave(self, place: _Place) -> bool:
        """Release a slot or a place in the queue; return whether to report at once."""
        is_urgent, now = False, time.monotonic()
        if place.decreases is None:
            self.waiting.remove(place)
        else:
            if place.is_unused:
                self.count(-1, -place.tokens, now)
            is_urgent = self.end(place.tokens, place.decreases, place.outcome, now)
        self.admit()
        return is_urgent


class ProcessLimiter:
    """A `Limiter` for all event loops of this process, and the process's part of the run's budget.

    Outside of a `running` block, callers exchange reports themselves: the coordinator must then be
    in this process.
    """

    def __init__(self, worker: str, exchange: Exchange) -> None:
        """Report as `worker`, a name that no other process of the run has."""
        self.exchange = exchange
        """Sends reports to the coordinator; may be replaced while no `running` block is active."""
        self._process = self._worker = worker
        self._blocks = self._active = 0
        self._thread: threading.Thread | None = None
        self._news, self._ended = threading.Event(), threading.Event()
        self._running, self._exchanging = threading.Lock(), threading.Lock()
        # Calls come from several event loops; the lock is never held across an await.
        self._lock = threading.Lock()
        self._queues: dict[str, _Queue] = {}
        self._is_unreachable = False
        self.budget = RunBudget(self._tell_soon)

    @asynccontextmanager
    async def slot(
        self, provider: str, estimated_tokens: int, seconds: float
    ) -> AsyncIterator[_Place]:
        """Hold one of the provider's slots; see `Limiter`."""
        place, ends = _Place(estimated_tokens), time.monotonic() + seconds
        with self._lock:
            queue = self._queues.setdefault(provider, _Queue())
            queue.waiting.append(place)
            wait = queue.admit(place)
            has_no_share = not queue.share.slots
        if has_no_share:
            self._tell_soon()
        try:
            while place.decreases is None:
                left = ends - time.monotonic()
                if left <= 0:
                    raise ModelUnavailable(
                        f"{provider}: its rate limits left no room for a call within "
                        f"{seconds:.3g} s; run fewer trials at once or allow more time"
                    )
                with suppress(TimeoutError):
                    async with asyncio.timeout(max(min(wait, left), _SHORTEST_SLEEP_SECONDS)):
                        await place.woken.wait()
                with self._lock:
                    place.woken.clear()
                    wait = queue.admit(place)
            place.waited_seconds = time.monotonic() - (ends - seconds)
            yield place
        finally:
            with self._lock:
                is_urgent = queue.leave(place)
            if is_urgent or self._thread is None:
                self._tell_soon()

    @contextmanager
    def running(self) -> Iterator["ProcessLimiter"]:
        """Exchange reports in a thread for the length of the block, and once more at its end.

        What was learned about providers is kept between blocks. Money is not: the next block may
        have another coordinator, so each block reports as a new worker with its own budget.
        """
        with self._running:
            self._active += 1
            if self._active == 1:
                self._blocks += 1
                self._worker = f"{self._process}/{self._blocks}"
                self.budget = RunBudget(self._tell_soon)
                self._ended.clear()
                self._thread = threading.Thread(target=self._report_on, name="limits", daemon=True)
                self._thread.start()
        try:
            yield self
        finally:
            with self._running:
                self._active -= 1
                if not self._active and self._thread is not None:
                    self._ended.set()
                    self._news.set()
                    self._thread.join()
                    self._thread = None

    def _tell_soon(self) -> None:
        if self._thread is None:
            self._exchange_once()
        else:
            self._news.set()

    def _report_on(self) -> None:
        # This block's coordinator may be a new one, so the process reports at least once.
        is_idle = False
        while not self._ended.is_set():
            # An idle process has nothing to report; a busy one must learn of pauses and turns.
            self._news.wait(None if is_idle else REPORT_SECONDS)
            self._news.clear()
            is_idle = self._exchange_once()
            self._ended.wait(_LEAST_SECONDS_BETWEEN_REPORTS)
        self._exchange_once()

    def _exchange_once(self) -> bool:
        """Report and apply the answer; return whether the coordinator knows of no calls here."""
        with self._exchanging:
            demands, (money, claims) = self._demands(), self.budget.report()
            try:
                answer = self.exchange(Report(worker=self._worker, demands=demands, money=money))
            # Whatever fails in the transport of reports: calls continue within the last shares.
            except Exception as exc:  # noqa: BLE001
                if not self._is_unreachable:
                    _logger.warning("the coordinator of the limits cannot be reached: %s", exc)
                self._is_unreachable = True
                self.budget.hear_nothing()
                return False
            self._is_unreachable = False
            with self._lock:
                for provider, share in answer.shares.items():
                    self._queues[provider].keep_to(share, demands[provider], time.monotonic())
                    self._queues[provider].admit()
            self.budget.hear(claims, answer.money)
        demands_now = (*demands.values(), *self._demands().values())
        return not (claims or money.reserved_usd or any(each.calls for each in demands_now))

    def _demands(self) -> dict[str, Demand]:
        with self._lock:
            now = time.monotonic()
            return {
                key: queue.demand(len(queue.waiting), now) for key, queue in self._queues.items()
            }


_limiters: dict[str, ProcessLimiter] = {}


def run_limiter(run_id: str, exchange: Exchange) -> ProcessLimiter:
    """Return this process's limiter for a run, which keeps what earlier batches learned."""
    if run_id not in _limiters:
        _limiters[run_id] = ProcessLimiter(f"{socket.gethostname()}/{os.getpid()}", exchange)
    _limiters[run_id].exchange = exchange
    return _limiters[run_id]


@cache
def process_limiter() -> ProcessLimiter:
    """Return the limiter of all clients in this process that do not belong to a run."""
    return ProcessLimiter("process", Coordinator().exchange)
