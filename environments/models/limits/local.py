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
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import cache

from environments.models.limits.governor import Governor
from environments.models.limits.seam import Outcome, Share, Slot, Want, limited_as
from taskdata.errors import ModelUnavailable
from taskdata.schema.ceilings import Ceilings

_SHORTEST_SLEEP_SECONDS = 0.005


@dataclass(eq=False)
class _Waiter:
    tokens: int
    loop: asyncio.AbstractEventLoop
    woken: asyncio.Event = field(default_factory=asyncio.Event)
    started_at: float | None = None

    def wake(self) -> None:
        """Have it look again, whatever thread this is called from."""
        # The loop may have closed: then nobody waits any more.
        with suppress(RuntimeError):
            self.loop.call_soon_threadsafe(self.woken.set)


@dataclass(eq=False)
class _Held:
    """The slot as its holder sees it."""

    waited_seconds: float
    outcome: Outcome | None = None
    is_unused: bool = False

    def report(self, outcome: Outcome) -> None:
        """Keep the outcome until the slot is given back."""
        self.outcome = outcome

    def give_back(self) -> None:
        """Note that no rate limit is to count it."""
        self.is_unused = True


@dataclass(eq=False)
class _Line:
    governor: Governor
    clock: Callable[[], float]
    tell_soon: Callable[[], None]
    waiting: deque[_Waiter] = field(default_factory=deque)
    lock: threading.Lock = field(default_factory=threading.Lock)

    async def enter(self, provider: str, tokens: int, seconds: float) -> float:
        """Return when the caller was admitted; first come, first served."""
        waiter = _Waiter(tokens, asyncio.get_running_loop())
        deadline = self.clock() + seconds
        with self.lock:
            self.waiting.append(waiter)
            self._admit(waiter)
            has_no_share = self.governor.concurrency < 1
        if has_no_share:
            self.tell_soon()
        try:
            while waiter.started_at is None:
                await self._sleep(waiter, deadline)
                with self.lock:
                    self._admit(waiter)
                if waiter.started_at is None and self.clock() >= deadline:
                    raise ModelUnavailable(
                        f"{provider}: its rate limits left no room for a call within "
                        f"{seconds:.3g} s; run fewer trials at once or allow more time"
                    )
        except BaseException:
            self._give_up(waiter)
            raise
        return waiter.started_at

    def want(self) -> Want:
        """Return what the coordinator should know now."""
        with self.lock:
            return self.governor.want(len(self.waiting), self.clock())

    def deal(self, share: Share, told: Want) -> None:
        """Keep to a share from now on; whoever may start by it does."""
        with self.lock:
            self.governor.deal(share, self.clock(), told)
            self._admit()

    def leave(self, tokens: int, started_at: float, held: _Held) -> None:
        """Give the slot back."""
        with self.lock:
            now = self.clock()
            if held.is_unused:
                self.governor.forget(tokens, now)
            is_urgent = self.governor.end(tokens, started_at, held.outcome, now)
            self._admit()
        if is_urgent:
            self.tell_soon()

    async def _sleep(self, waiter: _Waiter, deadline: float) -> None:
        """Sleep until it is worth looking again: only the first in line minds the clock."""
        now = self.clock()
        with self.lock:
            waiter.woken.clear()
            is_first = bool(self.waiting) and self.waiting[0] is waiter
            needed = self.governor.wait(waiter.tokens, now) if is_first else math.inf
        seconds = max(min(needed, deadline - now), _SHORTEST_SLEEP_SECONDS)
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await waiter.woken.wait()

    def _admit(self, asking: _Waiter | None = None) -> None:
        """Let in from the front whoever may start now; the lock is held.

        Whoever is first in line then looks after the clock, and is woken to it unless it is the
        one that is `asking`.
        """
        now = self.clock()
        while self.waiting:
            first = self.waiting[0]
            if not first.loop.is_closed():
                if self.governor.wait(first.tokens, now) > 0:
                    break
                self.governor.start(first.tokens, now)
                first.started_at = now
                first.wake()
            self.waiting.popleft()
        if self.waiting and self.waiting[0] is not asking:
            self.waiting[0].wake()

    def _give_up(self, waiter: _Waiter) -> None:
        with self.lock:
            if waiter.started_at is None:
                self.waiting.remove(waiter)
            else:
                self.governor.end(waiter.tokens, waiter.started_at, None, self.clock())
            self._admit()


class LocalLimiter:
    """A `Limiter` for all event loops of this process."""

    def __init__(
        self,
        ceilings: Mapping[str, Ceilings] | None = None,
        clock: Callable[[], float] = time.monotonic,
        tell_soon: Callable[[], None] | None = None,
    ) -> None:
        """Limit the named providers as configured, and all as they show themselves to be.

        A provider is named as clients name it, such as `openai@api.openai.com`, or for all of
        its hosts by what stands before the `@`. With `tell_soon` no call to a provider starts
        before `deal` was called for it; it is called when `wants` are worth telling at once.
        """
        self._waits_for_share = tell_soon is not None
        self._tell_soon = tell_soon or _to_nobody
        self._ceilings = by_limited_name(ceilings or {})
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
            line.leave(estimated_tokens, started_at, held)

    def wants(self) -> dict[str, Want]:
        """Return what to tell the coordinator, by provider that was ever called."""
        with self._lock:
            lines = dict(self._lines)
        return {provider: line.want() for provider, line in lines.items()}

    def deal(self, provider: str, share: Share, told: Want) -> None:
        """Keep to the share dealt in answer to what was `told`, from now on."""
        self._line(provider).deal(share, told)

    def _line(self, provider: str) -> _Line:
        with self._lock:
            if provider not in self._lines:
                now = self._clock()
                ceilings = ceilings_of(self._ceilings, provider) or Ceilings()
                governor = Governor(ceilings, now)
                if self._waits_for_share:
                    governor.wait_for_share()
                self._lines[provider] = _Line(governor, self._clock, self._tell_soon)
            return self._lines[provider]


def by_limited_name(ceilings: Mapping[str, Ceilings]) -> dict[str, Ceilings]:
    """Return configured limits by the names under which they are shared."""
    return {limited_as(name): limits for name, limits in ceilings.items()}


def ceilings_of(ceilings: Mapping[str, Ceilings], provider: str) -> Ceilings | None:
    """Return those configured for the provider at its host, else for all of its hosts."""
    return ceilings.get(provider) or ceilings.get(provider.partition("@")[0])


def _to_nobody() -> None:
    """Tell no coordinator, as there is none."""


@cache
def process_limiter() -> LocalLimiter:
    """Return the limiter that all clients of this process share."""
    return LocalLimiter()
