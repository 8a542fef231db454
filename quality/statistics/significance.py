"""Tests of paired outcomes, correction for many comparisons, and what a sample could show."""

import math
from collections.abc import Sequence
from functools import lru_cache

POWER = 0.8
"""A detectable difference is found by so many of 1 comparisons."""


def mcnemar(gained: int, lost: int) -> float | None:
    """Return the two-sided p-value of McNemar's (1947) test in its exact, binomial form.

    Args:
        gained: Pairs in which only the second outcome is a success.
        lost: Pairs in which only the first one is.

    Returns:
        From 0 to 1; None where no pair differs, for the test looks at nothing else.
    """
    if gained + lost == 0:
        return None
    from statsmodels.stats.contingency_tables import mcnemar as test

    return min(1.0, float(test([[0, lost], [gained, 0]], exact=True).pvalue))


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Return the p-values corrected for their number (Holm 1979); None stays None.

    The chance that any of them is at most 0.05 where nothing differs is then at most 0.05.
    """
    # Not by statsmodels, whose function collects the garbage of the whole process at every call.
    order = sorted((p, at) for at, p in enumerate(p_values) if p is not None)
    corrected: list[float | None] = [None] * len(p_values)
    least = 0.0
    for rank, (p_value, at) in enumerate(order):
        corrected[at] = least = max(least, min(1.0, p_value * (len(order) - rank)))
    return corrected


def detectable_difference(differences: Sequence[float], alpha: float) -> float | None:
    """Return the smallest true mean that a two-sided paired test finds with 80 % power.

    It is d · s, where s is the standard deviation of the differences and d the effect size at
    which the noncentral t distribution gives that power (Cohen 1988, section 2.4).

    Args:
        differences: One of each task.
        alpha: The level of the test.

    Returns:
        In the unit of the differences; None below three of them, or where they are all equal.
    """
    if len(differences) < 3:
        return None
    mean = math.fsum(differences) / len(differences)
    deviation = math.sqrt(math.fsum((d - mean) ** 2 for d in differences) / (len(differences) - 1))
    if deviation < 1e-12:
        return None
    return _effect_size(len(differences), alpha) * deviation


@lru_cache(maxsize=1024)
def _effect_size(tasks: int, alpha: float) -> float:
    from statsmodels.stats.power import TTestPower

    return float(
        TTestPower().solve_power(nobs=tasks, alpha=alpha, power=POWER, alternative="two-sided")
    )
