"""A run's limits and money where one process does all of a stage."""

import logging
import math
import time

from environments.models.limits.coordinator import Coordinator
from environments.models.limits.shared import Exchange
from taskdata.schema.run import Run
from taskdata.store import Store

_logger = logging.getLogger(__name__)


def alone(store: Store, run: Run) -> Exchange:
    """Return the way to a coordinator of one's own, which knows what the run has spent before."""
    coordinator = Coordinator(run.config.limits, run.config.max_usd, spent_usd(store, run))
    return lambda word: coordinator.exchange(word, time.monotonic())


def spent_usd(store: Store, run: Run) -> float:
    """Return what the run has cost before, as far as its cap on money needs to know.

    Infinite where there is a cap and nobody knows what an earlier call cost at most: then there is
    no money for another one, and what asks nobody goes on.
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
