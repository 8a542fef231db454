"""How the CLI speaks: Rich for people, JSON for programs, errors in one line."""

import json
import sys
from collections.abc import Sequence
from typing import Any

from rich.box import SIMPLE
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from dashboards.visible_text import visible

debug = False
"""Whether `--debug` was given."""

_PIPED_WIDTH = 160
"""Columns where there is no terminal to ask: wide enough for every table of ours."""

out = Console(highlight=False, soft_wrap=True, width=None if sys.stdout.isatty() else _PIPED_WIDTH)
err = Console(stderr=True, highlight=False, soft_wrap=True)


def say(text: str) -> None:
    """Write one line for people; `text` is plain, never markup, and unseen characters show."""
    out.print(_plain(text))


def note(text: str) -> None:
    """Write one line for people beside the output, which a program may be reading."""
    err.print(_plain(text))


def error(text: str) -> None:
    """Write one line of error."""
    line = " ".join(text.split())
    err.print(f"[bold red]error:[/bold red] {_plain(line)}")


def write_json(value: Any) -> None:
    """Write one JSON document on standard output, and nothing else."""
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def table(rows: Sequence[dict[str, str]], title: str = "") -> None:
    """Write rows as a table; wide tables fold their cells, none is cut."""
    if not rows:
        say(f"{title}: nothing" if title else "nothing")
        return
    if title:
        # Not as the table's own title, which folds at the table's width.
        out.print(f"[italic]{_plain(title)}[/italic]")
    grid = Table(header_style="bold", box=SIMPLE)
    for number, column in enumerate(rows[0]):
        grid.add_column(column, overflow="fold", no_wrap=number == 0)
    for row in rows:
        grid.add_row(*(_plain(str(value)) for value in row.values()))
    out.print(grid, soft_wrap=False)


def _plain(text: str) -> str:
    # Whatever a seed, a model or an agent wrote must neither style nor steer the terminal.
    return escape(visible(text))
