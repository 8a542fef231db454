"""What a confirming re-run repeats: the flagged agents on the flagged tasks alone."""

import hashlib
from collections.abc import Iterable, Sequence

from quality.history.comparable import baseline_of
from quality.history.comparisons import (
    WORTH_A_RERUN,
    Comparison,
    ScopeComparison,
    TaskComparison,
    corrected,
    scope_comparisons,
    task_comparisons,
)
from quality.history.scores import agent_scores
from taskdata.schema.night import Night

TASKS_AGAIN = 60
"""So many tasks of a scope are run again at most, always the same ones."""
FLIPS_AGAIN = 10
"""So many flipped tasks of an agent are run again at most, the most certain ones."""
_FLIP_P = 0.05
"""A flip is worth another look where it would come by chance less often than that."""
_STEADY = 3
"""Or where so many trials before it all agreed."""


def flagged(night: Night, history: Sequence[Night]) -> dict[str, tuple[str, ...]]:
    """Return the tasks that a confirming re-run of `night` repeats, by agent.

    These are tasks of the scopes whose difference is new and may be outside the noise, and tasks
    that have flipped. More scopes are run again than raise an alarm by themselves: the re-run and
    the night together decide, so that a regression is found with fewer tasks. Which tasks of a
    large scope are taken does not depend on their scores: choosing those that differ most would
    choose what differs by chance.
    """
    found = {}
    comparisons: list[Comparison] = []
    for agent in competing(night):
        scores = agent_scores(night, baseline_of(night, history, agent))
        if scores is not None:
            comparisons += [*scope_comparisons(scores), *task_comparisons(scores)]
    alarms = [
        c for c, p in zip(comparisons, corrected(comparisons), strict=True) if p <= WORTH_A_RERUN
    ]
    for agent in competing(night):
        own = [c for c in comparisons if c.scores.agent == agent]
        tasks = _tasks_of_scopes(c for c in alarms if c.scores.agent == agent)
        tasks |= _flips(c for c in own if isinstance(c, TaskComparison))
        if tasks:
            found[agent] = tuple(sorted(tasks))
    return found


def competing(night: Night) -> list[str]:
    """Return the night's agents that are no controls, in their order."""
    return [agent for agent in night.settings.agents if agent not in night.controls]


def repeated(tasks: Iterable[str]) -> list[str]:
    """Return the tasks of a scope that a confirming re-run repeats, whatever their scores are."""
    by_hash = sorted(tasks, key=lambda task: hashlib.sha256(task.encode()).hexdigest())
    return sorted(by_hash[:TASKS_AGAIN])


def _tasks_of_scopes(alarms: Iterable[Comparison]) -> set[str]:
    tasks: set[str] = set()
    for alarm in alarms:
        if isinstance(alarm, ScopeComparison) and alarm.since is None:
            index = alarm.scores.index(alarm.category)
            tasks.update(repeated(alarm.scores.tasks[i] for i in index))
    return tasks


def _flips(comparisons: Iterable[TaskComparison]) -> set[str]:
    worth = [
        c
        for c in comparisons
        if c.is_flip
        and (c.p_value <= _FLIP_P or (len(c.before) >= _STEADY and len(set(c.before)) == 1))
    ]
    return {c.task for c in sorted(worth, key=lambda c: (c.p_value, c.task))[:FLIPS_AGAIN]}
