"""What the metered calls of a trial have used of its budget, and whether another one may be made.

Before each call the most it can use is reserved, and settled by what it did use, so calls in flight
at once cannot overspend between them. A call that only waits for others to settle waits; one whose
reply would be too long is given a shorter one; one that cannot fit any more is refused.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from environments.models.money.prices import Price
from environments.models.money.spending import Spending, cost_bound, total
from taskdata.schema.agent import Budget
from taskdata.schema.transcript import Ending
from taskdata.schema.usage import Usage

_SHORTEST_REPLY = 64
"""Tokens; a budget that leaves no room for more is spent."""


@dataclass(frozen=True, eq=False)
class Reservation:
    """The room that one call was given."""

    bound: Spending
    reply_tokens: int
    """Most tokens that its reply may have."""


class Ledger:
    """One trial's budget; time runs from `begin`."""

    def __init__(
        self, budget: Budget, price: Price | None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._budget = budget
        self._price = price
        self._clock = clock
        self._started: float | None = None
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

    @property
    def seconds_left(self) -> float:
        """Wall time left, never below 0."""
        used = 0.0 if self._started is None else self._clock() - self._started
        return max(0.0, self._budget.max_seconds - used)

    async def reserve(self, input_tokens: int, reply_tokens: int | None) -> Reservation | Ending:
        """Return room for a call, or the limit that leaves none.

        Args:
            input_tokens: Most tokens that its request can be.
            reply_tokens: Most tokens that the agent wants; None leaves it to the budget.
        """
        asked = min(reply_tokens or self._budget.max_reply_tokens, self._budget.max_reply_tokens)
        shortest = min(asked, _SHORTEST_REPLY)
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
