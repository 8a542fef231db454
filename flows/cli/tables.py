"""Tables that fit the terminal: columns as narrow as their words, or one block for each row."""

import re
from collections.abc import Mapping, Sequence

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import JustifyMethod
from rich.table import Table
from rich.text import Text

Row = Mapping[str, str]

_GAP = 2
"""Columns between two cells."""
_PROSE = 40
"""A column with cells longer than this holds sentences."""
_READABLE = 24
"""Columns that a sentence, or a name without spaces, needs at least to be read."""
_NUMBER = re.compile(r"[-<>$]*\d[\d.,]*( ?%| s)?|-")


def fitting(rows: Sequence[Row], optional: Sequence[str], width: int) -> tuple[str, ...]:
    """Return which of the `optional` columns to leave out, the first ones first, to fit."""
    for count in range(len(optional)):
        names = [name for name in rows[0] if name not in optional[:count]]
        if _widths(names, rows, width) is not None:
            return tuple(optional[:count])
    return tuple(optional)


def table(rows: Sequence[Row], apart: Sequence[Row], width: int) -> list[Table]:
    """Return the rows as a table of at most `width` columns, `apart` below a line.

    Where the columns do not fit side by side, each row becomes a block of its own with one line
    for each column. Nothing is cut: cells fold at words.
    """
    everything = [*rows, *apart]
    names = list(everything[0])
    widths = _widths(names, everything, width)
    if widths is None:
        return _blocks(everything, width)
    grid = Table(header_style="bold", box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    grid.padding = (0, _GAP - 1, 0, 0)
    for name, column_width in zip(names, widths, strict=True):
        cells = [row[name] for row in everything if row[name]]
        side: JustifyMethod = "right" if all(map(_NUMBER.fullmatch, cells)) else "left"
        grid.add_column(Text(name), width=column_width, overflow="fold", justify=side)
    for number, row in enumerate(everything, start=1):
        ends = number == len(rows) and bool(apart)
        grid.add_row(*map(Text, row.values()), end_section=ends)
    return [grid]


def _widths(names: Sequence[str], rows: Sequence[Row], room: int) -> list[int] | None:
    """Return the width of each column, or None where the narrowest readable ones do not fit."""
    room -= _GAP * (len(names) - 1)
    columns = [(name, [row[name] for row in rows]) for name in names]
    natural = [max(map(_longest_line, (name, *cells))) for name, cells in columns]
    short = [max(_longest_word(name), _whole(cells)) for name, cells in columns]
    narrow = [max(_longest_word(name), _by_word(cells)) for name, cells in columns]
    # What names the rows is whole if half of the room is enough for it.
    for least in ([min(natural[0], room // 2), *short[1:]], short, narrow):
        if sum(least) <= room:
            return _shrunk(natural, least, room)
    return None


def _shrunk(natural: Sequence[int], least: Sequence[int], room: int) -> list[int]:
    """Return widths that fit: the widest column gives first, so that sentences fold first."""
    widths = [max(pair) for pair in zip(natural, least, strict=True)]
    while sum(widths) > room:
        giving = [at for at, width in enumerate(widths) if width > least[at]]
        widths[max(giving, key=lambda at: widths[at])] -= 1
    return widths


def _whole(cells: Sequence[str]) -> int:
    """Return the width at which only long cells fold."""
    return min(_READABLE, max(map(_longest_line, cells)))


def _by_word(cells: Sequence[str]) -> int:
    """Return the width at which every cell folds, yet sentences can be read."""
    longest = max(map(_longest_line, cells))
    return _READABLE if longest > _PROSE else min(_READABLE, max(map(_longest_word, cells)))


def _longest_line(text: str) -> int:
    return max(map(cell_len, text.splitlines()), default=0)


def _longest_word(text: str) -> int:
    return max(map(cell_len, text.split()), default=0)


def _blocks(rows: Sequence[Row], width: int) -> list[Table]:
    """Return each row as a block of its own: a line for each column that says something."""
    labels = max(map(cell_len, rows[0]))
    blocks = []
    for row in rows:
        block = Table.grid(padding=(0, 1))
        block.add_column(style="bold", width=min(labels, width // 3), overflow="fold")
        block.add_column(overflow="fold")
        for name, cell in row.items():
            if cell:
                block.add_row(Text(name), Text(cell))
        blocks.append(block)
    return blocks
