"""Checks of CSV files; the first row is the header."""

from collections import Counter

from pydantic import Field

from stages.score.check import (
    CheckArgs,
    CheckSpec,
    CountArgs,
    Names,
    Pattern,
    Phrase,
    Tolerance,
    Verdict,
    crowded,
    failed,
    holds,
    matches_whole,
    passed,
    share,
)
from stages.score.grids import (
    Body,
    KeyedRows,
    allowed_columns,
    body_below,
    bounds,
    column_sum,
    compare_by_key,
    grid_of_table,
)
from stages.score.matching import fold, key_of, listed, quote
from stages.score.numbers import close, plain
from taskdata.schema.scores import Shortcoming
from taskdata.schema.views import CsvView


def _body(view: CsvView, columns: Names) -> Body:
    return body_below(grid_of_table(view.table), columns, within=1)


def _data_rows(view: CsvView) -> int:
    return sum(1 for row in view.table.rows[1:] if any(row))


def _lacks(body: Body) -> Verdict:
    reason = f"no column {listed(body.missing)}; the header has {listed(body.header, 8)}"
    return failed(reason, Shortcoming.NO_COLUMN)


class CsvColumns(CheckArgs):
    """Columns of the header; `exact_order`: these, in this order, and no others."""

    columns: Names
    exact_order: bool = False


def csv_columns(view: CsvView, args: CsvColumns) -> Verdict:
    """Give the share of columns that are there, or all or nothing for an exact order."""
    header = [fold(cell) for cell in view.table.rows[0]] if view.table.rows else []
    wanted = [fold(column) for column in args.columns]
    found = f"found: {listed(header, 8) or 'no header'}"
    if args.exact_order:
        return holds(header == wanted, f"expected exactly {listed(args.columns, 8)}; {found}")
    right = sum(column in header for column in wanted)
    verdict = share(right, len(wanted), f"{right} of {len(wanted)} expected columns; {found}")
    return crowded(verdict, len(header), allowed_columns(len(wanted)), "columns")


class CsvRows(CountArgs):
    """Number of data rows."""


def csv_rows(view: CsvView, args: CsvRows) -> Verdict:
    """Give 10 when the number of rows below the header is within the bounds."""
    if not view.table.rows:
        return failed("there is no header", Shortcoming.NO_TABLE)
    rows = _data_rows(view)
    return args.verdict(rows, f"{rows} data rows; expected {bounds(args.min, args.max)}")


class CsvTable(KeyedRows):
    """Rows, found by their key."""


def csv_table(view: CsvView, args: CsvTable) -> Verdict:
    """Give the share of expected values that are right, rows found by their key."""
    return compare_by_key(_body(view, args.columns), args, args.key)


class CsvUnique(CheckArgs):
    """No two rows have the same values in these columns."""

    columns: Names


def csv_unique(view: CsvView, args: CsvUnique) -> Verdict:
    """Give 10 when every row's combination of values occurs once."""
    body = _body(view, args.columns)
    if body.missing:
        return _lacks(body)
    if not body.rows:
        return failed("there are no data rows", Shortcoming.NO_ROWS)
    keys: Counter[tuple[str, ...]] = Counter()
    for row in body.rows:
        cells = [body.cell(row, column) for column in args.columns]
        keys[tuple(key_of(None if cell is None else cell.value) for cell in cells)] += 1
    repeated = [key for key, count in keys.items() if count > 1]
    if not repeated:
        return passed(f"all {len(body.rows)} rows differ in {listed(args.columns)}")
    shown = listed([" / ".join(key) for key in repeated])
    return failed(f"{len(repeated)} values of {listed(args.columns)} are repeated: {shown}")


class CsvNoMissing(CheckArgs):
    """No empty cell in these columns."""

    columns: Names


def csv_no_missing(view: CsvView, args: CsvNoMissing) -> Verdict:
    """Give 10 when every data row has a value in every one of the columns."""
    body = _body(view, args.columns)
    if body.missing:
        return _lacks(body)
    rows = _data_rows(view)
    if not rows:
        return failed("there are no data rows", Shortcoming.NO_ROWS)
    filled = sum(body.cell(row, column) is not None for row in body.rows for column in args.columns)
    empty = rows * len(args.columns) - filled
    return holds(empty == 0, f"{empty} empty cells in {listed(args.columns)}; {rows} rows")


class CsvColumnMatches(CheckArgs):
    """Every value of a column fits a pattern as a whole."""

    column: Phrase
    pattern: Pattern


def csv_column_matches(view: CsvView, args: CsvColumnMatches) -> Verdict:
    """Give the share of the column's values that fit; empty cells do not count."""
    body = _body(view, (args.column,))
    if body.missing:
        return _lacks(body)
    values = [str(cell.value) for row in body.rows if (cell := body.cell(row, args.column))]
    if not values:
        return failed(f"column {args.column!r} is empty", Shortcoming.NO_VALUES)
    wrong = [quote(value) for value in values if not matches_whole(args.pattern, value)]
    right = len(values) - len(wrong)
    reason = f"{right} of {len(values)} values fit {args.pattern}"
    if wrong:
        reason += f"; not: {listed(wrong)}"
    return share(right, len(values), reason)


class CsvColumnSum(CheckArgs):
    """Sum of a column, rows of totals left out."""

    column: Phrase
    expected: float = Field(allow_inf_nan=False)
    tolerance: Tolerance = 0.0


def csv_column_sum(view: CsvView, args: CsvColumnSum) -> Verdict:
    """Give 10 when the column's numbers add up to the expected sum."""
    body = _body(view, (args.column,))
    if body.missing:
        return _lacks(body)
    total, count = column_sum(body, args.column)
    if not count:
        return failed(f"column {args.column!r} has no numbers", Shortcoming.NO_VALUES)
    reason = f"{count} numbers add up to {plain(total)}; expected {plain(args.expected)}"
    return holds(close(total, args.expected, args.tolerance), reason)


CHECKS = (
    CheckSpec("csv_columns", CsvColumns, (CsvView,), csv_columns, version=2),
    CheckSpec("csv_rows", CsvRows, (CsvView,), csv_rows),
    CheckSpec("csv_table", CsvTable, (CsvView,), csv_table, version=2),
    CheckSpec("csv_unique", CsvUnique, (CsvView,), csv_unique),
    CheckSpec("csv_no_missing", CsvNoMissing, (CsvView,), csv_no_missing),
    CheckSpec("csv_column_matches", CsvColumnMatches, (CsvView,), csv_column_matches),
    CheckSpec("csv_column_sum", CsvColumnSum, (CsvView,), csv_column_sum),
)
