"""Limiters and budgets of one process, with a real coordinator."""

import pytest

from environments.models.limits.coordinator import Coordinator
from environments.models.limits.limiter import ProcessLimiter
from environments.models.money.run_budget import RunBudget


def limiter_of(ceilings=None, max_usd=None) -> ProcessLimiter:
    return ProcessLimiter("process", Coordinator(ceilings, max_usd).exchange)


def budget_of(max_usd: float | None = None) -> RunBudget:
    """Return the budget of a run that may spend `max_usd`."""
    return limiter_of(max_usd=max_usd).budget


def spent_usd(budget: RunBudget) -> float:
    """Return what was spent, once nothing is reserved any more."""
    money, _ = budget.report()
    assert money.reserved_usd == pytest.approx(0)
    return money.spent_usd
