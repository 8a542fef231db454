"""The limiter of one process: callers wait in line, each provider's by itself.

Trials may run in several event loops of a process, so the line is shared under a lock that is
never held across an await.
"""

import asyncio
import math
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache

from environments.models.limits.governor import Ceilings, Governor
from environments.models.limits.seam import Outcome, Slot
from taskdata.errors import ModelUnavailable

_SHORTEST_SLEEP_SECONDS = 0.005


@dataclass(eq=False)
class _Waiter:
    tokens: int
    loop: asyncio.AbstractEventLoop
    admitted: asyncio.Future[None]
    started_at: float | None = None


@dataclass(eq=False)
class _Held:
    """The slot as its holder sees it."""

    waited_seconds: float
    outcome: Outcome | None = None

    def report(self, outcome: Outcome) -> None:
        """Keep the outcome until the slot is given back."""
        self.outcome = outcome


@dataclass(eq=False)
class _Line:
    governor: Governor
    clock: Callable[[], float]
    waiting: deque[_Waiter] = field(default_factory=deque)
    lock: threading.Lock = field(default_factory=threading.Lock)

    async def enter(self, provider: str, tokens: int, seconds: float) -> float:
        """Return when the caller was admitted; first come, first served."""
        loop = asyncio.get_running_loop()
        waiter = _Waiter(tokens, loop, loop.create_future())
        deadline = self.clock() + seconds
        with self.lock:
            self.waiting.append(waiter)
            self._admit()
        try:
            while waiter.started_at is None:
                await self._sleep(waiter, deadline)
                with self.lock:
                    self._admit()
                if waiter.started_at is None and self.clock() >= deadline:
                    raise ModelUnavailable(
                        f"{provider}: its rate limits left no room for a call within "
                        f"{seconds:.3g} s; run fewer trials at once or allow more time"
                    )
        except BaseException:
            self._give_up(waiter)
            raise
        return waiter.started_at

    def leave(self, tokens: int, started_at: float, outcome: Outcome | None) -> None:
        """Give the slot back."""
        with self.lock:
            self.governor.end(tokens, started_at, outcome, self.clock())
            self._admit()

    async def _sleep(self, waiter: _Waiter, deadline: float) -> None:
        now = self.clock()
        with self.lock:
            needed = self.governor.wait(self.waiting[0].tokens, now) if self.waiting else 0.0
        seconds = min(needed, deadline - now)
        # Waiting for another call's end has no length: whoever ends wakes us.
        timeout = None if seconds == math.inf else max(seconds, _SHORTEST_SLEEP_SECONDS)
        await asyncio.wait((waiter.admitted,), timeout=timeout)

    def _admit(self) -> None:
        """Let in from the front whoever may start now; the lock is held."""
        now = self.clock()
        while self.waiting and self.governor.wait(self.waiting[0].tokens, now) <= 0:
            waiter = self.waiting.popleft()
            if waiter.loop.is_closed():
                continue
            self.governor.start(waiter.tokens, now)
            waiter.started_at = now
            waiter.loop.call_soon_threadsafe(_wake, waiter.admitted)

    def _give_up(self, waiter: _Waiter) -> None:
        with self.lock:
            if waiter.started_at is None:
                self.waiting.remove(waiter)
            else:
                self.governor.end(waiter.tokens, waiter.started_at, None, self.clock())
            self._admit()


def _wake(admitted: asyncio.Future[None]) -> None:
    if not admitted.done():
        admitted.set_result(None)


class LocalLimiter:
    """A `Limiter` for all event loops of this process."""

    def __init__(
        self,
        ceilings: Mapping[str, Ceilings] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Limit the named providers as configured, and all as they show themselves to be."""
        self._ceilings = dict(ceilings or {})
        self._clock = clock
        self._lines: dict[str, _Line] = {}
        self._lock = threading.Lock()

    @asynccontextmanager
    async def slot(
        self, provider: str, estimated_tokens: int, seconds: float
    ) -> AsyncIterator[Slot]:
        """Hold one of the provider's slots; see `Limiter`."""
        line = self._line(provider)
        asked_at = self._clock()
        started_at = await line.enter(provider, estimated_tokens, seconds)
        held = _Held(waited_seconds=started_at - asked_at)
        try:
            yield held
        finally:
            line.leave(estimated_tokens, started_at, held.outcome)

    def _line(self, provider: str) -> _Line:
        with self._lock:
            if provider not in self._lines:
                ceilings = self._ceilings.get(provider, Ceilings())
                self._lines[provider] = _Line(Governor(ceilings, self._clock()), self._clock)
            return self._lines[provider]


@cache
def process_limiter() -> LocalLimiter:
    """Return the limiter that all clients of this process share."""
    return LocalLimiter()
