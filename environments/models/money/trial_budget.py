"""A trial's budget of time and money, whoever makes its calls.

Time in the queue for rate limits or for the run's money does not count as the agent's. An unknown
cost counts with its upper bound.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace

from environments.models.money.budget import AwaitedBudget, Reservation, Spending
from environments.models.money.prices import Price
from taskdata.schema.agent import Budget


class TrialBudget:
    """The time and the money of one trial; subclasses decide when a call may be made."""

    def __init__(
        self,
        budget: Budget,
        tracker: AwaitedBudget,
        price: Price | None,
        clock: Callable[[], float],
    ) -> None:
        """Hold `budget`; `price` is the price of the agent's model, None if it is unknown."""
        self.budget = budget
        self._tracker = tracker
        self._price = price
        self._clock = clock
        self._started: float | None = None
        self._in_line = 0
        """Number of calls that wait in a queue now."""
        self._stopped_at = 0.0
        self._waited = 0.0
        self.lost_usd = 0.0
        """The part of what was spent that attempts without an answer may have cost."""

    @property
    def spent(self) -> Spending:
        """What was used, without calls in flight."""
        return self._tracker.spent

    def begin(self) -> None:
        """Start the trial's time."""
        self._started = self._clock()

    @property
    def seconds_left(self) -> float:
        """Wall time left, at least 0; it does not run while a call is `in_line`."""
        if self._started is None:
            return self.budget.max_seconds
        now = self._stopped_at if self._in_line else self._clock()
        return max(0.0, self.budget.max_seconds - (now - self._started - self._waited))

    @contextmanager
    def in_line(self) -> Iterator[None]:
        """Stop the trial's time while a call waits for rate limits or for the run's money.

        Concurrent calls wait for each other too, so time stands still while any of them waits.
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

    def spend_before(self, spent: Spending, seconds: float) -> None:
        """Count what the trial used before its agent began; the calls are no turns of the agent."""
        self._tracker.spend(replace(spent, calls=0))
        self._waited -= seconds

    def wait(self, seconds: float) -> None:
        """Exclude time that has passed from the trial's time."""
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
        # The trial's time may have been stopped during the sleep, so it is checked again.
        while (left := self.seconds_left) > 0:
            await asyncio.sleep(left)
        limit.reschedule(asyncio.get_running_loop().time())

    @asynccontextmanager
    async def hold(self) -> AsyncIterator[float | None]:
        """Reserve all money that is left, for the length of the block, and yield it in USD.

        The block reports what was used by `charge`. It begins once all other reservations are
        settled, and calls that arrive during the block wait for its end. None: money is not
        limited, and nothing is reserved.
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
        """Count the upper bound of a tool model's cost; its tokens are not the agent's.

        An unknown cost counts as over budget.
        """
        self._tracker.spend(Spending(usd=usd))

    def lose(self, usd: float | None) -> None:
        """Count what an attempt without an answer may cost; the agent is not to blame."""
        self.charge(usd)
        self.lost_usd += usd or 0.0
