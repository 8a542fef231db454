"""Output of the CLI: Rich for people, JSON for programs, errors in one line."""

import json
import logging
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TextIO

from rich.console import Console
from rich.markup import escape
from rich.text import Text

from dashboards.visible_text import visible

debug = False
"""Whether `--debug` was given."""

out = Console(highlight=False, soft_wrap=True)
"""As wide as COLUMNS says, else as the terminal; 80 columns where there is neither."""
err = Console(stderr=True, highlight=False, soft_wrap=True)


def say(text: str) -> None:
    """Write one line for people; `text` is plain, never markup, and unseen characters show."""
    out.print(_plain(text))


def paragraph(text: str) -> None:
    """Write sentences for people, folded at words where the terminal ends."""
    out.print(_plain(text), soft_wrap=False)


def note(text: str) -> None:
    """Write one line for people beside the output, which a program may be reading."""
    _write_error(_plain(text))


def ask(question: str) -> str:
    """Ask a person at the terminal and return the line as it was typed; EOFError at its end."""
    return out.input(_plain(question))


def error(text: str) -> None:
    """Write one line of error."""
    line = " ".join(text.split())
    _write_error(f"[bold red]error:[/bold red] {_plain(line)}")


def write_json(value: Any) -> None:
    """Write one JSON document on standard output, and nothing else."""
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def table(
    rows: Sequence[Mapping[str, str]],
    title: str = "",
    apart: Sequence[Mapping[str, str]] = (),
    optional: Sequence[str] = (),
) -> None:
    """Write rows as a table that fits the terminal, those of `apart` below a line.

    Where it is too wide, `optional` columns are left out, the first ones first, and it is said.
    Columns without any content are left out, too.
    """
    if not rows and not apart:
        say(f"{title}: nothing" if title else "nothing")
        return
    from flows.cli import tables

    if title:
        heading(title)
    everything = _safe([*rows, *apart])
    empty = [name for name in everything[0] if not any(row[name] for row in everything)]
    left_out = tables.fitting(_safe(everything, empty), optional, out.width)
    hidden = (*empty, *left_out)
    for part in tables.table(_safe(rows, hidden), _safe(apart, hidden), out.width):
        out.print(part, soft_wrap=False)
        out.print()
    if left_out:
        paragraph(f"Left out in {out.width} columns: {', '.join(left_out)}; --json has everything")


def heading(text: str) -> None:
    """Write a line that says what follows."""
    out.print(f"[bold]{_plain(text)}[/bold]")


def block(text: str, indent: int = 2) -> None:
    """Write untrusted text, indented and wrapped to the width of the terminal."""
    # A `Text` has no markup, so what is visible in it is safe. It is wrapped here, for Rich would
    # fill every line with spaces, which a person copies.
    whole = Text(visible(text).expandtabs(4))
    for line in whole.wrap(out, max(out.width - indent, 20), no_wrap=False):
        line.rstrip()
        out.print(Text(" " * indent if line else "") + line)


@contextmanager
def counting(what: str, total: int) -> Iterator[Callable[[], None]]:
    """Yield a function to call once for each of `total` that is done; a terminal shows a bar."""
    if not err.is_terminal:
        yield lambda: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (TextColumn(_plain(what)), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=err, transient=True) as progress:
        bar = progress.add_task(what, total=total)
        yield lambda: progress.advance(bar)


@contextmanager
def doing(what: str) -> Iterator[Callable[[str], None]]:
    """Yield a function that shows its argument, the current step, on a terminal."""
    if not err.is_terminal:
        yield lambda now: None
        return
    with err.status(_plain(what)) as status:
        yield lambda now: status.update(_plain(f"{what}: {now}"))


def _safe(rows: Sequence[Mapping[str, str]], left_out: Sequence[str] = ()) -> list[dict[str, str]]:
    return [{k: visible(str(v)) for k, v in row.items() if k not in left_out} for row in rows]


def _write_error(markup: str) -> None:
    # Through `sys.stderr`, and not as a console writes: while bars are shown, Rich has put there
    # what places a line above them.
    with err.capture() as line:
        err.print(markup)
    sys.stderr.write(line.get())


class LogLines(logging.StreamHandler[TextIO]):
    """Writes log records to standard error: sentences for a person, JSON for a program.

    Below the level of errors only the workers' warnings are shown: this process reports its own
    progress itself.
    """

    def __init__(self, level: int) -> None:
        super().__init__()
        if err.is_terminal:
            self.setFormatter(logging.Formatter("%(levelname)s: %(message)s"))
        else:
            from pythonjsonlogger.json import JsonFormatter

            self.setFormatter(JsonFormatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
        self.setLevel(min(level, logging.WARNING))
        self.addFilter(lambda record: record.levelno >= level or record.process != os.getpid())

    @property
    def stream(self) -> TextIO:
        """Standard error as it is now."""
        return sys.stderr

    @stream.setter
    def stream(self, value: TextIO) -> None:
        """Keep to standard error."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as one safe text: agents' words may be in it."""
        return visible(super().format(record))


def _plain(text: str) -> str:
    # Whatever a seed, a model or an agent wrote must neither style nor steer the terminal.
    return escape(visible(text))
