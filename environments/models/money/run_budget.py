"""A worker's part of the run's budget in USD: each call waits for its reservation."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from environments.models.money.budget import BudgetTracker, Reservation, Spending
from environments.models.money.shared_budget import MoneyAnswer, MoneyReport
from taskdata.errors import BudgetExhausted, ModelUnavailable

_REPORTED_AT_ONCE = 64
MONEY_USED_UP = "the run's money is used up"
"""Begins the cause of what is lost because the run's budget leaves too little for a call."""


class MoneyHeld(ModelUnavailable):
    """No reservation was granted for too long, which is not the provider's fault."""


@dataclass(eq=False)
class Claim:
    """A call that waits for a reservation."""

    usd: float
    """The most that the call may cost."""
    loop: asyncio.AbstractEventLoop
    granted: asyncio.Future[bool]
    reservation: Reservation | None = None

    def answer(self, granted: bool) -> None:
        """Wake the waiting call, in whichever event loop it runs."""
        # If the loop is closed, nobody waits.
        with suppress(RuntimeError):
            self.loop.call_soon_threadsafe(_set, self.granted, granted)


def _set(granted: asyncio.Future[bool], value: bool) -> None:
    if not granted.done():
        granted.set_result(value)


@dataclass
class Payment:
    """The cost of an attempt at a call."""

    cost_usd: float = 0.0
    """An upper bound if the cost is unknown; 0 if nothing can be charged."""


class RunBudget:
    """What calls of this process have spent and reserved of the run's budget, and wait for."""

    def __init__(self, tell_soon: Callable[[], None]) -> None:
        """Call `tell_soon` when there is something new to report to the coordinator."""
        self._tell_soon = tell_soon
        self._lock = threading.Lock()
        self._waiting: list[Claim] = []
        # No cap here: the coordinator enforces it over all workers.
        self._budget = BudgetTracker()
        self._is_unreachable = False

    @asynccontextmanager
    async def reserved(self, usd: float, seconds: float | None = None) -> AsyncIterator[Payment]:
        """Reserve `usd` for the length of the block; settle it by the `Payment` at the end.

        The wait for the reservation is limited to `seconds`; None: unlimited.

        Raises:
            BudgetExhausted: less than `usd` is left of the run's budget; nothing was reserved.
            MoneyHeld: other calls had it reserved for too long, or the coordinator is unreachable.
        """
        loop = asyncio.get_running_loop()
        claim = Claim(usd, loop, loop.create_future())
        with self._lock:
            self._waiting.append(claim)
        payment = Payment()
        try:
            self._tell_soon()
            await self._granted(claim, seconds)
            yield payment
        finally:
            with self._lock:
                if claim in self._waiting:
                    self._waiting.remove(claim)
                if claim.reservation is not None:
                    self._budget.settle(claim.reservation, Spending(usd=payment.cost_usd))
            self._tell_soon()

    async def _granted(self, claim: Claim, seconds: float | None) -> None:
        try:
            async with asyncio.timeout(seconds):
                granted = await claim.granted
        except TimeoutError:
            raise self.held_for(seconds or 0.0) from None
        if not granted:
            raise BudgetExhausted(
                f"{MONEY_USED_UP}: the next call may cost {claim.usd:.4f} USD and less "
                "is left; resume with a higher --max-usd, or start a new run where the cost of "
                "earlier calls is unknown"
            )

    def report(self) -> tuple[MoneyReport, tuple[Claim, ...]]:
        """Return the report for now, and the waiting claims that it contains."""
        with self._lock:
            waiting = tuple(self._waiting[:_REPORTED_AT_ONCE])
            money = MoneyReport(
                spent_usd=self._budget.spent.usd or 0.0,
                reserved_usd=self._budget.reserved.usd or 0.0,
                waiting_usd=tuple(claim.usd for claim in waiting),
            )
            return money, waiting

    def hear(self, reported: Sequence[Claim], answer: MoneyAnswer) -> None:
        """Apply the coordinator's answer to the claims that were `reported`."""
        with self._lock:
            self._is_unreachable = False
            for claim in reported[: answer.granted]:
                # A claim that was withdrawn in the meantime needs nothing.
                if claim in self._waiting:
                    self._waiting.remove(claim)
                    claim.reservation = self._budget.hold(Reservation(Spending(usd=claim.usd)))
                    claim.answer(granted=True)
            if not answer.is_refused or answer.granted >= len(reported):
                return
            too_much = reported[answer.granted].usd
            for claim in [claim for claim in self._waiting if claim.usd >= too_much]:
                self._waiting.remove(claim)
                claim.answer(granted=False)

    def hear_nothing(self) -> None:
        """Note that the coordinator could not be reached."""
        with self._lock:
            self._is_unreachable = True

    def held_for(self, seconds: float) -> MoneyHeld:
        """Return the error of a call that has waited for that long."""
        if self._is_unreachable:
            return MoneyHeld(
                f"there was no money for the call within {seconds:.0f} s: the run's coordinator, "
                "which grants it, is out of reach; see to the Dask scheduler and resume"
            )
        return MoneyHeld(
            f"other calls of the run held its money for {seconds:.0f} s; allow it more time or a "
            "higher --max-usd"
        )
