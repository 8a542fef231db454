"""Scores by category where a category has few tasks: an estimate that pools them.

Three tasks say little about a category: their own interval spans nearly the whole scale. A
hierarchical normal model (Gelman et al. 2013, section 5.4) takes the categories of one agent
together: task means vary around their category's mean with one variance, pooled over all
categories, and category means vary around the agent's mean. Mean and spread between categories have
flat priors; the spread is integrated over a grid, so that the interval holds what is not known
about it. A category with few tasks is drawn towards the agent's mean, and one with many keeps its
own.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import fmean

import numpy as np

from taskdata.schema.estimate import Estimate
from taskdata.schema.night import CategoryEstimate, Night

METHOD = "hierarchical normal model over categories"
FEWEST_CATEGORIES = 3
"""The spread between fewer cannot be estimated."""
WIDEST = 5.0
"""No interval is given that would span more than half of the scale: it says nothing."""
_GRID = 200
_SPREAD = 10.0


def pooled_by_category(
    scores: Mapping[str, Mapping[str, Sequence[float]]],
) -> dict[str, Estimate]:
    """Return the estimated mean root score (0-10) of each category, with its 95 % interval.

    Estimates are named by `method`. The interval is None where it would span more than half of the
    scale. Empty where the categories or their tasks are too few for an estimate.

    Args:
        scores: Root scores of one agent by category and task id, one for each trial.
    """
    tasks = {
        name: [fmean(trials) for trials in by_task.values() if trials]
        for name, by_task in scores.items()
    }
    tasks = {name: means for name, means in sorted(tasks.items()) if means}
    degrees = sum(len(means) - 1 for means in tasks.values())
    if len(tasks) < FEWEST_CATEGORIES or degrees < len(tasks):
        return {}
    own = np.array([fmean(means) for means in tasks.values()])
    squares = sum(sum((m - fmean(means)) ** 2 for m in means) for means in tasks.values())
    errors = squares / degrees / np.array([len(means) for means in tasks.values()])
    mean, deviation = _posterior(own, errors)
    trials = {name: sum(map(len, by_task.values())) for name, by_task in scores.items()}
    return {
        name: _estimate(float(mean[i]), float(deviation[i]), degrees, trials[name])
        for i, name in enumerate(tasks)
    }


def category_estimates(night: Night) -> tuple[CategoryEstimate, ...]:
    """Return the estimates by category of each of the night's agents."""
    category = {task.task_id: task.category for task in night.tasks}
    scores: dict[str, dict[str, dict[str, list[float]]]] = defaultdict(lambda: defaultdict(dict))
    for cell in night.cells:
        known = [score for score in cell.scores if score is not None]
        if known:
            scores[cell.agent][category[cell.task_id]][cell.task_id] = known
    return tuple(
        CategoryEstimate(
            agent=agent, category=name, tasks=len(scores[agent][name]), estimate=estimate
        )
        for agent in night.settings.agents
        for name, estimate in pooled_by_category(scores[agent]).items()
    )


def informative(estimate: Estimate) -> Estimate:
    """Return the estimate without its interval where that spans more than half of the scale."""
    if estimate.ci95 is None or estimate.ci95[1] - estimate.ci95[0] <= WIDEST:
        return estimate
    return estimate.model_copy(update={"ci95": None})


def _posterior(own: np.ndarray, errors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and standard deviation of each category, over the spread between them."""
    if not errors.any():
        return own, np.zeros_like(own)
    spread = (np.arange(_GRID) + 0.5) * _SPREAD / _GRID
    total = errors[:, None] + spread**2
    precision = (1 / total).sum(axis=0)
    centre = (own[:, None] / total).sum(axis=0) / precision
    log = -0.5 * (
        np.log(precision)
        + np.log(total).sum(axis=0)
        + ((own[:, None] - centre) ** 2 / total).sum(axis=0)
    )
    weight = np.exp(log - log.max())
    weight /= weight.sum()
    keep = spread**2 / total
    means = keep * own[:, None] + (1 - keep) * centre
    variances = keep * errors[:, None] + (1 - keep) ** 2 / precision
    mean = means @ weight
    variance = (variances + (means - mean[:, None]) ** 2) @ weight
    return mean, np.sqrt(variance)


def _estimate(mean: float, deviation: float, degrees: int, trials: int) -> Estimate:
    from scipy.special import stdtrit

    half = float(stdtrit(degrees, 0.975)) * deviation
    low, high = max(0.0, mean - half), min(10.0, mean + half)
    return informative(Estimate(mean=mean, ci95=(low, high), n=trials, method=METHOD))
