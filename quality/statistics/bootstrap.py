"""Intervals of statistics that have no formula: whole tasks are drawn again and again."""

import math
from collections.abc import Callable, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from taskdata.schema.estimate import Estimate

RESAMPLES = 999
SEED = 20260415
FEWEST_CLUSTERS = 5
"""An interval needs so many tasks."""

Chosen = Sequence[int]
"""Numbers of clusters, one as often as it was drawn."""


def rows_by_task(tasks: Sequence[str]) -> list[list[int]]:
    """Return the clusters: the rows of each task, where `tasks[i]` is the task of row i."""
    found: dict[str, list[int]] = {}
    for row, task in enumerate(tasks):
        found.setdefault(task, []).append(row)
    return list(found.values())


def drawn_rows(clusters: Sequence[Sequence[int]], chosen: Chosen) -> NDArray[np.intp]:
    """Return the rows of the clusters that were drawn, each as often as its cluster was."""
    return np.fromiter(chain.from_iterable(clusters[i] for i in chosen), dtype=np.intp)


def bootstrapped(
    statistics: Callable[[Chosen], Sequence[float]],
    clusters: int,
    counts: Sequence[int],
) -> list[Estimate]:
    """Return each statistic with its 95 % interval, bias-corrected and accelerated (BCa).

    Clusters, and not what is in them, are drawn with replacement, for only tasks are independent
    (Efron 1987; Davison and Hinkley 1997, section 3.8). The seed is fixed.

    Args:
        statistics: Given the numbers of clusters, returns the statistics; NaN: cannot be told.
        clusters: How many there are.
        counts: The `n` of each statistic.
    """
    everything = range(clusters)
    points = np.asarray(statistics(everything), dtype=np.float64)
    if clusters < FEWEST_CLUSTERS:
        return [_estimate(p, None, n) for p, n in zip(points, counts, strict=True)]
    rng = np.random.default_rng(SEED)
    drawn = np.array(
        [statistics(rng.integers(0, clusters, clusters).tolist()) for _ in range(RESAMPLES)],
        dtype=np.float64,
    )
    left_out = np.array(
        [statistics([i for i in everything if i != one]) for one in everything], dtype=np.float64
    )
    return [
        _estimate(points[i], _bca(points[i], drawn[:, i], left_out[:, i]), counts[i])
        for i in range(len(points))
    ]


def _estimate(point: float, ci95: tuple[float, float] | None, count: int) -> Estimate:
    if math.isnan(point):
        return Estimate(mean=None, ci95=None, n=count)
    return Estimate(mean=float(point), ci95=ci95, n=count)


def _bca(
    point: float, drawn: NDArray[np.float64], left_out: NDArray[np.float64]
) -> tuple[float, float] | None:
    """Return the interval; None where too many of the draws cannot tell the statistic."""
    known = drawn[~np.isnan(drawn)]
    if math.isnan(point) or 2 * len(known) < len(drawn):
        return None
    from scipy.special import ndtr, ndtri

    share = (np.sum(known < point) + np.sum(known == point) / 2) / len(known)
    levels = np.array([0.025, 0.975])
    if 0 < share < 1:
        bias, normal = ndtri(share), ndtri(levels)
        away = np.nanmean(left_out) - left_out[~np.isnan(left_out)]
        squares = float((away**2).sum())
        pull = float((away**3).sum()) / (6 * squares**1.5) if squares > 1e-12 else 0.0
        levels = ndtr(bias + (bias + normal) / (1 - pull * (bias + normal)))
    low, high = np.quantile(known, levels)
    return float(low), float(high)
