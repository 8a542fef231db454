"""Limits where one process makes all calls."""

import time
from functools import cache
from typing import TYPE_CHECKING

from environments.models.limits.coordinator import Coordinator, Exchange
from environments.models.limits.limiter import ProcessLimiter
from environments.models.money.shared_budget import spent_usd

if TYPE_CHECKING:
    from taskdata.schema.run import Run
    from taskdata.store import Store


def exchange_with(coordinator: Coordinator) -> Exchange:
    """Return the way to a coordinator in this process."""
    return lambda report: coordinator.exchange(report, time.time())


@cache
def process_limiter() -> ProcessLimiter:
    """Return the limiter of all clients of this process that belong to no run."""
    return ProcessLimiter("process", exchange_with(Coordinator()))


def own_coordinator(store: "Store", run: "Run") -> Exchange:
    """Return the way to a coordinator in this process, which knows what the run has spent."""
    spent = spent_usd(store, run)
    return exchange_with(Coordinator(run.config.limits, run.config.max_usd, spent))
