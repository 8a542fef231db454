"""What trials take: means of seconds, turns, tokens and money, each with its interval."""

from collections.abc import Sequence

from quality.statistics.intervals import clustered_mean
from taskdata.schema.estimate import Estimate


def per_trial(values: Sequence[tuple[str, float | None]]) -> Estimate:
    """Return the mean of values by task id; no mean if a value is unknown, as it may differ.

    Args:
        values: The task id and the value of each trial, not below 0.
    """
    known = [(task, value) for task, value in values if value is not None]
    if len(known) < len(values):
        return Estimate(mean=None, ci95=None)
    return clustered_mean([value for _, value in known], [task for task, _ in known], lowest=0)
