"""What the metered calls of a trial have used of its budget, and whether another one may be made.

Before each call the most it can use is reserved, and settled by what it did use, so calls in flight
at once cannot overspend between them. A call that only waits for others to settle waits; one whose
reply would be too long is given a shorter one; one that cannot fit any more is refused.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass

from environments.models.money.budget import Spending, total
from environments.models.money.prices import Price
from environments.models.money.spending import cost_bound
from taskdata.schema.agent import Budget
from taskdata.schema.transcript import Ending
from taskdata.schema.usage import Usage

_SHORTEST_REPLY = 64
"""Tokens; a budget that leaves no room for more is spent."""


@dataclass(frozen=True)
class ReplyLimits:
    """How many tokens a reply may have."""

    most: int | None
    """None: as many as the agent wants, and tokens and money allow."""
    unasked: int
    """Where the agent does not say what it wants."""


@dataclass(frozen=True, eq=False)
class Reservation:
    """The room that one call was given."""

    bound: Spending
    reply_tokens: int
    """Most tokens that its reply may have."""


class Ledger:
    """One trial's budget; time runs from `begin`."""

    def __init__(
        self,
        budget: Budget,
        price: Price | None,
        clock: Callable[[], float] = time.monotonic,
        replies: ReplyLimits | None = None,
    ) -> None:
        """Hold `budget`, whose limit is that of all replies where `replies` does not tell."""
        self._budget = budget
        most = budget.max_reply_tokens
        self._replies = replies or ReplyLimits(most, most)
        self._price = price
        self._clock = clock
        self._started: float | None = None
        self._in_line = 0
        """Calls that stand in line now."""
        self._stopped_at = 0.0
        self._waited = 0.0
        self._in_flight: set[Reservation] = set()
        self._settled = asyncio.Event()
        self.spent = Spending()
        """What was used, calls in flight not counted."""
        self.ending: Ending | None = None
        """The limit for which a call was first refused."""
        self.lost_usd = 0.0
        """Of what was spent: what attempts without an answer may be charged."""
        self.is_cut_short = False
        """A call was refused for which there would be money, had the provider always answered."""

    def begin(self) -> None:
        """Let the trial's time run."""
        self._started = self._clock()

    def lose(self, usd: float | None) -> None:
        """Count what an attempt without an answer may be charged: no doing of the agent's."""
        self.charge(usd)
        self.lost_usd += usd or 0.0

    def bears(self, usd: float | None) -> bool:
        """Whether so much may be lost and the money still lasts for all calls in flight."""
        taken = self.spent + total(reservation.bound for reservation in self._in_flight)
        return self._reached(taken + Spending(usd=usd)) is None

    @property
    def seconds_left(self) -> float:
        """Wall time left, never below 0; it stands still while a call stands in line."""
        if self._started is None:
            return self._budget.max_seconds
        now = self._stopped_at if self._in_line else self._clock()
        return max(0.0, self._budget.max_seconds - (now - self._started - self._waited))

    @contextmanager
    def in_line(self) -> Iterator[None]:
        """Stop the trial's time: a call waits for limits that others share, or for their money.

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

    @asynccontextmanager
    async def in_time(self) -> AsyncIterator[asyncio.Timeout]:
        """Raise `TimeoutError` once the trial's time is up, for as long as the block lasts."""
        async with asyncio.timeout(None) as limit:
            looking = asyncio.create_task(self._end_in_time(limit))
            try:
                yield limit
            finally:
                looking.cancel()

    async def _end_in_time(self, limit: asyncio.Timeout) -> None:
        # Time may have stood still meanwhile, so it is looked at again.
        while (left := self.seconds_left) > 0:
            await asyncio.sleep(left)
        limit.reschedule(asyncio.get_running_loop().time())

    async def reserve(
        self, input_tokens: int, reply_tokens: int | None, shortest_reply: int = 1
    ) -> Reservation | Ending:
        """Return room for a call, or the limit that leaves none.

        Args:
            input_tokens: Most tokens that its request can be.
            reply_tokens: Most tokens that the agent wants; None leaves it to the budget.
            shortest_reply: Fewest tokens that are of use, where it does not want fewer.
        """
        asked = reply_tokens or self._replies.unasked
        asked = asked if self._replies.most is None else min(asked, self._replies.most)
        shortest = min(asked, max(shortest_reply, _SHORTEST_REPLY))
        while True:
            if self.seconds_left <= 0:
                return self._refused(Ending.OUT_OF_TIME)
            least = self._bound(input_tokens, shortest)
            if (reached := self._reached(self.spent + least)) is not None:
                without_lost = self.spent + least + Spending(usd=-self.lost_usd)
                self.is_cut_short |= self._reached(without_lost) is None
                return self._refused(reached)
            taken = self.spent + total(reservation.bound for reservation in self._in_flight)
            if self._reached(taken + self._bound(input_tokens, asked)) is None:
                return self._taken(input_tokens, asked)
            if not self._in_flight:
                return self._taken(input_tokens, self._longest(input_tokens, shortest, asked))
            with suppress(TimeoutError):
                await asyncio.wait_for(self._settled.wait(), self.seconds_left)

    def settle(self, reservation: Reservation, used: Spending) -> None:
        """Give the room back and count what was used of it."""
        self._in_flight.remove(reservation)
        self.spent = self.spent + used
        self._settled.set()
        self._settled = asyncio.Event()

    @asynccontextmanager
    async def hold(self) -> AsyncIterator[float | None]:
        """Set aside all the money that calls in flight leave, for a tool's model; None: no limit.

        It is waited until they are settled, and calls that come meanwhile wait for the block's end.
        """
        if self._budget.max_usd is None:
            yield None
            return
        while self._in_flight:
            await self._settled.wait()
        spent = self.spent.usd
        left = 0.0 if spent is None else max(0.0, self._budget.max_usd - spent)
        rest = Reservation(Spending(usd=left), reply_tokens=0)
        self._in_flight.add(rest)
        try:
            yield left
        finally:
            self.settle(rest, Spending())

    def charge(self, usd: float | None) -> None:
        """Count what a tool's model cost, or may have cost at most.

        A cost that is unknown may be any: where money is limited, there is none left then.
        """
        self.spent = self.spent + Spending(usd=usd)

    def cost_usd(self, usage: Usage) -> float | None:
        """Return the cost of one call; None where the price is unknown."""
        if self._price is None:
            return None
        return self._price.cost_usd(usage)

    def _bound(self, input_tokens: int, reply_tokens: int) -> Spending:
        usd = cost_bound(input_tokens, reply_tokens, self._price)
        return Spending(1, input_tokens + reply_tokens, usd)

    def _taken(self, input_tokens: int, reply_tokens: int) -> Reservation:
        reservation = Reservation(self._bound(input_tokens, reply_tokens), reply_tokens)
        self._in_flight.add(reservation)
        return reservation

    def _longest(self, input_tokens: int, fits: int, does_not: int) -> int:
        """Return the longest reply that the rest of the budget allows."""
        while does_not - fits > 1:
            middle = (fits + does_not) // 2
            if self._reached(self.spent + self._bound(input_tokens, middle)) is None:
                fits = middle
            else:
                does_not = middle
        return fits

    def _reached(self, spending: Spending) -> Ending | None:
        budget = self._budget
        if spending.calls > budget.max_turns:
            return Ending.OUT_OF_TURNS
        if spending.tokens > budget.max_tokens:
            return Ending.OUT_OF_TOKENS
        if budget.max_usd is None:
            return None
        # What may cost anything does not fit under a limit.
        over = spending.usd is None or spending.usd > budget.max_usd
        return Ending.OUT_OF_MONEY if over else None

    def _refused(self, ending: Ending) -> Ending:
        self.ending = self.ending or ending
        return ending
