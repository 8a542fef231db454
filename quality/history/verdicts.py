"""Verdicts: which differences of a night are alarms, and what a confirming re-run makes of them.

Without a re-run an alarm is `suspected`. With one, a scope is `confirmed` where the re-run alone
differs in the same direction (one-sided, at 0.05) and the night and the re-run together are still
outside the noise after correction for all comparisons; otherwise what was suspected is `refuted`.
As the last condition alone keeps the share of false alarms, looking twice raises no more of them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean

import numpy as np

from quality.history.comparable import cells_of
from quality.history.comparisons import (
    FALSE_ALARMS,
    LEAST_DIFFERENCE,
    ScopeComparison,
    TaskComparison,
    corrected,
    first_limit,
    scope_comparisons,
    task_comparisons,
    with_trials_of,
)
from quality.history.flags import repeated
from quality.history.noise import Difference
from quality.history.scores import AgentScores, known_scores
from taskdata.schema.estimate import Estimate
from taskdata.schema.night import Night, NightCell, ScoreChange

_ORDER = ("confirmed", "suspected", "refuted", "lasting", "none")
_SHOWN_AGAIN = 0.05

Again = Mapping[str, NightCell]
"""An agent's cells of a confirming re-run, by task id."""


def score_changes(scores: Sequence[AgentScores], reruns: Sequence[Night]) -> list[ScoreChange]:
    """Return the comparisons over all tasks and by category, and of tasks those that flipped.

    Args:
        scores: What is compared, by agent.
        reruns: The confirming re-runs of the night.
    """
    run_id = reruns[0].run_id if reruns else None
    again = {s.agent: _merged(s.agent, reruns) for s in scores}
    scopes = [c for s in scores for c in scope_comparisons(s)]
    tasks = [c for s in scores for c in task_comparisons(s)]
    repeated_scopes = [_rerun(c, again[c.scores.agent]) for c in scopes]
    first = corrected([*scopes, *tasks])
    second = corrected(
        [
            *(c if r is None else r[1] for c, r in zip(scopes, repeated_scopes, strict=True)),
            *(with_trials_of(c, again[c.scores.agent]) for c in tasks),
        ]
    )
    changes = [
        _scope_change(
            c,
            None if r is None else r[0],
            (first[i], second[i]),
            first_limit(c.kind, scopes),
            run_id,
        )
        for i, (c, r) in enumerate(zip(scopes, repeated_scopes, strict=True))
    ]
    for i, task in enumerate(tasks, len(scopes)):
        if task.is_flip or first[i] <= FALSE_ALARMS:
            cell = again[task.scores.agent].get(task.task)
            changes.append(_task_change(task, cell, (first[i], second[i]), run_id))
    return sorted(changes, key=_order)


def _order(change: ScoreChange) -> tuple[int, bool, float]:
    return _ORDER.index(change.verdict), change.scope.startswith("task"), change.p_value or 0.0


def _scope_change(
    comparison: ScopeComparison,
    rerun: Difference | None,
    p_values: tuple[float, float],
    limit: float,
    run_id: str | None,
) -> ScoreChange:
    scores, found = comparison.scores, comparison.difference
    index = scores.index(comparison.category)
    verdict = _scope_verdict(comparison, rerun, p_values, limit)
    return ScoreChange(
        agent=scores.agent,
        scope=comparison.scope,
        tasks=found.tasks,
        before=found.before,
        after=found.after,
        difference=_estimate(found),
        p_value=p_values[0 if rerun is None else 1],
        floor=max(LEAST_DIFFERENCE, found.floor(limit)),
        success_before=scores.success(index),
        success_after=scores.success_after(index),
        verdict=verdict,
        since=comparison.since if verdict == "lasting" else None,
        confirmed_by=None if rerun is None else run_id,
        rerun=None if rerun is None else _estimate(rerun),
    )


def _scope_verdict(
    comparison: ScopeComparison,
    rerun: Difference | None,
    p_values: tuple[float, float],
    limit: float,
) -> str:
    first, second = p_values
    is_beyond_noise = first <= FALSE_ALARMS or comparison.p_value_of_older <= limit
    if comparison.since is not None and is_beyond_noise:
        return "lasting"
    if rerun is not None and second <= FALSE_ALARMS and _shows(rerun, comparison.difference):
        return "confirmed"
    if first > FALSE_ALARMS:
        return "none"
    return "suspected" if rerun is None else "refuted"


def _shows(rerun: Difference, found: Difference) -> bool:
    """Return whether the re-run differs in the same direction."""
    return rerun.mean * found.mean > 0 and rerun.p_value / 2 <= _SHOWN_AGAIN


def _rerun(comparison: ScopeComparison, again: Again) -> tuple[Difference, ScopeComparison] | None:
    """Return the difference in the re-run alone, and the comparison of night and re-run together.

    None where the scope was not run again, or less than half of it.
    """
    scores, names = comparison.scores, comparison.scores.tasks
    wanted = set(repeated(names[i] for i in scores.index(comparison.category)))
    index = np.array(
        [i for i, t in enumerate(names) if t in wanted and t in again and known_scores([again[t]])]
    )
    if 2 * len(index) <= len(wanted):
        return None
    alone = scores.again(index, again)
    both = {
        names[i]: again[names[i]].model_copy(
            update={"scores": (*scores.after[i].scores, *again[names[i]].scores)}
        )
        for i in index
    }
    return alone, replace(comparison, difference=scores.again(index, both))


def _task_change(
    task: TaskComparison,
    rerun: NightCell | None,
    p_values: tuple[float, float],
    run_id: str | None,
) -> ScoreChange:
    scores, i = task.scores, task.index
    nights = [cells[i] for cells in scores.before]
    last = next(cell for cell in nights if cell is not None)
    before, after = known_scores(nights), known_scores([scores.after[i]])
    again = [] if rerun is None else known_scores([rerun])
    return ScoreChange(
        agent=scores.agent,
        scope=task.scope,
        tasks=1,
        before=fmean(before),
        after=fmean(after),
        difference=_alone(after, before),
        p_value=p_values[1 if again else 0],
        success_before=fmean(task.before),
        success_after=fmean(task.after),
        verdict=_task_verdict(task, rerun if again else None, p_values),
        confirmed_by=run_id if again else None,
        rerun=_alone(again, before) if again else None,
        before_trials=last.trial_ids,
        after_trials=scores.after[i].trial_ids,
    )


def _task_verdict(
    task: TaskComparison, rerun: NightCell | None, p_values: tuple[float, float]
) -> str:
    if rerun is None:
        return "suspected" if p_values[0] <= FALSE_ALARMS else "none"
    if not with_trials_of(task, {task.task: rerun}).is_flip:
        return "refuted"
    return "confirmed" if p_values[1] <= FALSE_ALARMS else "none"


def _alone(after: Sequence[float], before: Sequence[float]) -> Estimate:
    """Return the difference of one task; its few trials give no interval worth the name."""
    return Estimate(mean=fmean(after) - fmean(before), ci95=None, n=len(after))


def _estimate(found: Difference) -> Estimate:
    return Estimate(mean=found.mean, ci95=found.ci95, n=found.tasks)


def _merged(agent: str, reruns: Sequence[Night]) -> dict[str, NightCell]:
    return {task: cell for night in reruns for task, cell in cells_of(night, agent).items()}
