"""A budget of calls, tokens and money: reserve the most before a call, settle the cost after it.

Concurrent calls cannot overspend together, because each has reserved the most that it can use.
`BudgetTracker` is pure: it has no clock, no event loop and no lock.
"""

import asyncio
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeVar

LimitName = Literal["calls", "tokens", "usd"]


@dataclass(frozen=True)
class Spending:
    """What calls have used, or may use at most."""

    calls: int = 0
    tokens: int = 0
    usd: float | None = 0.0
    """None: unknown."""

    def __add__(self, other: "Spending") -> "Spending":
        known = self.usd is not None and other.usd is not None
        return Spending(
            self.calls + other.calls,
            self.tokens + other.tokens,
            (self.usd or 0.0) + (other.usd or 0.0) if known else None,
        )


def total(spendings: Iterable[Spending]) -> Spending:
    """Return the sum without intermediate rounding; its money is None if any part's is unknown."""
    parts = tuple(spendings)
    known = [part.usd for part in parts if part.usd is not None]
    return Spending(
        sum(part.calls for part in parts),
        sum(part.tokens for part in parts),
        math.fsum(known) if len(known) == len(parts) else None,
    )


@dataclass(frozen=True, eq=False)
class Reservation:
    """A part of a budget that is reserved until it is settled."""

    bound: Spending
    """The most that can be used."""


R = TypeVar("R", bound=Reservation)


class BudgetTracker:
    """What is spent and reserved of a budget; a limit of None does not exist.

    An unknown cost counts as over budget if money is limited.
    """

    def __init__(
        self,
        max_calls: int | None = None,
        max_tokens: int | None = None,
        max_usd: float | None = None,
        spent: Spending | None = None,
    ) -> None:
        """Start with what was `spent` before."""
        self._max_calls = max_calls
        self._max_tokens = max_tokens
        self.max_usd = max_usd
        self._open: set[Reservation] = set()
        self.spent = spent or Spending()
        """What was used, without reservations."""

    @property
    def reserved(self) -> Spending:
        """The sum of all open reservations."""
        return total(reservation.bound for reservation in self._open)

    @property
    def is_reserved(self) -> bool:
        """Whether a reservation is open."""
        return bool(self._open)

    @property
    def usd_left(self) -> float | None:
        """Money that is neither spent nor reserved, at least 0; None without a limit."""
        if self.max_usd is None:
            return None
        taken = (self.spent + self.reserved).usd
        return 0.0 if taken is None else max(0.0, self.max_usd - taken)

    def exceeded(self, more: Spending) -> LimitName | None:
        """Return the limit that `more` would exceed even if no reservation were used."""
        return self._exceeded(self.spent + more)

    def fits(self, more: Spending) -> bool:
        """Return whether `more` fits beside the open reservations."""
        return self._exceeded(self.spent + self.reserved + more) is None

    def reserve(self, bound: Spending) -> Reservation | None:
        """Reserve `bound` and return the reservation, None if it does not fit."""
        return self.hold(Reservation(bound)) if self.fits(bound) else None

    def hold(self, reservation: R) -> R:
        """Open a reservation without a check, for an amount that is known to fit."""
        self._open.add(reservation)
        return reservation

    def settle(self, reservation: Reservation, used: Spending | None = None) -> None:
        """Close a reservation and count what was used of it; None: nothing."""
        self._open.remove(reservation)
        if used is not None:
            self.spend(used)

    def spend(self, used: Spending) -> None:
        """Count what was used without a reservation."""
        self.spent = self.spent + used

    def _exceeded(self, spending: Spending) -> LimitName | None:
        if self._max_calls is not None and spending.calls > self._max_calls:
            return "calls"
        if self._max_tokens is not None and spending.tokens > self._max_tokens:
            return "tokens"
        if self.max_usd is None:
            return None
        return "usd" if spending.usd is None or spending.usd > self.max_usd else None


class AwaitedBudget(BudgetTracker):
    """A budget whose callers, all in one event loop, wait for each other's reservations."""

    _settled: asyncio.Event | None = None

    async def settlement(self) -> None:
        """Return once a reservation has been settled."""
        if self._settled is None:
            self._settled = asyncio.Event()
        await self._settled.wait()

    def settle(self, reservation: Reservation, used: Spending | None = None) -> None:
        """Close a reservation; see `BudgetTracker`."""
        super().settle(reservation, used)
        if self._settled is not None:
            self._settled.set()
            self._settled = None
