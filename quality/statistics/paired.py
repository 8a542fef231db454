"""Comparing two agents on the same tasks: the difference is taken task by task."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from quality.statistics.intervals import clustered_mean
from taskdata.schema.summary import Estimate

RESAMPLES = 9999
"""Sign flips drawn when the tasks are too many to try all of them (above 13)."""
SEED = 20260415


@dataclass(frozen=True)
class PairedComparison:
    """How much better the second of two agents is on the tasks that both were scored on."""

    tasks: int
    difference: Estimate
    """Mean over tasks of (second - first), each task's mean over its repetitions."""
    p_value: float | None
    """Two-sided sign-flip permutation test; None below two common tasks."""


def compare_by_task(
    first: Mapping[str, Sequence[float]], second: Mapping[str, Sequence[float]]
) -> PairedComparison:
    """Compare two agents by their scores per task id; tasks that only one has are left out.

    The test asks how often flipping the signs of the task differences at random would give a
    mean as far from 0 (Fisher's randomisation test): exact up to 13 tasks, else drawn with a
    fixed seed.
    """
    common = sorted(task for task in first.keys() & second.keys() if first[task] and second[task])
    differences = [_mean(second[task]) - _mean(first[task]) for task in common]
    return PairedComparison(
        tasks=len(common),
        difference=clustered_mean(differences, common),
        p_value=_sign_flip(differences) if len(common) >= 2 else None,
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _sign_flip(differences: Sequence[float]) -> float:
    import numpy as np
    from scipy.stats import permutation_test

    test = permutation_test(
        (np.asarray(differences, dtype=float),),
        np.mean,
        permutation_type="samples",
        vectorized=True,
        n_resamples=RESAMPLES,
        rng=np.random.default_rng(SEED),
    )
    return min(1.0, float(test.pvalue))
