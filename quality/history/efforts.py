"""Cost, time, errors and failure clusters of a night against the nights before it."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from statistics import fmean

from quality.history.scores import AgentScores
from taskdata.schema.night import (
    ClusterChange,
    EffortChange,
    ErrorChange,
    FailureCluster,
    Night,
    NightCell,
)

_PER_TRIAL = ("cost_usd", "wall_s", "tokens")
"""Sums of a cell, which are divided by its trials; `turns` are a mean of them already."""
_CHANGES = ("new", "lasting", "gone")


def effort_changes(scores: Iterable[AgentScores]) -> tuple[EffortChange, ...]:
    """Return what each agent's trials took, over the tasks that are compared."""
    return tuple(change for one in scores for change in _of_agent(one))


def error_changes(night: Night, baseline: Sequence[Night]) -> tuple[ErrorChange, ...]:
    """Return the infrastructure errors of the night and of the last comparable one, by cause."""
    before = baseline[0].error_causes if baseline else {}
    causes = sorted(
        night.error_causes.keys() | before.keys(),
        key=lambda c: (-night.error_causes.get(c, 0), -before.get(c, 0), c),
    )
    return tuple(
        ErrorChange(cause=c, before=before.get(c, 0), after=night.error_causes.get(c, 0))
        for c in causes
    )


def cluster_changes(night: Night, baseline: Sequence[Night]) -> tuple[ClusterChange, ...]:
    """Return new, lasting and gone clusters, the largest of each first; none without a baseline.

    Args:
        night: The night.
        baseline: The nights it is compared with, newest first.
    """
    if not baseline:
        return ()
    # A cluster may count several causes, and another night may have told them apart.
    by_night = [{key: c for c in n.clusters for key in c.keys} for n in baseline]
    now = {key for c in night.clusters for key in c.keys}
    found = [_known(c, night, baseline, by_night) for c in night.clusters]
    found += [
        _known(c, night, baseline, by_night).model_copy(update={"change": "gone", "nights": 0})
        for c in baseline[0].clusters
        if not c.keys & now
    ]
    return tuple(sorted(found, key=lambda c: (_CHANGES.index(c.change), -c.cluster.trials)))


def _known(
    cluster: FailureCluster,
    night: Night,
    baseline: Sequence[Night],
    by_night: Sequence[dict[str, FailureCluster]],
) -> ClusterChange:
    had = [not cluster.keys.isdisjoint(known) for known in by_night]
    in_a_row = len(list(takewhile(bool, had)))
    first = max((i for i, has in enumerate(had) if has), default=None)
    before = {known.key: known for key in cluster.keys if (known := by_night[0].get(key))}
    return ClusterChange(
        cluster=cluster,
        change="lasting" if had[0] else "new",
        first_seen=night.run_id if first is None else baseline[first].run_id,
        nights=in_a_row + 1,
        trials_before=sum(known.trials for known in before.values()),
    )


def _of_agent(scores: AgentScores) -> Iterator[EffortChange]:
    for what in (*_PER_TRIAL, "turns"):
        after = _mean(scores.after, what)
        nights = [m for cells in scores.before if (m := _mean(cells, what)) is not None]
        if after is None or not nights or not (after or any(nights)):
            continue
        yield EffortChange(
            agent=scores.agent,
            what=what,
            before=fmean(nights),
            after=after,
            usual=(min(nights), max(nights)) if len(nights) > 1 else None,
        )


def _mean(cells: Iterable[NightCell | None], what: str) -> float | None:
    """Return the mean per trial; None where it is unknown of one cell, or there is no trial."""
    trials = [(cell, len(cell.trial_ids) - cell.errors) for cell in cells if cell is not None]
    known = [(getattr(cell, what), count) for cell, count in trials if count]
    if not known or any(value is None for value, _ in known):
        return None
    is_sum = what in _PER_TRIAL
    total = sum(value if is_sum else value * count for value, count in known)
    return float(total) / sum(count for _, count in known)
