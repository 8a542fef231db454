"""A run's limits and money where one process does all of a stage."""

import time

from environments.models.limits.coordinator import Coordinator
from environments.models.limits.shared import Exchange
from taskdata.errors import BudgetExhausted
from taskdata.schema.run import Run
from taskdata.store import Store


def alone(store: Store, run: Run) -> Exchange:
    """Return the way to a coordinator of one's own, which knows what the run has spent before.

    Raises:
        BudgetExhausted: As `spent_usd`.
    """
    coordinator = Coordinator(run.config.limits, run.config.max_usd, spent_usd(store, run))
    return lambda word: coordinator.exchange(word, time.monotonic())


def spent_usd(store: Store, run: Run) -> float:
    """Return what the run has cost before, as far as its cap on money needs to know.

    Raises:
        BudgetExhausted: There is a cap, and the price of an earlier call is unknown.
    """
    if run.config.max_usd is None:
        return 0.0
    imported = [agent.name for agent in run.config.agents if agent.results is not None]
    spent = store.spent_usd(run.id, imported)
    if spent is None:
        raise BudgetExhausted(
            f"run {run.id}: what earlier calls cost is unknown, so max_usd "
            f"({run.config.max_usd:g} USD) cannot be held; start a new run"
        )
    return spent
