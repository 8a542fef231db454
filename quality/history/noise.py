"""How far a night's scores may differ from those of the nights before it by chance alone.

For one agent, y_i is the mean root score of task i in the night and x_hi that in baseline night h
of H; b_i is the mean of x_hi over h, and d_i = y_i - b_i. D is the mean of d_i over the n tasks of
a scope. Without a real change every x_hi and y_i of a task has the same expectation, so that

- the variance of a d_i within the scope is estimated from the d_i themselves and, with two nights
  or more, from how each baseline night differs from the others: pooled, (n - 1) H degrees of
  freedom. Where there is one baseline night alone, the larger of the scope's own variance and of
  the agent's over all its categories counts, for three tasks may agree by chance;
- nights differ as a whole, too (a provider's bad evening, a judge's mood): what the means of the
  baseline nights vary beyond that is a variance component of nights (a one-way analysis of
  variance, as in Searle, Casella and McCulloch 1992, chapter 3), taken as 0 where it is negative.
  It takes three nights.

D / SE is compared with Student's t, its degrees of freedom by Satterthwaite (1946).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float64]
Tasks = NDArray[np.intp]
"""Indices of tasks."""

_NIGHTS_FOR_A_COMPONENT = 3


@dataclass(frozen=True)
class Difference:
    """A mean difference over tasks, with what chance makes of it."""

    tasks: int
    before: float
    after: float
    error: float
    """Standard error without a real change; 0 where nothing has ever varied."""
    degrees: float
    without_extreme: float | None = None
    """The two-sided p-value without the task that differs most; None below three tasks."""

    @property
    def mean(self) -> float:
        """After minus before."""
        return self.after - self.before

    @property
    def p_value(self) -> float:
        """Two-sided, of no change at all; not corrected for other comparisons."""
        return two_sided(self.mean, self.error, self.degrees)

    @property
    def ci95(self) -> tuple[float, float]:
        """The interval of the mean change of these very tasks; cut to -10..10."""
        from scipy.special import stdtrit

        half = float(stdtrit(self.degrees, 0.975)) * self.error
        return max(-10.0, self.mean - half), min(10.0, self.mean + half)

    def floor(self, p_value: float) -> float:
        """Return the smallest difference whose p-value is at most that, on the scale 0-10."""
        from scipy.special import stdtrit

        return float(stdtrit(self.degrees, 1 - p_value / 2)) * self.error


def two_sided(mean: float, error: float, degrees: float) -> float:
    """Return the p-value of a mean with that standard error by Student's t."""
    from scipy.special import stdtr

    if error == 0:
        return 1.0 if mean == 0 else 0.0
    return float(2 * stdtr(degrees, -abs(mean) / error))


class Noise:
    """The scores of one agent in a night and in its baseline nights, and their noise."""

    def __init__(
        self, after: Scores, before: Scores, groups: Sequence[str], share: float = 1.0
    ) -> None:
        """Take mean scores by task; every task has one in the night and in a baseline night.

        Args:
            after: By task.
            before: By baseline night and task; NaN where a night has no score.
            groups: The category of each task.
            share: Repetitions of the baseline nights for each one of the night.
        """
        self.after, self.before = after, before
        self.nights = np.sum(~np.isnan(before), axis=0)
        self.baseline: Scores = np.nanmean(before, axis=0)
        self._share = share
        self._residuals = self._scaled_residuals()
        self._groups = [np.flatnonzero(np.array(groups) == g) for g in sorted(set(groups))]
        self._component = {
            False: self._night_component(self._groups),
            True: self._night_component([np.arange(len(after))]),
        }

    def difference(self, tasks: Tasks) -> Difference:
        """Return the difference over these tasks."""
        found = self._difference(tasks, self.after, self._share)
        if len(tasks) < 3:
            return found
        change = self.after[tasks] - self.baseline[tasks]
        kept = np.delete(tasks, np.argmax(np.sign(found.mean) * change))
        return replace(
            found, without_extreme=self._difference(kept, self.after, self._share).p_value
        )

    def again(self, tasks: Tasks, scores: Scores, share: float) -> Difference:
        """Return the difference over these tasks in other trials, those of a confirming re-run.

        Args:
            tasks: The tasks that were run again.
            scores: Mean scores there of all tasks; NaN of those that were not run again.
            share: Repetitions of the baseline nights for each one of the re-run.
        """
        return self._difference(tasks, scores, share)

    def _difference(self, tasks: Tasks, after: Scores, share: float) -> Difference:
        n, nights = len(tasks), float(np.mean(self.nights[tasks]))
        variance, degrees = self._variance(tasks, after, (share + 1 / nights) / (1 + 1 / nights))
        component, free = self._component[n == len(self.after)]
        parts = [(variance / n, degrees), (component * (1 + 1 / nights), free)]
        total = sum(part for part, _ in parts)
        weight = sum(part * part / df for part, df in parts)
        return Difference(
            tasks=n,
            before=float(np.mean(self.baseline[tasks])),
            after=float(np.mean(after[tasks])),
            error=math.sqrt(total),
            degrees=total * total / weight if weight > 0 else degrees,
        )

    def _variance(self, tasks: Tasks, after: Scores, scale: float) -> tuple[float, float]:
        """Return the variance of a task's difference by chance, with its degrees of freedom."""
        change, n = after[tasks] - self.baseline[tasks], len(tasks)
        own = float(np.var(change, ddof=1)) if n > 1 else 0.0
        past = self._residuals[:, tasks]
        known = past[~np.isnan(past).all(axis=1)]
        degrees = float(np.sum(np.maximum(self.nights[tasks] - 1, 0)) - len(known) + 1)
        if not len(known) or degrees < 1:
            pooled, free = _within(after - self.baseline, self._groups)
            return (pooled, free) if pooled > own else (own, float(max(n - 1, 1)))
        centred = known - np.nanmean(known, axis=1, keepdims=True)
        history = scale * float(np.nansum(centred**2)) / degrees
        return (history * degrees + own * (n - 1)) / (degrees + n - 1), degrees + n - 1

    def _scaled_residuals(self) -> Scores:
        """Return x_hi - b_i, scaled to the variance of a d_i; NaN where nothing can be said."""
        nights = self.nights.astype(float)
        scale = np.sqrt(1 + 1 / nights)
        residuals = (self.before - self.baseline) * scale
        residuals[:, self.nights < 2] = np.nan
        return np.asarray(residuals)

    def _night_component(self, groups: Sequence[Tasks]) -> tuple[float, float]:
        """Return the variance of whole nights beyond that of their tasks, with its degrees."""
        excesses, degrees = [], []
        for tasks in groups:
            full = tasks[self.nights[tasks] == len(self.before)]
            if len(full) < 2 or len(self.before) < _NIGHTS_FOR_A_COMPONENT:
                continue
            scores = self.before[:, full]
            means = scores.mean(axis=1)
            own = scores - means[:, None] - scores.mean(axis=0) + means.mean()
            free = len(scores) - 1
            within = float(np.sum(own**2)) / (free * (len(full) - 1))
            excesses.append(float(np.var(means, ddof=1)) - within / len(full))
            degrees.append(free)
        if not excesses:
            return 0.0, 1.0
        return max(0.0, float(np.mean(excesses))), float(sum(degrees))


def _within(change: Scores, groups: Sequence[Tasks]) -> tuple[float, float]:
    """Return the variance of differences around the mean of their category."""
    groups = [known for g in groups if len(known := g[~np.isnan(change[g])])]
    squares = sum(float(np.sum((change[g] - change[g].mean()) ** 2)) for g in groups)
    degrees = sum(map(len, groups)) - len(groups)
    return (squares / degrees, float(degrees)) if degrees > 0 else (0.0, 1.0)
