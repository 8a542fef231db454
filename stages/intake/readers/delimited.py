"""Comma-separated values with a header; a broken row affects no other row."""

import csv
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import BinaryIO

from stages.intake.readers.raw import (
    MAX_ROW_BYTES,
    TOO_LONG,
    Fault,
    RawRow,
    capped_lines,
    first_words,
    not_utf8,
    short_name,
)
from stages.intake.rows import check_header
from taskdata.errors import BadTaskData

MAX_FIELD_CHARACTERS = 131_072
"""Longest field of a row."""
_UNDECODED = re.compile("[\udc80-\udcff]")


class _TooLong(Exception):
    """Raised through csv.reader: the current row is longer than a row may be."""


class _Feed:
    """Lines for csv.reader, and the size of the current row.

    `cells` counts the cells that have ended: if a row is too long, the next cell is the cause.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._lines = capped_lines(stream)
        self.begin()

    def begin(self) -> None:
        """Start counting for the next row."""
        self.size = self.quotes = self.cells = 0
        self.excerpt = ""

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        """Return the next line; invalid UTF-8 bytes become lone surrogates."""
        line = next(self._lines)
        self.size += len(line.data)
        is_too_long = line.is_cut or self.size > MAX_ROW_BYTES
        if line.is_cut or not is_too_long:
            outside_quotes = line.data.split(b'"')[self.quotes % 2 :: 2]
            self.cells += sum(part.count(b",") for part in outside_quotes)
        self.quotes += line.data.count(b'"') + line.cut_quotes
        if not self.excerpt:
            self.excerpt = first_words(line.data[:4096].decode(errors="replace").strip())
        if is_too_long:
            raise _TooLong
        return line.data.decode("utf-8", "surrogateescape")

    def leave_row(self) -> None:
        """Skip to the end of the current row, where its quotes are balanced."""
        while self.quotes % 2:
            line = next(self._lines, None)
            if line is None:
                return
            self.quotes += line.data.count(b'"') + line.cut_quotes


def read_csv(stream: BinaryIO, origin: str) -> Iterator[RawRow]:
    """Yield every row below the header, counted from 1; an empty cell is None.

    A row without any content is skipped. A quoted field may contain line breaks.

    Raises:
        BadTaskData: if the header cannot be parsed, misspells a field, repeats a column, or has no
            column `text`.
    """
    feed = _Feed(stream)
    records = _records(feed)
    first = next((cells for cells in records if cells), None)
    if first is None:
        return
    header = _header(first, feed, origin)
    number = 0
    for cells in records:
        if isinstance(cells, Fault):
            number += 1
            is_named = cells == TOO_LONG and feed.cells < len(header)
            fault = Fault(header[feed.cells], cells.reason) if is_named else cells
            yield RawRow(number, feed.excerpt, fault=fault)
        elif any(cell.strip() for cell in cells):
            number += 1
            yield _row(number, header, cells)


def _records(feed: _Feed) -> Iterator[list[str] | Fault]:
    reader = csv.reader(feed, strict=True)
    while True:
        feed.begin()
        # The limit applies to the whole process, and other readers set it as they need.
        csv.field_size_limit(MAX_FIELD_CHARACTERS)
        try:
            yield next(reader)
        except StopIteration:
            return
        except _TooLong:
            feed.leave_row()
            reader = csv.reader(feed, strict=True)
            yield TOO_LONG
        except csv.Error as exc:
            # The reader has dropped the failed row; only if it failed inside a field that was too
            # large is the rest of that field still before the next row.
            if feed.size > MAX_FIELD_CHARACTERS:
                feed.leave_row()
                yield Fault(None, f"a field has more than {MAX_FIELD_CHARACTERS} characters")
            else:
                yield Fault(None, f"not CSV: {exc}")


def _header(cells: list[str] | Fault, feed: _Feed, origin: str) -> list[str]:
    if isinstance(cells, Fault):
        raise BadTaskData(f"{origin}: header: {cells.reason}; begins {feed.excerpt[:60]!r}")
    undecoded = _UNDECODED.search(",".join(cells))
    if undecoded:
        raise not_utf8(origin, "header", undecoded.start() + 1)
    names = [short_name(cell.strip()) or f"column {n}" for n, cell in enumerate(cells, 1)]
    repeated = [name for name, count in Counter(map(str.lower, names)).items() if count > 1]
    if repeated:
        raise BadTaskData(f"{origin}: header: column {repeated[0]!r} stands there more than once")
    check_header(names, origin)
    return names


def _row(number: int, header: Sequence[str], cells: Sequence[str]) -> RawRow:
    excerpt = first_words(",".join(cells))
    if len(cells) != len(header):
        says = f"has {len(cells)} cells where the header has {len(header)}"
        return RawRow(number, excerpt, fault=Fault(None, says))
    for name, cell in zip(header, cells, strict=True):
        if _UNDECODED.search(cell):
            return RawRow(number, excerpt, fault=Fault(name, "not UTF-8"))
    fields = {n: cell.strip() or None for n, cell in zip(header, cells, strict=True)}
    return RawRow(number, excerpt, fields=fields)
