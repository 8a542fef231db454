"""Tables in deliverables of any format: finding the header, comparing rows by key."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from pydantic import model_validator

from stages.score.check import (
    Names,
    Phrase,
    RowDemands,
    Rows,
    Tolerance,
    Verdict,
    crowded,
    demanded,
    failed,
    share,
    spare_rows,
)
from stages.score.matching import Expected, Found, fold, key_of, listed, quote, same_cell
from stages.score.numbers import read_number
from taskdata.schema.scores import Shortcoming
from taskdata.schema.views import Cell, Sheet, Table

HEADER_ROWS = 15
"""A header row is looked for among this many rows from the top."""

_COLUMNS_PER_EXPECTED, _SPARE_COLUMNS = 3, 10
_TOTAL = re.compile(r"(grand |sub-?)?totals?\b.*|sum|overall")

GridRow = Mapping[int, Cell]
"""Cells of one row by column; empty cells are absent."""

Grid = Sequence[GridRow]


def grid_of_table(table: Table) -> Grid:
    """Return a table of texts as a grid."""
    return [
        {column: Cell(value=text) for column, text in enumerate(row) if text} for row in table.rows
    ]


def grid_of_sheet(sheet: Sheet) -> Grid:
    """Return a worksheet as a grid of the rows that have cells."""
    from openpyxl.utils.cell import coordinate_to_tuple

    rows: dict[int, dict[int, Cell]] = {}
    for address, cell in sheet.cells.items():
        row, column = coordinate_to_tuple(address)
        rows.setdefault(row, {})[column] = cell
    return [rows[row] for row in sorted(rows)]


@dataclass(frozen=True)
class Body:
    """The rows below a header."""

    columns: Mapping[str, int]
    """Position of each requested column, by its folded name."""
    missing: Sequence[str]
    """Requested columns that the header lacks."""
    header: Sequence[str]
    rows: Grid
    """Rows with a value in a requested column."""

    def cell(self, row: GridRow, column: str) -> Cell | None:
        """Return the cell of a row in a named column."""
        position = self.columns.get(fold(column))
        return None if position is None else row.get(position)


def body_below(grid: Grid, columns: Sequence[str], within: int = HEADER_ROWS) -> Body:
    """Return the rows below the first row that has the most of the requested columns.

    Of columns with the same name the first counts, so guessing twice does not help.
    """
    wanted = {fold(column): column for column in columns}
    best: dict[str, int] = {}
    top = 0
    for index, row in enumerate(grid[:within]):
        found: dict[str, int] = {}
        for position, cell in sorted(row.items()):
            name = fold(quote(cell.value)) if cell.value is not None else ""
            if name in wanted:
                found.setdefault(name, position)
        if len(found) > len(best):
            best, top = found, index
    header = [quote(cell.value) for _, cell in sorted(grid[top].items())] if grid else []
    rows = [row for row in grid[top + 1 :] if any(p in row for p in best.values())]
    missing = [column for name, column in wanted.items() if name not in best]
    return Body(best, missing, header, rows)


def is_total(row: GridRow) -> bool:
    """Return whether a row is a total of the others, judged by the text at its start."""
    texts = [fold(cell.value) for _, cell in sorted(row.items()) if isinstance(cell.value, str)]
    return bool(texts) and _TOTAL.fullmatch(texts[0].rstrip(": ")) is not None


class ExpectedRows(RowDemands):
    """Rows that are expected under a header."""

    columns: Names
    rows: Rows
    tolerance: Tolerance = 0.0

    @model_validator(mode="after")
    def _rows_fit(self) -> Self:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"row {list(row)} does not have {len(self.columns)} values")
        return self

    def require_column(self, key: str) -> None:
        """Raise `ValueError` unless `key` is one of the columns."""
        if fold(key) not in [fold(column) for column in self.columns]:
            raise ValueError(f"key {key!r} is not among the columns {list(self.columns)}")


class KeyedRows(ExpectedRows):
    """Rows that are expected under a header, identified by a key column."""

    key: Phrase

    @model_validator(mode="after")
    def _key_is_a_column(self) -> Self:
        self.require_column(self.key)
        return self


def compare_by_key(body: Body, args: ExpectedRows, key: str) -> Verdict:
    """Return the share of expected cells that are right, rows matched by their key.

    The first row with a key counts, so listing several guesses does not help. If the key is the
    only column, the existence of the row counts.
    """
    if fold(key) not in body.columns:
        reason = f"no column {key!r}; the header has {listed(body.header, 6) or 'nothing'}"
        return failed(reason, Shortcoming.NO_COLUMN)
    key_at = [fold(column) for column in args.columns].index(fold(key))
    first_rows = _first_rows(body, key)
    right, asked, wrong = 0, 0, list[str]()
    for expected in args.rows:
        found = first_rows.get(key_of(expected[key_at]))
        values = [i for i in range(len(args.columns)) if i != key_at] or [key_at]
        asked += len(values)
        if found is None:
            wrong.append(f"no row {quote(expected[key_at])}")
            continue
        for index in values:
            cell = body.cell(found, args.columns[index])
            if same_cell(cell, expected[index], args.tolerance):
                right += 1
            else:
                label = f"{quote(expected[key_at])}/{args.columns[index]}"
                wrong.append(f"{label} is {shown(cell)}, expected {quote(expected[index])}")
    verdict = share(right, asked, counted(right, asked, "values", wrong))
    most = spare_rows(len(args.rows)) if len(args.columns) == 1 else None
    return demanded(verdict, len(body.rows), args, "data rows", most)


def _first_rows(body: Body, key: str) -> Mapping[str, GridRow]:
    rows: dict[str, GridRow] = {}
    for row in body.rows:
        cell = body.cell(row, key)
        if cell is not None and cell.value is not None:
            rows.setdefault(key_of(cell.value), row)
    return rows


def shown(cell: Cell | None) -> str:
    """Return a cell's value as text for a reason."""
    if cell is not None and cell.value is None and cell.formula:
        return f"{quote(cell.formula)} (which could not be computed)"
    return quote(None if cell is None else cell.value)


def counted(right: int, asked: int, what: str, wrong: Sequence[str]) -> str:
    """Return the reason of a check with several parts."""
    reason = f"{right} of {asked} {what} are right"
    if wrong:
        more = f"; and {len(wrong) - 3} more" if len(wrong) > 3 else ""
        reason += ": " + "; ".join(wrong[:3]) + more
    return reason


def column_sum(body: Body, column: str) -> tuple[float, int]:
    """Return the sum of a column's numbers, and how many there are; rows of totals left out."""
    total, count = 0.0, 0
    for row in body.rows:
        cell = body.cell(row, column)
        value: Found = None if cell is None or is_total(row) else cell.value
        number = read_number(value) if isinstance(value, str) else value
        if number is not None and not isinstance(number, bool):
            total += number
            count += 1
    return total, count


def has_row(body: Body, expected: Sequence[Expected], args: ExpectedRows) -> bool:
    """Return whether a row has all expected values."""
    return any(
        all(
            same_cell(body.cell(row, column), value, args.tolerance)
            for column, value in zip(args.columns, expected, strict=True)
        )
        for row in body.rows
    )


def shape_verdict(
    body: Body, columns: Sequence[str], rows: int, least: int | None, most: int | None
) -> Verdict:
    """Return the share of fulfilled demands: one per column, and one for the number of rows."""
    asked = len(columns)
    right = asked - len(body.missing)
    wrong = [f"no column {quote(column)}" for column in body.missing]
    if least is not None or most is not None:
        asked += 1
        fits = rows >= (least or 0) and (most is None or rows <= most)
        right += fits
        if not fits:
            wrong.append(f"{rows} data rows, expected {bounds(least, most)}")
    verdict = share(right, asked, counted(right, asked, "columns and row counts", wrong))
    if not columns:
        return verdict
    return crowded(verdict, len(body.header), allowed_columns(len(columns)), "columns")


def allowed_columns(asked: int) -> int:
    """Return how many columns a table may have where `asked` are expected."""
    return _COLUMNS_PER_EXPECTED * asked + _SPARE_COLUMNS


def bounds(least: float | None, most: float | None) -> str:
    """Return a range as text for a reason."""
    if least is None:
        return f"at most {most}"
    if most is None:
        return f"at least {least}"
    return f"{least}" if least == most else f"{least} to {most}"
