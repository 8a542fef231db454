"""The budget of a metered program: each call reserves the most that it can use.

A call that fits only once other calls have settled waits for them; a call whose reply could be too
long gets a lower reply limit; a call that can no longer fit is refused.
"""

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from environments.models.money.budget import AwaitedBudget, LimitName, Reservation, Spending
from environments.models.money.prices import Price
from environments.models.money.spending import cost_bound
from environments.models.money.trial_budget import TrialBudget
from taskdata.schema.agent import Budget
from taskdata.schema.transcript import Ending
from taskdata.schema.usage import Usage

_SHORTEST_REPLY = 64
"""Tokens; a budget that does not cover a reply of this length is used up."""
_ENDINGS: dict[LimitName, Ending] = {
    "calls": Ending.OUT_OF_TURNS,
    "tokens": Ending.OUT_OF_TOKENS,
    "usd": Ending.OUT_OF_MONEY,
}


@dataclass(frozen=True)
class ReplyLimits:
    """How many tokens a reply may have."""

    most: int | None
    """Highest limit; None: as many as the agent asks for, and tokens and money allow."""
    unasked: int
    """Limit for a call that asks for none."""


@dataclass(frozen=True, eq=False)
class ReplyReservation(Reservation):
    """What one call may use at most."""

    reply_tokens: int
    """Most tokens that the call's reply may have."""


class ProgramBudget(TrialBudget):
    """The token, money and time budget of one trial of a program; time runs from `begin`."""

    def __init__(
        self,
        budget: Budget,
        price: Price | None,
        clock: Callable[[], float] = time.monotonic,
        replies: ReplyLimits | None = None,
    ) -> None:
        """Hold `budget`; its reply limit applies where `replies` gives none."""
        tracker = AwaitedBudget(budget.max_turns, budget.max_tokens, budget.max_usd)
        super().__init__(budget, tracker, price, clock)
        most = budget.max_reply_tokens
        self._replies = replies or ReplyLimits(most, most)
        self.ending: Ending | None = None
        """The limit for which a call was first refused."""
        self.is_cut_short = False
        """A call was refused that would have fitted if the provider had answered every attempt."""

    def can_lose(self, usd: float | None) -> bool:
        """Return whether a loss of that many USD leaves enough for all calls in flight."""
        return self._tracker.fits(Spending(usd=usd))

    async def reserve(
        self, input_tokens: int, reply_tokens: int | None, shortest_reply: int = 1
    ) -> ReplyReservation | Ending:
        """Return a reservation for a call, or the limit that the call would exceed.

        Args:
            input_tokens: Upper bound of the request's tokens.
            reply_tokens: Reply limit that the agent asks for; None leaves it to the budget.
            shortest_reply: Least tokens that make a useful reply, unless the agent asks for fewer.
        """
        asked = reply_tokens or self._replies.unasked
        asked = asked if self._replies.most is None else min(asked, self._replies.most)
        shortest = min(asked, max(shortest_reply, _SHORTEST_REPLY))
        while True:
            if self.seconds_left <= 0:
                return self._refused(Ending.OUT_OF_TIME)
            least = self._bound(input_tokens, shortest)
            if (limit := self._tracker.exceeded(least)) is not None:
                without_lost = least + Spending(usd=-self.lost_usd)
                self.is_cut_short |= self._tracker.exceeded(without_lost) is None
                return self._refused(_ENDINGS[limit])
            if self._tracker.fits(self._bound(input_tokens, asked)):
                return self._taken(input_tokens, asked)
            if not self._tracker.is_reserved:
                return self._taken(input_tokens, self._longest(input_tokens, shortest, asked))
            # `asyncio.wait_for` would begin to listen in a task of its own, after this one has
            # given up control, and miss a reservation that is settled in between.
            with suppress(TimeoutError):
                async with asyncio.timeout(self.seconds_left):
                    await self._tracker.settlement()

    def settle(self, reservation: ReplyReservation, used: Spending) -> None:
        """Close a reservation and count what the call used."""
        self._tracker.settle(reservation, used)

    def cost_usd(self, usage: Usage) -> float | None:
        """Return the cost of one call in USD; None if the price is unknown."""
        return None if self._price is None else self._price.cost_usd(usage)

    def _bound(self, input_tokens: int, reply_tokens: int) -> Spending:
        usd = cost_bound(input_tokens, reply_tokens, self._price)
        return Spending(1, input_tokens + reply_tokens, usd)

    def _taken(self, input_tokens: int, reply_tokens: int) -> ReplyReservation:
        bound = self._bound(input_tokens, reply_tokens)
        return self._tracker.hold(ReplyReservation(bound, reply_tokens))

    def _longest(self, input_tokens: int, fits: int, does_not: int) -> int:
        """Return the longest reply that the remaining budget allows."""
        while does_not - fits > 1:
            middle = (fits + does_not) // 2
            if self._tracker.exceeded(self._bound(input_tokens, middle)) is None:
                fits = middle
            else:
                does_not = middle
        return fits

    def _refused(self, ending: Ending) -> Ending:
        self.ending = self.ending or ending
        return ending
