"""How far two raters agree on the same things: formulas on arrays, and nothing else."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float64]

ICC_FORM = (
    "ICC(2,1): two-way random effects, absolute agreement, single rater (Shrout and Fleiss 1979)"
)


class Measures(NamedTuple):
    """The numbers of one comparison; NaN where one cannot be told."""

    pearson: float
    icc: float
    mae: float
    within_one: float
    accuracy: float
    kappa: float


NOTHING = Measures(*[math.nan] * 6)


def measures(first: Scores, second: Scores, threshold: float) -> Measures:
    """Return all measures of two raters; a score above `threshold` passes."""
    if not len(first):
        return NOTHING
    apart = np.abs(first - second)
    one, other = first > threshold, second > threshold
    return Measures(
        pearson=pearson(first, second),
        icc=icc(np.column_stack([first, second])),
        mae=float(apart.mean()),
        within_one=float((apart <= 1 + 1e-9).mean()),
        accuracy=float((one == other).mean()),
        kappa=kappa(one, other),
    )


def pearson(first: Scores, second: Scores) -> float:
    """Return Pearson's correlation, -1 to 1; NaN where one of them does not vary."""
    one, other = first - first.mean(), second - second.mean()
    scale = math.sqrt(float(one @ one) * float(other @ other))
    return float(one @ other) / scale if scale > 1e-12 else math.nan


def icc(scores: Scores) -> float:
    """Return ICC(2,1) of things (rows) by raters (columns), at most 1; NaN below two rows.

    (MSR - MSE) / (MSR + (k - 1) MSE + k (MSC - MSE) / n), with the mean squares of rows, columns
    and residuals of a two-way analysis of variance (Shrout and Fleiss 1979, form 2,1).
    """
    n, k = scores.shape
    if n < 2 or k < 2:
        return math.nan
    grand = scores.mean()
    rows, columns = scores.mean(axis=1), scores.mean(axis=0)
    between_rows = k * float(((rows - grand) ** 2).sum()) / (n - 1)
    between_columns = n * float(((columns - grand) ** 2).sum()) / (k - 1)
    rest = scores - rows[:, None] - columns + grand
    error = float((rest**2).sum()) / ((n - 1) * (k - 1))
    total = between_rows + (k - 1) * error + k * (between_columns - error) / n
    return (between_rows - error) / total if total > 1e-12 else math.nan


def kappa(first: NDArray[np.bool_], second: NDArray[np.bool_]) -> float:
    """Return Cohen's (1960) kappa, -1 to 1; NaN where chance alone would agree always."""
    agreed = float((first == second).mean())
    one, other = float(first.mean()), float(second.mean())
    chance = one * other + (1 - one) * (1 - other)
    return (agreed - chance) / (1 - chance) if chance < 1 - 1e-12 else math.nan


def between(scores: Scores, threshold: float) -> Measures:
    """Return the measures of several raters; NaN where one has not scored a thing.

    They are means over pairs of raters, weighted by the things that both scored. ICC(2,1) is of
    all raters at once where all of them scored at least half of the things.
    """
    pairs, weights = [], []
    for i in range(scores.shape[1]):
        for j in range(i):
            both = ~np.isnan(scores[:, i]) & ~np.isnan(scores[:, j])
            if both.any():
                pairs.append(measures(scores[both, j], scores[both, i], threshold))
                weights.append(int(both.sum()))
    if not pairs:
        return NOTHING
    found = Measures(*(_mean(list(column), weights) for column in zip(*pairs, strict=True)))
    complete = ~np.isnan(scores).any(axis=1)
    if scores.shape[1] > 2 and 2 * complete.sum() >= len(scores):
        return found._replace(icc=icc(scores[complete]))
    return found


def _mean(values: list[float], weights: list[int]) -> float:
    known = [(v, w) for v, w in zip(values, weights, strict=True) if not math.isnan(v)]
    return sum(v * w for v, w in known) / sum(w for _, w in known) if known else math.nan
