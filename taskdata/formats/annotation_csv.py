"""What files of people's scores and of people's labels share: CSV read from anybody, line by line.

Cells that a spreadsheet would take for formulas are written with an apostrophe before them, and it
is taken off when they are read.
"""

import csv
import io
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from taskdata.errors import BadTaskData

MAX_BYTES = 50_000_000
_FAULTS_TOLD = 20
_FORMULA = re.compile(r"'*[=+\-@\t\r\n]")
_NEUTRALISED = re.compile(r"'+[=+\-@\t\r\n]")

SHAPE = ""
"""The key of a row's own fault, in a row that has not as many cells as the header."""


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


def refuse_faults(path: Path, faults: Sequence[str]) -> None:
    """Raise BadTaskData with the first faults and the number of the others, if there are any."""
    if faults:
        more = len(faults) - _FAULTS_TOLD
        told = [*faults[:_FAULTS_TOLD], *([f"and {more} more"] if more > 0 else [])]
        raise BadTaskData(f"{path}: " + "; ".join(told))


def harmless(text: str) -> str:
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
        found[SHAPE] = f"{len(row)} cells, and the header has {len(header)}"
    return found


def _plain(cell: str) -> str:
    """Return a cell without the apostrophe that made it harmless."""
    return cell[1:] if _NEUTRALISED.match(cell) else cell
