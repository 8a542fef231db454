"""What a trial may use, whoever makes its calls: its time and its money.

Time in the queue for a provider's rate limits or for the run's money is not the agent's. What is
not known counts as the most that it can be.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager

from environments.models.money.budget import AwaitedBudget, Reservation, Spending
from environments.models.money.prices import Price
from taskdata.schema.agent import Budget


class TrialBudget:
    """The time and the money of one trial; subclasses add when a call may be made."""

    def __init__(
        self,
        budget: Budget,
        tracker: AwaitedBudget,
        price: Price | None,
        clock: Callable[[], float],
    ) -> None:
        """Hold `budget`; `price` is that of the agent's model, None where it is unknown."""
        self.budget = budget
        self._tracker = tracker
        self._price = price
        self._clock = clock
        self._started: float | None = None
        self._in_line = 0
        """Calls that are in a queue now."""
        self._stopped_at = 0.0
        self._waited = 0.0
        self.lost_usd = 0.0
        """The part of what was spent that attempts without an answer may be charged."""

    @property
    def spent(self) -> Spending:
        """What was used, calls in flight not counted."""
        return self._tracker.spent

    def begin(self) -> None:
        """Let the trial's time run."""
        self._started = self._clock()

    @property
    def seconds_left(self) -> float:
        """Wall time left, at least 0; it stands still while a call is `in_line`."""
        if self._started is None:
            return self.budget.max_seconds
        now = self._stopped_at if self._in_line else self._clock()
        return max(0.0, self.budget.max_seconds - (now - self._started - self._waited))

    @contextmanager
    def in_line(self) -> Iterator[None]:
        """Stop the trial's time while a call waits for rate limits or for the run's money.

        Calls at the same time wait for each other, too, so it stands still while any of them does.
        """
        if not self._in_line:
            self._stopped_at = self._clock()
        self._in_line += 1
        try:
            yield
        finally:
            self._in_line -= 1
            if not self._in_line:
                self._waited += self._clock() - self._stopped_at

    def wait(self, seconds: float) -> None:
        """Leave out time that has passed and is not the agent's."""
        self._waited += seconds

    @asynccontextmanager
    async def in_time(self) -> AsyncIterator[asyncio.Timeout]:
        """Raise `TimeoutError` once the trial's time is up, for the length of the block."""
        async with asyncio.timeout(None) as limit:
            watch = asyncio.create_task(self._end_in_time(limit))
            try:
                yield limit
            finally:
                watch.cancel()

    async def _end_in_time(self, limit: asyncio.Timeout) -> None:
        # Time may have stood still meanwhile, so it is looked at again.
        while (left := self.seconds_left) > 0:
            await asyncio.sleep(left)
        limit.reschedule(asyncio.get_running_loop().time())

    @asynccontextmanager
    async def hold(self) -> AsyncIterator[float | None]:
        """Reserve all the money that is left, for the length of the block, and yield it in USD.

        The block counts what was used of it by `charge`. It begins once all other reservations are
        settled, and calls that come meanwhile wait for its end. None: money is not limited, and
        nothing is reserved.
        """
        if self.budget.max_usd is None:
            yield None
            return
        while self._tracker.is_reserved:
            await self._tracker.settlement()
        left = self._tracker.usd_left
        reservation = self._tracker.hold(Reservation(Spending(usd=left)))
        try:
            yield left
        finally:
            self._tracker.settle(reservation)

    def charge(self, usd: float | None) -> None:
        """Count what a tool's model cost at most; its tokens are not the agent's.

        An unknown cost counts as over budget.
        """
        self._tracker.spend(Spending(usd=usd))

    def lose(self, usd: float | None) -> None:
        """Count what an attempt without an answer may be charged; the agent is not to blame."""
        self.charge(usd)
        self.lost_usd += usd or 0.0
