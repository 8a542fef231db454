"""Answers the reports of a run's workers with their shares of rate limits and budget."""

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager

from pydantic import Field

from environments.models.limits.protocols import limited_as
from environments.models.limits.shared_limits import (
    Demand,
    Share,
    SharedLimits,
)
from environments.models.money.shared_budget import MoneyAnswer, MoneyReport, SharedBudget
from taskdata.schema.base import Value
from taskdata.schema.ceilings import Ceilings

REPORT_SECONDS = 0.25
"""Interval between two reports of a worker that has calls and nothing urgent to report."""


class Report(Value):
    """A worker's report: its demand per provider, and its money."""

    worker: str
    demands: dict[str, Demand] = Field(default_factory=dict)
    money: MoneyReport = MoneyReport()


class Answer(Value):
    """The answer to a report: the worker's share per provider, and the granted reservations."""

    shares: dict[str, Share]
    money: MoneyAnswer


Exchange = Callable[[Report], Answer]
"""Carries a report to the coordinator and returns the answer; blocks, and raises on failure."""


Opener = Callable[[], AbstractContextManager[SharedLimits]]
"""Opens the limits that several runs share, for one change."""


class Coordinator:
    """Coordinates the workers of one run, which report through `exchange`."""

    def __init__(
        self,
        ceilings: Mapping[str, Ceilings] | None = None,
        max_usd: float | None = None,
        spent_usd: float = 0.0,
        limits: Opener | None = None,
        run: str = "",
    ) -> None:
        """Share the configured limits of each provider, and what is left of `max_usd`.

        `spent_usd` is infinite if the cost of earlier calls is unknown: then no call gets money.
        `limits` opens the state that several runs share, in which `run` marks the workers of this
        run; None: this run does not share its limits.
        """
        self._limits = limits or SharedLimits().opened
        self._ceilings = {limited_as(name): each for name, each in (ceilings or {}).items()}
        self._run = run
        self._budget = SharedBudget(max_usd, spent_usd)
        self._workers: set[str] = set()

    @property
    def spent_usd(self) -> float:
        """USD that the run has spent; see `SharedBudget`."""
        return self._budget.spent_usd

    @property
    def workers(self) -> tuple[str, ...]:
        """The workers that have reported and are not lost."""
        return tuple(self._workers)

    def exchange(self, report: Report, now: float | None = None) -> Answer:
        """Process a worker's report and return what it may use; `now` is the time, for tests."""
        self._workers.add(report.worker)
        with self._limits() as limits:
            name, when = f"{self._run}/{report.worker}", time.time() if now is None else now
            shares = limits.shares(name, report.demands, self._ceilings, when)
            known = set(limits.workers)
        self.forget(*(name for name in self.workers if f"{self._run}/{name}" not in known))
        return Answer(shares=shares, money=self._budget.exchange(report.worker, report.money))

    def forget(self, *names: str) -> None:
        """Free the shares of lost workers; what they had reserved counts as spent."""
        if not names:
            return
        for name in names:
            self._workers.discard(name)
            self._budget.forget(name)
        with self._limits() as limits:
            limits.forget(f"{self._run}/{name}" for name in names)

    def end(self) -> None:
        """Free all shares for other runs."""
        self.forget(*self.workers)
