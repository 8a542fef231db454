"""The comparisons of one morning, corrected for their number.

Three kinds of comparison are made of every agent that competes: over all tasks, over each category,
and of each task alone. Each kind has its part of the share of mornings that may raise a false alarm
(weighted Bonferroni), and within a kind Benjamini and Hochberg (1995) correct, who keep that share
where nothing has changed at all (`scipy.stats.false_discovery_control`). Corrected p-values are
scaled so that 0.05 is the limit for every kind.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import takewhile

import numpy as np

from quality.history.noise import Difference
from quality.history.scores import AgentScores, successes
from taskdata.schema.night import NightCell

FALSE_ALARMS = 0.05
"""Expected share of mornings without any real change that raise an alarm, at most."""
PARTS = {"all": 0.4, "category": 0.5, "task": 0.1}
"""Of these, by kind of comparison."""
WORTH_A_RERUN = 0.2
"""Where nights are confirmed, a corrected p-value up to this has a scope run again."""
LEAST_DIFFERENCE = 0.1
"""No smaller difference of mean root scores (0-10) is an alarm, however certain it is."""
FEWEST_TASKS = 3
"""A scope with fewer tasks is not compared."""
_ONE_TASK_IS_NOT_ALL = 0.05


@dataclass(frozen=True)
class ScopeComparison:
    """An agent over all tasks, or over those of a category."""

    scores: AgentScores
    category: str | None
    difference: Difference

    @property
    def kind(self) -> str:
        """`all` or `category`."""
        return "all" if self.category is None else "category"

    @property
    def scope(self) -> str:
        """Its name on a morning."""
        return "all" if self.category is None else f"category {self.category}"

    @cached_property
    def p_value(self) -> float:
        """Not corrected; 1 where the difference is too small, or rests on one task alone."""
        found = self.difference
        rests_on_one = (found.without_extreme or 0.0) > _ONE_TASK_IS_NOT_ALL
        small = abs(found.mean) < LEAST_DIFFERENCE
        return 1.0 if small or rests_on_one else found.p_value

    @cached_property
    def since(self) -> str | None:
        """The first of the nights in a row before this one that were at its level already.

        Such a night is twice as near to this one as to the oldest baseline night. None: this night
        is the first at its level, as far as the baseline nights show.
        """
        count = self._nights_alike
        return self.scores.nights[count - 1].run_id if count else None

    @cached_property
    def p_value_of_older(self) -> float:
        """Not corrected: against the baseline nights before `since` alone; 1 where there is none.

        Nights at the same level would pass for noise of nights, and hide that there was a change.
        """
        if not self._nights_alike:
            return 1.0
        older = self.scores.before_the_last(self._nights_alike)
        index = older.index(self.category)
        if len(index) < FEWEST_TASKS:
            return 1.0
        return replace(self, scores=older, difference=older.noise.difference(index)).p_value

    @cached_property
    def _nights_alike(self) -> int:
        index, noise = self.scores.index(self.category), self.scores.noise
        now = float(np.mean(noise.after[index]))
        rows = [np.nanmean(row[index]) for row in noise.before if not np.isnan(row[index]).all()]
        alike = [2 * abs(row - now) < abs(row - rows[-1]) for row in rows]
        count = len(list(takewhile(bool, alike)))
        return count if len(rows) == len(noise.before) > count else 0


@dataclass(frozen=True)
class TaskComparison:
    """An agent on one task, by how many of its trials succeeded."""

    scores: AgentScores
    index: int
    after: tuple[bool, ...]
    """Decided trials of the night, and of a confirming re-run beside them."""
    before: tuple[bool, ...]

    kind = "task"

    @property
    def task(self) -> str:
        """Its id."""
        return self.scores.tasks[self.index]

    @property
    def scope(self) -> str:
        """Its name on a morning."""
        return f"task {self.task}"

    @property
    def is_flip(self) -> bool:
        """Whether most trials succeeded before and most do not now, or the other way round."""
        return _mostly(self.before) is not None and _mostly(self.after) is (
            not _mostly(self.before)
        )

    @cached_property
    def p_value(self) -> float:
        """Not corrected: Fisher's exact test on successes and failures, before and after."""
        won, lost = sum(self.after), sum(self.before)
        return _fisher(won, len(self.after) - won, lost, len(self.before) - lost)


Comparison = ScopeComparison | TaskComparison


def scope_comparisons(scores: AgentScores) -> list[ScopeComparison]:
    """Return the comparisons over all tasks and over each category that has enough of them."""
    names = [None, *sorted(set(scores.categories))]
    found = ((name, scores.index(name)) for name in names)
    return [
        ScopeComparison(scores, name, scores.noise.difference(index))
        for name, index in found
        if len(index) >= FEWEST_TASKS
    ]


def task_comparisons(scores: AgentScores) -> list[TaskComparison]:
    """Return the comparisons of single tasks with decided trials on both sides."""
    columns = zip(scores.after, *scores.before, strict=True)
    found = (
        TaskComparison(scores, i, tuple(successes([after])), tuple(successes(before)))
        for i, (after, *before) in enumerate(columns)
    )
    return [c for c in found if c.after and c.before]


def with_trials_of(comparison: TaskComparison, again: Mapping[str, NightCell]) -> TaskComparison:
    """Return the comparison with the trials of a confirming re-run beside those of the night."""
    rerun = again.get(comparison.task)
    if rerun is None:
        return comparison
    return replace(comparison, after=(*comparison.after, *successes([rerun])))


def corrected(comparisons: Sequence[Comparison]) -> list[float]:
    """Return the corrected p-value of each comparison; an alarm is one of 0.05 and below."""
    values = np.ones(len(comparisons))
    for kind, part in PARTS.items():
        index = [i for i, c in enumerate(comparisons) if c.kind == kind]
        if index:
            raw = [comparisons[i].p_value for i in index]
            values[index] = np.minimum(1.0, _benjamini_hochberg(raw) / part)
    return [float(value) for value in values]


def first_limit(kind: str, comparisons: Iterable[Comparison]) -> float:
    """Return how small the smallest of the p-values of that kind must be to be an alarm."""
    number = sum(c.kind == kind for c in comparisons)
    return FALSE_ALARMS * PARTS[kind] / max(1, number)


def _benjamini_hochberg(values: Sequence[float]) -> np.ndarray:
    from scipy.stats import false_discovery_control

    return np.asarray(false_discovery_control(values, method="bh"))


def _mostly(outcomes: Sequence[bool]) -> bool | None:
    """Return whether more than half of them are true; None where it is just half, or none."""
    twice = 2 * sum(outcomes)
    return None if twice == len(outcomes) else twice > len(outcomes)


@lru_cache(maxsize=4096)
def _fisher(won_after: int, lost_after: int, won_before: int, lost_before: int) -> float:
    from scipy.stats import fisher_exact

    table = [[won_after, lost_after], [won_before, lost_before]]
    return float(fisher_exact(table).pvalue)
