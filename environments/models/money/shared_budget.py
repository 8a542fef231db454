"""The cap on what a run may spend, over all of its worker processes."""

import logging
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pydantic import Field

from environments.models.money.budget import BudgetTracker, Reservation, Spending
from taskdata.schema.base import Value

if TYPE_CHECKING:
    from taskdata.schema.run import Run
    from taskdata.store import Store

_logger = logging.getLogger(__name__)


class MoneyReport(Value):
    """A worker's money. Sums are cumulative, so a lost or repeated report does no harm."""

    spent_usd: float = Field(default=0.0, ge=0)
    """Spent by calls that have ended, since the worker started."""
    reserved_usd: float = Field(default=0.0, ge=0)
    """The most that calls in flight may still cost."""
    waiting_usd: tuple[float, ...] = ()
    """The most that each waiting call may cost, in order of arrival."""


class MoneyAnswer(Value):
    """Which of a worker's waiting calls may start."""

    granted: int = Field(default=0, ge=0)
    """So many calls, counted from the first, have a reservation."""
    is_refused: bool = False
    """The next call can never start: it may cost more than is left of the budget."""


@dataclass
class _Worker:
    booked_usd: float = 0.0
    """This worker's part of what was spent."""
    reservations: list[Reservation] = field(default_factory=list)


class SharedBudget:
    """Grants reservations to the workers of a run, which together never spend more than the cap."""

    def __init__(self, max_usd: float | None, spent_usd: float) -> None:
        """Hold `max_usd`, of which `spent_usd` was spent before; infinite if that is unknown."""
        self._budget = BudgetTracker(max_usd=max_usd, spent=Spending(usd=spent_usd))
        self._workers: dict[str, _Worker] = {}

    @property
    def spent_usd(self) -> float:
        """Spent before, reported by workers, and reserved by lost workers."""
        return self._budget.spent.usd or 0.0

    def exchange(self, name: str, report: MoneyReport) -> MoneyAnswer:
        """Record a worker's report and grant what fits, in order of arrival."""
        worker = self._workers.setdefault(name, _Worker())
        for reservation in worker.reservations:
            self._budget.settle(reservation)
        self._budget.spend(Spending(usd=report.spent_usd - worker.booked_usd))
        worker.booked_usd = report.spent_usd
        worker.reservations = [self._budget.hold(Reservation(Spending(usd=report.reserved_usd)))]
        for granted, usd in enumerate(report.waiting_usd):
            reserved = self._budget.reserve(Spending(usd=usd))
            if reserved is None:
                never = self._budget.exceeded(Spending(usd=usd)) is not None
                return MoneyAnswer(granted=granted, is_refused=never)
            worker.reservations.append(reserved)
        return MoneyAnswer(granted=len(report.waiting_usd))

    def forget(self, name: str) -> None:
        """Count a lost worker's reservations as spent, until the worker reports again."""
        worker = self._workers.setdefault(name, _Worker())
        for reservation in worker.reservations:
            self._budget.settle(reservation, reservation.bound)
            worker.booked_usd += reservation.bound.usd or 0.0
        worker.reservations = []


def spent_usd(store: "Store", run: "Run") -> float:
    """Return what the run has cost before, in USD, as far as its cap needs it.

    Infinite if there is a cap but no known upper bound for the cost of an earlier call: then no
    further call gets money.
    """
    if run.config.max_usd is None:
        return 0.0
    spent = store.spent_usd(run.id)
    if spent is None:
        _logger.warning(
            "run %s: what earlier calls cost is unknown, so max_usd (%g USD) could not be held and "
            "no more calls are made; start a new run for what needs them",
            run.id,
            run.config.max_usd,
        )
        return math.inf
    return spent
