"""One agent's scores in a night and in its baseline nights, in the shape that statistics need."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean

import numpy as np

from quality.history.comparable import Baseline, Cells, cells_of
from quality.history.noise import Difference, Noise, Tasks
from taskdata.schema.night import Night, NightCell


@dataclass(frozen=True)
class AgentScores:
    """What is compared of one agent; lists are by task, in the order of `tasks`."""

    agent: str
    tasks: tuple[str, ...]
    categories: tuple[str, ...]
    nights: tuple[Night, ...]
    """Baseline nights, newest first."""
    after: tuple[NightCell, ...]
    before: tuple[tuple[NightCell | None, ...], ...]
    """By baseline night."""

    @cached_property
    def noise(self) -> Noise:
        """The mean scores by task, with what chance makes of them."""
        before = np.array([[_mean(cell) for cell in cells] for cells in self.before])
        after = np.array([_mean(cell) for cell in self.after])
        share = self._repetitions / max(1.0, fmean(map(_scored, self.after)))
        return Noise(after, before, self.categories, share)

    def again(self, index: Tasks, cells: Cells) -> Difference:
        """Return the difference over these tasks in other trials than the night's own.

        Args:
            index: Of the tasks; each of them has a score there.
            cells: The other trials by task id.
        """
        scores = np.array([_mean(cells.get(task)) for task in self.tasks])
        share = self._repetitions / fmean(_scored(cells[self.tasks[i]]) for i in index)
        return self.noise.again(index, scores, share)

    @cached_property
    def _repetitions(self) -> float:
        known = [n for cells in self.before for cell in cells if (n := _scored(cell))]
        return fmean(known)

    def before_the_last(self, nights: int) -> "AgentScores":
        """Return the same without so many of the newest baseline nights.

        Tasks that the other nights do not have are left out.
        """
        rows = self.before[nights:]
        kept = [i for i in range(len(self.tasks)) if any(_scored(row[i]) for row in rows)]
        return AgentScores(
            agent=self.agent,
            tasks=tuple(self.tasks[i] for i in kept),
            categories=tuple(self.categories[i] for i in kept),
            nights=self.nights[nights:],
            after=tuple(self.after[i] for i in kept),
            before=tuple(tuple(row[i] for i in kept) for row in rows),
        )

    def index(self, category: str | None) -> Tasks:
        """Return the indices of the tasks of a category; None: of all tasks."""
        if category is None:
            return np.arange(len(self.tasks))
        return np.flatnonzero(np.array(self.categories) == category)

    def success(self, index: Iterable[int]) -> float | None:
        """Return the share (0-1) of the baseline nights' decided trials that succeeded there."""
        return success_share(row[i] for i in index for row in self.before)

    def success_after(self, index: Iterable[int]) -> float | None:
        """Return the same of the night itself."""
        return success_share(self.after[i] for i in index)


def agent_scores(night: Night, baseline: Baseline) -> AgentScores | None:
    """Return what is compared of the baseline's agent; None where there is nothing."""
    if not baseline.tasks:
        return None
    category = {task.task_id: task.category for task in night.tasks}
    own = cells_of(night, baseline.agent)
    return AgentScores(
        agent=baseline.agent,
        tasks=baseline.tasks,
        categories=tuple(category[task] for task in baseline.tasks),
        nights=baseline.nights,
        after=tuple(own[task] for task in baseline.tasks),
        before=tuple(_alike(before, baseline, night.task_hashes) for before in baseline.nights),
    )


def known_scores(cells: Iterable[NightCell | None]) -> list[float]:
    """Return the root scores of these cells' trials that have one."""
    return [s for cell in cells if cell is not None for s in cell.scores if s is not None]


def successes(cells: Iterable[NightCell | None]) -> list[bool]:
    """Return which decided trials of these cells succeeded."""
    return [s for cell in cells if cell is not None for s in cell.successes if s is not None]


def success_share(cells: Iterable[NightCell | None]) -> float | None:
    """Return the share (0-1) of decided trials that succeeded; None where none is decided."""
    decided = successes(cells)
    return fmean(decided) if decided else None


def _alike(
    night: Night, baseline: Baseline, hashes: Mapping[str, str]
) -> tuple[NightCell | None, ...]:
    """Return the cells of the tasks that have the same content in this night."""
    cells, own = cells_of(night, baseline.agent), night.task_hashes
    return tuple(
        cells.get(task) if own.get(task) == hashes[task] else None for task in baseline.tasks
    )


def _scored(cell: NightCell | None) -> int:
    return 0 if cell is None else cell.scored


def _mean(cell: NightCell | None) -> float:
    return math.nan if cell is None or cell.mean is None else cell.mean
