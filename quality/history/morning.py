"""What a night means against the last comparable ones: alarms, clusters, errors, cost and time."""

from collections.abc import Iterable, Sequence

from quality.history.categories import category_estimates
from quality.history.comparable import (
    BASELINE_NIGHTS,
    Baseline,
    baseline_of,
    cells_of,
    differing,
    earlier,
)
from quality.history.comparisons import FALSE_ALARMS
from quality.history.efforts import cluster_changes, effort_changes, error_changes
from quality.history.flags import competing
from quality.history.scores import agent_scores
from quality.history.verdicts import score_changes
from taskdata.schema.night import Morning, Night


def morning_of(
    night: Night, history: Sequence[Night], confirmations: Sequence[Night] = ()
) -> Morning:
    """Return what `night` means against the last comparable nights.

    Args:
        night: The night.
        history: Other nights, in any order; those after it count for nothing.
        confirmations: Re-runs of what stood out in this night; others are left out.
    """
    reruns = [c for c in confirmations if c.confirms == night.run_id]
    before = earlier(night, history)
    baselines = [baseline_of(night, before, agent) for agent in competing(night)]
    scores = [s for baseline in baselines if (s := agent_scores(night, baseline)) is not None]
    changes = score_changes(scores, reruns)
    floors = [c.floor for c in changes if c.scope == "all" and c.floor is not None]
    nights = _union(baselines)
    return Morning(
        run_id=night.run_id,
        baseline=tuple(n.run_id for n in nights),
        differs=differing(before[0], night) if before else {},
        changes=tuple(changes),
        clusters=cluster_changes(night, nights),
        efforts=effort_changes(scores),
        errors=error_changes(night, nights),
        categories=category_estimates(night),
        noise_floor=min(floors, default=None),
        false_alarm_rate=FALSE_ALARMS,
        notes=tuple(_notes(night, before, baselines)),
    )


def _union(baselines: Sequence[Baseline]) -> list[Night]:
    """Return the nights of all baselines, newest first."""
    found = {n.run_id: n for baseline in baselines for n in baseline.nights}
    return sorted(found.values(), key=lambda n: (n.created_at, n.run_id), reverse=True)


def _notes(night: Night, before: Sequence[Night], baselines: Sequence[Baseline]) -> Iterable[str]:
    if not before:
        yield "This is the first night, so that there is nothing to compare it with."
        return
    for baseline in baselines:
        if not baseline.nights:
            yield (
                f"No earlier night is comparable for {baseline.agent}: judge, tools' services, "
                "success rule, scorer and the agent's own settings must be the same, and at least "
                "one task."
            )
        elif baseline.has_other_tasks:
            had = len(cells_of(night, baseline.agent))
            yield (
                f"The nights that {baseline.agent} is compared with had other tasks: "
                f"{len(baseline.tasks)} of {had} are the same and are compared."
            )
    compared = [b for b in baselines if b.nights]
    if compared and max(len(b.nights) for b in compared) == 1:
        yield (
            "There is only one comparable night: how much nights differ as a whole is not known, "
            "and the intervals hold the variation of trials alone."
        )
    elif compared:
        yield (
            f"Compared with the mean of up to {BASELINE_NIGHTS} comparable nights; the intervals "
            "hold for these very tasks."
        )
