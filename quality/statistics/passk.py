"""pass@k and pass^k: what k attempts at a task would give, from n >= k repetitions of it.

pass@k is the chance that at least one of k attempts succeeds (Chen et al. 2021), pass^k that all
of them do (Yao et al. 2024, tau-bench). Both estimators are unbiased.
"""

from collections.abc import Mapping, Sequence
from math import comb

from quality.statistics.intervals import clustered_mean
from taskdata.schema.estimate import Estimate


def pass_at_k(trials: int, successes: int, k: int) -> float | None:
    """Return 1 - C(n - c, k) / C(n, k), from 0 to 1; None unless 1 <= k <= n."""
    if not 1 <= k <= trials:
        return None
    return 1 - comb(trials - successes, k) / comb(trials, k)


def pass_hat_k(trials: int, successes: int, k: int) -> float | None:
    """Return C(c, k) / C(n, k), from 0 to 1; None unless 1 <= k <= n."""
    if not 1 <= k <= trials:
        return None
    return comb(successes, k) / comb(trials, k)


def mean_pass_at_k(outcomes: Mapping[str, Sequence[bool]], k: int) -> Estimate:
    """Return pass@k over tasks, from the repetitions of each; tasks with fewer than k are out."""
    return _over_tasks({t: pass_at_k(len(o), sum(o), k) for t, o in outcomes.items()})


def mean_pass_hat_k(outcomes: Mapping[str, Sequence[bool]], k: int) -> Estimate:
    """Return pass^k over tasks, from the repetitions of each; tasks with fewer than k are out."""
    return _over_tasks({t: pass_hat_k(len(o), sum(o), k) for t, o in outcomes.items()})


def _over_tasks(values: Mapping[str, float | None]) -> Estimate:
    known = {task: value for task, value in values.items() if value is not None}
    return clustered_mean(list(known.values()), list(known), lowest=0.0, highest=1.0)
