"""What a night means against the last comparable ones: alarms, clusters, errors, cost and time."""

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean

import numpy as np

from quality.history.categories import category_estimates
from quality.history.comparable import (
    BASELINE_NIGHTS,
    Baseline,
    baseline_of,
    cells_of,
    differing,
    earlier,
)
from quality.history.comparisons import (
    FALSE_ALARMS,
    ScopeComparison,
    TaskComparison,
    corrected,
    first_limit,
    scope_comparisons,
    task_comparisons,
    with_trials_of,
)
from quality.history.efforts import cluster_changes, effort_changes, error_changes
from quality.history.flags import competing, repeated
from quality.history.noise import Difference
from quality.history.scores import AgentScores, agent_scores
from taskdata.schema.night import Morning, Night, NightCell, ScoreChange
from taskdata.schema.summary import Estimate

_ORDER = ("confirmed", "suspected", "refuted", "lasting", "none")
_CONFIRMED_P = 0.05

Again = Mapping[str, NightCell]
"""An agent's cells of confirming re-runs, by task id."""


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
    changes, floor = _changes(night, scores, reruns)
    nights = _union(baselines)
    return Morning(
        run_id=night.run_id,
        baseline=tuple(n.run_id for n in nights),
        differs=differing(before[0], night) if before else {},
        changes=changes,
        clusters=cluster_changes(night, nights),
        efforts=effort_changes(scores),
        errors=error_changes(night, nights),
        categories=category_estimates(night),
        noise_floor=floor,
        false_alarm_rate=FALSE_ALARMS,
        notes=tuple(_notes(night, before, baselines)),
    )


def confirmed_regressions(morning: Morning) -> list[ScoreChange]:
    """Return the changes for the worse that a confirming re-run has shown, too."""
    return [c for c in morning.changes if c.verdict == "confirmed" and c.after < c.before]


def _changes(
    night: Night, scores: Sequence[AgentScores], reruns: Sequence[Night]
) -> tuple[tuple[ScoreChange, ...], float | None]:
    """Return the comparisons to show, and the least difference over all tasks that is an alarm."""
    again = {s.agent: _merged(s.agent, reruns) for s in scores}
    scopes = [c for s in scores for c in scope_comparisons(s)]
    alone = [c for s in scores for c in task_comparisons(s)]
    both = [with_trials_of(c, again[c.scores.agent]) for c in alone]
    run_id = reruns[0].run_id if reruns else None
    p_values = corrected([*scopes, *alone])
    with_rerun = corrected(both)
    changes, floors = [], []
    for comparison, p_value in zip(scopes, p_values, strict=False):
        floor = comparison.difference.floor(first_limit(comparison.kind, scopes))
        if comparison.kind == "all":
            floors.append(floor)
        changes.append(_scope_change(comparison, p_value, floor, again, run_id))
    shown = zip(alone, both, p_values[len(scopes) :], with_rerun, strict=True)
    for first, second, p_first, p_second in shown:
        if first.is_flip or p_first <= FALSE_ALARMS:
            changes.append(_task_change(first, second, p_first, p_second, again, run_id))
    changes.sort(key=_order)
    return tuple(changes), min(floors, default=None)


def _order(change: ScoreChange) -> tuple[int, bool, float]:
    return _ORDER.index(change.verdict), change.scope.startswith("task"), change.p_value or 0.0


def _scope_change(
    comparison: ScopeComparison,
    p_value: float,
    floor: float,
    again: Mapping[str, Again],
    run_id: str | None,
) -> ScoreChange:
    scores, found = comparison.scores, comparison.difference
    index = scores.index(comparison.category)
    verdict, since, rerun = "none", None, None
    if p_value <= FALSE_ALARMS:
        since = comparison.since
        verdict = "suspected" if since is None else "lasting"
    if verdict == "suspected":
        rerun = _rerun(comparison, again[scores.agent])
        if rerun is not None:
            verdict = "confirmed" if _shows(rerun, found) else "refuted"
    return ScoreChange(
        agent=scores.agent,
        scope=comparison.scope,
        tasks=found.tasks,
        before=found.before,
        after=found.after,
        difference=_estimate(found),
        p_value=p_value,
        floor=max(floor, 0.0),
        success_before=scores.success(index),
        success_after=scores.success_after(index),
        verdict=verdict,
        since=since,
        confirmed_by=None if rerun is None else run_id,
        rerun=None if rerun is None else _estimate(rerun),
    )


def _rerun(comparison: ScopeComparison, again: Again) -> Difference | None:
    """Return the difference over the scope's tasks in the confirming re-run, where it had them."""
    scores = comparison.scores
    names = scores.tasks
    wanted = set(repeated(names[i] for i in scores.index(comparison.category)))
    after = scores.scores_of(again)
    index = np.array([i for i, t in enumerate(names) if t in wanted and not np.isnan(after[i])])
    if 2 * len(index) <= len(wanted):
        return None
    cells = [again[names[i]] for i in index]
    return scores.noise.again(index, after, scores.share_of(cells))


def _shows(rerun: Difference, found: Difference) -> bool:
    """Return whether the re-run differs in the same direction, by a one-sided test at 0.05."""
    return rerun.mean * found.mean > 0 and rerun.p_value / 2 <= _CONFIRMED_P


def _task_change(
    first: TaskComparison,
    second: TaskComparison,
    p_first: float,
    p_second: float,
    again: Mapping[str, Again],
    run_id: str | None,
) -> ScoreChange:
    scores, i = first.scores, first.index
    was_rerun = len(second.after) > len(first.after)
    p_value, verdict = (p_second, "none") if was_rerun else (p_first, "none")
    if p_value <= FALSE_ALARMS:
        verdict = "confirmed" if was_rerun else "suspected"
    elif was_rerun and not second.is_flip:
        verdict = "refuted"
    nights = [cells[i] for cells in scores.before]
    last = next(cell for cell in nights if cell is not None)
    rerun = again[scores.agent].get(first.task) if was_rerun else None
    before = _known(nights)
    after = _known([scores.after[i]])
    return ScoreChange(
        agent=scores.agent,
        scope=first.scope,
        tasks=1,
        before=fmean(before),
        after=fmean(after),
        difference=_alone(after, before),
        p_value=p_value,
        success_before=fmean(first.before),
        success_after=fmean(first.after),
        verdict=verdict,
        confirmed_by=run_id if was_rerun else None,
        rerun=None if rerun is None else _alone(_known([rerun]), before),
        before_trials=last.trial_ids,
        after_trials=scores.after[i].trial_ids,
    )


def _alone(after: Sequence[float], before: Sequence[float]) -> Estimate:
    """Return the difference of one task; its few trials give no interval worth the name."""
    return Estimate(mean=fmean(after) - fmean(before), ci95=None, n=len(after))


def _known(cells: Iterable[NightCell | None]) -> list[float]:
    return [s for cell in cells if cell is not None for s in cell.scores if s is not None]


def _estimate(found: Difference) -> Estimate:
    return Estimate(mean=found.mean, ci95=found.ci95, n=found.tasks)


def _merged(agent: str, reruns: Sequence[Night]) -> dict[str, NightCell]:
    return {task: cell for night in reruns for task, cell in cells_of(night, agent).items()}


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
