"""Comma-separated values with a header; a row that is broken costs that row alone."""

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
    """Raised through csv.reader: the row in progress has swallowed more than a row may hold."""


class _Feed:
    """Lines for csv.reader, and what the row in progress has taken of them.

    `cells` counts the cells that have ended: where a row is too long, the next one is why.
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
        """Return the next line; bytes that are no UTF-8 become lone surrogates."""
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
        """Go on to where the quotes of the row in progress are balanced: to its end."""
        while self.quotes % 2:
            line = next(self._lines, None)
            if line is None:
                return
            self.quotes += line.data.count(b'"') + line.cut_quotes


def read_csv(stream: BinaryIO, origin: str) -> Iterator[RawRow]:
    """Yield every row below the header, counted from 1; an empty cell is None.

    A row without any content is no row. A field may hold line ends between quotes.

    Raises:
        BadTaskData: if the header cannot be read, misspells a field, names a column twice, or
            none `text`.
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
        # One number for the whole process, which other readers set as they need it.
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
            # The reader forgets the row it gave up; only where it gave up inside a field that
            # was too large does the rest of that field still stand before the next row.
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
