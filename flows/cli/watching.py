"""Progress of a run: bars over the trials at a terminal, plain lines elsewhere."""

import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn

from flows.cli import console
from flows.progress import LoggedProgress
from flows.progress import Progress as Listener
from taskdata.schema.run import RunFigures, StageReport

if TYPE_CHECKING:
    from flows.config import Settings
    from taskdata.schema.run import RunConfig

Figures = Callable[[], RunFigures]
"""Asks the store for the numbers of the run as they are now."""

_SECONDS_BETWEEN_LOOKS = 5.0
_BAR_WIDTH = 8


class _Pace:
    """How fast a stage is, and what the run has come to, in a few words."""

    def __init__(self, total: int, figures: Figures | None) -> None:
        self._total = total
        self._figures = figures
        self._began = time.monotonic()
        self._looked_at = 0.0
        self._standing = ""

    def words(self, done: int, *, now: bool = False) -> str:
        """Return rate, time left, cost and score so far; the store is asked every few seconds."""
        parts = [self._rate(done), self._numbers(now=now)]
        return ", ".join(filter(None, parts))

    def _rate(self, done: int) -> str:
        seconds = time.monotonic() - self._began
        if not done or not seconds:
            return ""
        rate, left = 60 * done / seconds, seconds / done * (self._total - done)
        return f"{rate:.{0 if rate >= 10 else 1}f}/min, {_duration(left)} left"

    def _numbers(self, *, now: bool) -> str:
        if self._figures is None:
            return ""
        if now or time.monotonic() - self._looked_at >= _SECONDS_BETWEEN_LOOKS:
            self._standing = _standing(self._figures())
            self._looked_at = time.monotonic()
        return self._standing


class PlainLines:
    """One line when a stage begins, at every quarter, and when it ends."""

    def __init__(self, figures: Figures | None = None) -> None:
        self._figures = figures
        self._totals: dict[str, int] = {}
        self._quarters: dict[str, int] = {}
        self._paces: dict[str, _Pace] = {}

    def told(self, line: str) -> None:
        """Say it."""
        console.say(line)

    def started(self, stage: str, total: int) -> None:
        """Say how much is due."""
        self._totals[stage] = total
        self._quarters[stage] = 0
        self._paces[stage] = _Pace(total, self._figures)
        console.say(f"{stage}: {total} trials due")

    def advanced(self, stage: str, done: int) -> None:
        """Say so at each quarter."""
        total = self._totals[stage]
        quarter = 4 * done // total if total else 4
        if quarter > self._quarters[stage] and done < total:
            self._quarters[stage] = quarter
            words = self._paces[stage].words(done, now=True)
            console.say(f"{stage}: {done}/{total}, {words}")

    def ended(self, stage: str, report: StageReport) -> None:
        """Say how it went."""
        console.say(_sentence(stage, report))


class Bars:
    """A bar per stage that works on trials, a line per stage that has ended."""

    def __init__(self, bars: Progress, figures: Figures | None = None) -> None:
        self._bars = bars
        self._figures = figures
        self._tasks: dict[str, TaskID] = {}
        self._paces: dict[str, _Pace] = {}

    def told(self, line: str) -> None:
        """Write it above the bars."""
        self._bars.console.print(line, markup=False)

    def started(self, stage: str, total: int) -> None:
        """Add the stage's bar."""
        if total:
            self._paces[stage] = _Pace(total, self._figures)
            self._tasks[stage] = self._bars.add_task(stage, total=total, words="")

    def advanced(self, stage: str, done: int) -> None:
        """Move the bar."""
        words = self._paces[stage].words(done)
        self._bars.update(self._tasks[stage], completed=done, words=words)

    def ended(self, stage: str, report: StageReport) -> None:
        """Replace the bar by a line."""
        task = self._tasks.pop(stage, None)
        if task is not None:
            self._bars.remove_task(task)
        self._bars.console.print(_sentence(stage, report), markup=False)


@contextmanager
def watched(*, quiet: bool = False, figures: Figures | None = None) -> Iterator[Listener]:
    """Yield what shows the progress of stages within the block; in the log alone if `quiet`.

    Args:
        quiet: Show nothing.
        figures: What the run has come to so far, which is shown beside each stage's progress.
    """
    if quiet:
        yield LoggedProgress()
        return
    if not console.out.is_terminal:
        yield PlainLines(figures)
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(_BAR_WIDTH),
        MofNCompleteColumn(),
        TextColumn("{task.fields[words]}", markup=False),
    )
    # While bars are shown, whatever is written on standard error goes above them, unless that is
    # no terminal but a file.
    with Progress(
        *columns, console=console.out, transient=True, redirect_stderr=console.err.is_terminal
    ) as bars:
        yield Bars(bars, figures)


def figures_of(settings: "Settings", run_id: str, config: "RunConfig") -> Figures:
    """Return a function that asks the store for a run's figures; of controls it takes no score."""
    from taskdata.store import Store

    competing = {agent.name for agent in config.agents if not agent.is_control}

    def figures() -> RunFigures:
        with closing(Store(settings.address)) as store:
            found = store.figures(run_id).get(run_id, RunFigures())
        scores = {agent: mean for agent, mean in found.scores.items() if agent in competing}
        return found.model_copy(update={"scores": scores})

    return figures


def _standing(figures: RunFigures) -> str:
    cost = "cost unknown" if figures.cost_usd is None else f"${figures.cost_usd:.2f}"
    if not figures.scores:
        return cost
    return f"{cost}, best {max(figures.scores.values()):.2f}"


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.0f} s"
    if seconds < 3600:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def _sentence(stage: str, report: StageReport) -> str:
    counts = f"{report.done}/{report.due} done" if report.due else "done"
    errors = f", {report.errors} infrastructure errors" if report.errors else ""
    note = f" - {report.note}" if report.note else ""
    return f"{stage}: {counts}{errors} in {report.seconds:.1f} s{note}"
