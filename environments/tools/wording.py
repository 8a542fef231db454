"""Formatting of tables and counts in observations."""

from collections.abc import Iterable, Iterator
from typing import Any

_MAX_CELL_CHARS = 1_000


def cell_text(value: Any) -> str:
    """Return a cell on one line: line breaks as backslash and n, long texts cut."""
    if value is None:
        return ""
    text = "\\n".join(str(value).splitlines())
    return text if len(text) <= _MAX_CELL_CHARS else text[:_MAX_CELL_CHARS] + "…"


def table_lines(rows: Iterable[Iterable[Any]]) -> Iterator[str]:
    """Yield the rows of a table, cells separated by bars."""
    for row in rows:
        yield "| " + " | ".join(cell_text(value) for value in row) + " |"


def count_of(number: int, noun: str) -> str:
    """Return `1 row`, `2 rows`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
