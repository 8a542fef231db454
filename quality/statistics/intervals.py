"""Means and shares with 95 % intervals that respect clustering by task.

Trials of one task (repetitions) resemble each other, so they count as one cluster. Tasks are the
independent units: an interval needs two of them.
"""

import math
from collections import defaultdict
from collections.abc import Sequence

from taskdata.schema.estimate import Estimate

CONFIDENCE = 0.95


def clustered_mean(
    values: Sequence[float],
    tasks: Sequence[str],
    lowest: float = -math.inf,
    highest: float = math.inf,
) -> Estimate:
    """Return the mean of `values`, where `tasks[i]` is the task behind `values[i]`.

    The interval is mean ± t(G - 1) · SE over G tasks, with the cluster-robust (sandwich) standard
    error of Liang and Zeger (1986) and the G / (G - 1) correction and t quantile that Cameron and
    Miller (2015, section VI) advise for few clusters. With one trial per task it is the ordinary
    t interval. It is cut to the possible range `lowest`..`highest`.
    """
    if not values:
        return Estimate(mean=None, ci95=None)
    mean = math.fsum(values) / len(values)
    clusters = len(set(tasks))
    if clusters < 2:
        return Estimate(mean=mean, ci95=None, n=len(values))
    from scipy.special import stdtrit

    variance = _cluster_variance(values, tasks, mean) * clusters / (clusters - 1)
    half = float(stdtrit(clusters - 1, 0.5 + CONFIDENCE / 2)) * math.sqrt(variance)
    interval = (max(lowest, mean - half), min(highest, mean + half))
    return Estimate(mean=mean, ci95=interval, n=len(values))


def clustered_share(successes: Sequence[bool], tasks: Sequence[str]) -> Estimate:
    """Return the share (0-1) of true values, where `tasks[i]` is the task behind `successes[i]`.

    The interval is Wilson's with an effective number of trials, n / design effect (Kish 1965;
    Franco, Little, Louis and Slud 2019), so it keeps its width at shares of 0 and 1. With one
    trial per task it is Wilson's interval itself. At 0 and 1 the design effect cannot be seen in
    the data: trials of a task are taken to agree, and the number of tasks counts.
    """
    if not successes:
        return Estimate(mean=None, ci95=None)
    trials = len(successes)
    share = sum(successes) / trials
    clusters = len(set(tasks))
    if clusters < 2:
        return Estimate(mean=share, ci95=None, n=trials)
    clustered = _cluster_variance([float(s) for s in successes], tasks, share)
    if 0 < share < 1 and clustered > 0:
        effective = min(float(trials), share * (1 - share) / clustered)
    else:
        effective = float(clusters)
    return Estimate(mean=share, ci95=wilson(share, effective), n=trials)


def wilson(share: float, trials: float) -> tuple[float, float]:
    """Return Wilson's (1927) 95 % score interval for `share` seen in `trials` > 0 trials."""
    from scipy.special import ndtri

    z = float(ndtri(0.5 + CONFIDENCE / 2))
    scale = 1 + z * z / trials
    centre = (share + z * z / (2 * trials)) / scale
    half = z / scale * math.sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials))
    # Rounding may leave a bound a hair on the wrong side of the share, or of 0 and 1.
    return max(0.0, min(centre - half, share)), min(1.0, max(centre + half, share))


def _cluster_variance(values: Sequence[float], tasks: Sequence[str], mean: float) -> float:
    """Return the variance of the mean when only whole tasks are independent."""
    residuals: dict[str, float] = defaultdict(float)
    for value, task in zip(values, tasks, strict=True):
        residuals[task] += value - mean
    return math.fsum(r * r for r in residuals.values()) / len(values) ** 2
