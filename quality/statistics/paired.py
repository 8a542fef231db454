"""Comparing two agents on the same tasks: the difference is taken task by task."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from quality.statistics.intervals import clustered_mean
from taskdata.schema.estimate import Estimate

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

RESAMPLES = 9999
"""Sign flips drawn when the tasks are too many to try all of them (above 13)."""
SEED = 20260415
_EXACT_UP_TO = 13


@dataclass(frozen=True)
class PairedComparison:
    """How much better the second of two agents is on the tasks that both were scored on."""

    tasks: int
    difference: Estimate
    """Mean over tasks of (second - first), each task's mean over its repetitions."""
    p_value: float | None
    """Two-sided sign-flip permutation test; None below two common tasks."""


def compare_by_task(
    first: Mapping[str, Sequence[float]],
    second: Mapping[str, Sequence[float]],
    widest: float = math.inf,
) -> PairedComparison:
    """Compare two agents by their scores per task id; tasks that only one has are left out.

    `widest` is the largest difference that there can be, to which the interval is cut.

    The test asks how often flipping the signs of the task differences at random would give a
    mean as far from 0 (Fisher's randomisation test): exact up to 13 tasks, else drawn with a
    fixed seed.
    """
    by_task = paired_differences(first, second)
    differences = list(by_task.values())
    return PairedComparison(
        tasks=len(by_task),
        difference=clustered_mean(differences, list(by_task), -widest, widest),
        p_value=_sign_flip(differences) if len(by_task) >= 2 else None,
    )


def paired_differences(
    first: Mapping[str, Sequence[float]], second: Mapping[str, Sequence[float]]
) -> dict[str, float]:
    """Return second minus first by common task id, each side's mean over its repetitions."""
    common = sorted(task for task in first.keys() & second.keys() if first[task] and second[task])
    return {task: _mean(second[task]) - _mean(first[task]) for task in common}


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _sign_flip(differences: Sequence[float]) -> float:
    import numpy as np

    values = np.asarray(differences, dtype=float)
    signs = _signs(len(values))
    sums = np.abs(signs @ values)
    # What is as far as seen, but for the order of summing, is as far.
    as_far = int(np.count_nonzero(sums >= abs(values.sum()) - 1e-9 * np.abs(values).sum()))
    if len(values) <= _EXACT_UP_TO:
        return as_far / len(signs)
    # What was seen counts as one of the draws (Phipson and Smyth 2010).
    return (as_far + 1) / (len(signs) + 1)


@lru_cache(maxsize=_EXACT_UP_TO)
def _signs(count: int) -> "NDArray[np.int8]":
    """Return a row of signs for each way to flip them that is tried."""
    import numpy as np

    if count <= _EXACT_UP_TO:
        ways = np.arange(2**count)[:, None] >> np.arange(count)
        return (2 * (ways & 1) - 1).astype(np.int8)
    rng = np.random.default_rng(SEED)
    return rng.choice(np.array([-1, 1], dtype=np.int8), size=(RESAMPLES, count))
