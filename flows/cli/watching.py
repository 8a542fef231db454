"""Progress of a run: bars over the trials at a terminal, plain lines elsewhere."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)

from flows.cli import console
from flows.progress import progress
from taskdata.schema.run import StageReport


class PlainLines:
    """One line when a stage begins, at every quarter, and when it ends."""

    def __init__(self) -> None:
        self._totals: dict[str, int] = {}
        self._quarters: dict[str, int] = {}

    def started(self, stage: str, total: int) -> None:
        """Say how much is due."""
        self._totals[stage] = total
        self._quarters[stage] = 0
        console.say(f"{stage}: {total} trials due")

    def advanced(self, stage: str, done: int) -> None:
        """Say so at each quarter."""
        total = self._totals[stage]
        quarter = 4 * done // total if total else 4
        if quarter > self._quarters[stage] and done < total:
            self._quarters[stage] = quarter
            console.say(f"{stage}: {done}/{total}")

    def ended(self, stage: str, report: StageReport) -> None:
        """Say how it went."""
        console.say(_sentence(stage, report))


class Bars:
    """A bar per stage that works on trials, a line per stage that has ended."""

    def __init__(self, bars: Progress) -> None:
        self._bars = bars
        self._tasks: dict[str, TaskID] = {}

    def started(self, stage: str, total: int) -> None:
        """Add the stage's bar."""
        if total:
            self._tasks[stage] = self._bars.add_task(stage, total=total)

    def advanced(self, stage: str, done: int) -> None:
        """Move the bar."""
        self._bars.update(self._tasks[stage], completed=done)

    def ended(self, stage: str, report: StageReport) -> None:
        """Replace the bar by a line."""
        task = self._tasks.pop(stage, None)
        if task is not None:
            self._bars.remove_task(task)
        self._bars.console.print(_sentence(stage, report), markup=False)


@contextmanager
def watched(*, quiet: bool = False) -> Iterator[None]:
    """Show the progress of every stage that runs in the block; in the log alone if `quiet`."""
    if quiet:
        yield
        return
    if not console.out.is_terminal:
        token = progress.set(PlainLines())
        try:
            yield
        finally:
            progress.reset(token)
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console.out, transient=True) as bars:
        token = progress.set(Bars(bars))
        try:
            yield
        finally:
            progress.reset(token)


def _sentence(stage: str, report: StageReport) -> str:
    counts = f"{report.done}/{report.due} done" if report.due else "done"
    errors = f", {report.errors} infrastructure errors" if report.errors else ""
    note = f" - {report.note}" if report.note else ""
    return f"{stage}: {counts}{errors} in {report.seconds:.1f} s{note}"
