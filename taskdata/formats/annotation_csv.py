"""What files of people's scores, labels and marks share: CSV read from anybody, line by line.

Cells that a spreadsheet would take for formulas are written with an apostrophe before them, and it
is taken off when they are read.
"""

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from pydantic import ValidationError

from taskdata.errors import BadTaskData

MAX_BYTES = 50_000_000
_FAULTS_TOLD = 20
_FORMULA = re.compile(r"'*[=+\-@\t\r\n]")
_NEUTRALISED = re.compile(r"'+[=+\-@\t\r\n]")

_SHAPE = ""
"""The key of a row's own fault, in a row that has not as many cells as the header."""


class TrialRating(Protocol):
    """What one rater says of one trial."""

    @property
    def rater(self) -> str:
        """The person or program."""

    @property
    def trial(self) -> tuple[str, str, int]:
        """Task, agent and repetition."""


R = TypeVar("R", bound=TrialRating)


@dataclass(frozen=True)
class TrialRatingColumns:
    """The columns of a file that has one row for each rater and trial."""

    holds: str
    """What the rows hold, such as `labels`, for messages."""
    rated: str
    """What a rater did to have a row, such as `labelled this trial`, for messages."""
    required: Sequence[str]
    optional: Sequence[str]

    @property
    def names(self) -> tuple[str, ...]:
        """All columns, in the order in which they are written."""
        return (*self.required, *self.optional)


def read_trial_ratings(
    path: Path, columns: TrialRatingColumns, rating: Callable[[Mapping[str, str]], R]
) -> list[R]:
    """Return the ratings of a CSV file that has one row for each rater and trial.

    Args:
        path: The file.
        columns: The columns that it may have.
        rating: Makes the rating of a row; its ValueError says what is wrong with the row.

    Raises:
        BadTaskData: if it is no such file, or rows are bad; names their lines and what is wrong.
    """
    faults: list[str] = []
    found: dict[tuple[object, ...], tuple[int, R]] = {}
    names = columns.names
    for line, cells in read_rows(
        path, columns.holds, names.__contains__, columns.required, ", ".join(names)
    ):
        try:
            one = rating(cells)
        except ValueError as exc:
            told = _first_fault(exc) if isinstance(exc, ValidationError) else exc
            faults.append(f"line {line}: {told}")
            continue
        other, _ = found.setdefault((one.trial, one.rater), (line, one))
        if other != line:
            faults.append(
                f"line {line}: {one.rater} {columns.rated} in line {other}, too; keep one"
            )
    refuse_faults(path, faults)
    if not found:
        raise BadTaskData(f"{path}: holds no {columns.holds}")
    return [one for _, one in found.values()]


def read_rows(
    path: Path, what: str, is_column: Callable[[str], bool], required: Sequence[str], told: str
) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield each row by column, with the line it begins in.

    Args:
        path: The file.
        what: What it should hold, for messages.
        is_column: Whether a column of that name is known.
        required: Columns that must be there.
        told: All columns, for messages.

    Raises:
        BadTaskData: if it is no CSV file with the columns that are needed.
    """
    text = _text(path, what)
    reader = csv.reader(io.StringIO(text), strict=True)
    try:
        header = [name.strip() for name in next(reader, [])]
        _require_columns(path, header, is_column, required, told)
        start = reader.line_num + 1
        for row in reader:
            if any(cell.strip() for cell in row):
                yield start, _cells(header, row)
            start = reader.line_num + 1
    except csv.Error as exc:
        raise BadTaskData(f"{path}: line {reader.line_num}: {exc}") from exc


def row_fault(
    cells: Mapping[str, str], filled: Iterable[str], longest: Callable[[str], int]
) -> str | None:
    """Return what is wrong with the cells of a row whatever they mean; None: nothing.

    Args:
        cells: The row by column.
        filled: Columns in which something must stand.
        longest: The most characters of a cell, by its column.
    """
    if _SHAPE in cells:
        return cells[_SHAPE]
    if long := [name for name, cell in cells.items() if len(cell) > longest(name)]:
        return f"{long[0]}: more than {longest(long[0])} characters"
    if empty := [name for name in filled if not cells[name]]:
        return f"{empty[0]}: is empty"
    return None


def write_rows(path: Path, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write CSV that a spreadsheet opens without computing anything in it."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        for row in rows:
            writer.writerow([_harmless(cell) if isinstance(cell, str) else cell for cell in row])


def refuse_faults(path: Path, faults: Sequence[str]) -> None:
    """Raise BadTaskData with the first faults and the number of the others, if there are any."""
    if faults:
        more = len(faults) - _FAULTS_TOLD
        told = [*faults[:_FAULTS_TOLD], *([f"and {more} more"] if more > 0 else [])]
        raise BadTaskData(f"{path}: " + "; ".join(told))


def _harmless(text: str) -> str:
    """Return a text that no spreadsheet takes for a formula: with an apostrophe before it."""
    return f"'{text}" if _FORMULA.match(text) else text


def _text(path: Path, what: str) -> str:
    try:
        if path.stat().st_size > MAX_BYTES:
            raise BadTaskData(f"{path}: larger than {MAX_BYTES:,} bytes")
        return path.read_text(encoding="utf-8-sig")
    except OSError as exc:
        raise BadTaskData(f"{path}: {exc.strerror}; name a CSV file of {what}") from exc
    except UnicodeDecodeError as exc:
        raise BadTaskData(f"{path}: not UTF-8 (byte {exc.start}); save it as CSV UTF-8") from exc


def _require_columns(
    path: Path,
    header: Sequence[str],
    is_column: Callable[[str], bool],
    required: Sequence[str],
    told: str,
) -> None:
    unknown = [name for name in header if not is_column(name)]
    missing = [name for name in required if name not in header]
    twice = sorted({name for name in header if header.count(name) > 1})
    for what, names in (("lacks", missing), ("does not know", unknown), ("twice has", twice)):
        if names:
            shown = ", ".join(repr(name[:60]) for name in names[:5])
            raise BadTaskData(f"{path}: line 1: the header {what} {shown}; columns are {told}")


def _cells(header: Sequence[str], row: Sequence[str]) -> dict[str, str]:
    found = {name: _plain(cell.strip()) for name, cell in zip(header, row, strict=False)}
    if len(row) != len(header):
        found[_SHAPE] = f"{len(row)} cells, and the header has {len(header)}"
    return found


def _plain(cell: str) -> str:
    """Return a cell without the apostrophe that made it harmless."""
    return cell[1:] if _NEUTRALISED.match(cell) else cell


def _first_fault(error: ValidationError) -> str:
    fault = error.errors(include_url=False)[0]
    field = ".".join(str(part) for part in fault["loc"])
    told = fault["msg"].removeprefix("Value error, ")
    return f"{field}: {told}" if field else told
