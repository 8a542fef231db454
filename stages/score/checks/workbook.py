"""Checks of XLSX workbooks."""

from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator

from stages.score.check import (
    CheckArgs,
    CheckSpec,
    Count,
    Names,
    Pattern,
    Phrase,
    Tolerance,
    Verdict,
    crowded,
    failed,
    find_all,
    holds,
    share,
)
from stages.score.grids import (
    KeyedRows,
    body_below,
    column_sum,
    compare_by_key,
    counted,
    grid_of_sheet,
    shape_verdict,
    shown,
)
from stages.score.matching import Expected, fold, listed, quote, same_cell
from stages.score.numbers import close, plain
from taskdata.schema.scores import Shortcoming
from taskdata.schema.views import Cell, Sheet, WorkbookView

_SHEETS_PER_EXPECTED, _SPARE_SHEETS = 3, 5
_LAST_ROW, _LAST_COLUMN = 1_048_576, 16_384


def _address(text: str) -> str:
    from openpyxl.utils.cell import coordinate_to_tuple

    if not text.isascii() or not text.isalnum():
        raise ValueError(f"{text!r} is not the address of a cell, such as B2")
    coordinate_to_tuple(text)
    return text.upper()


def _range(text: str) -> str:
    from openpyxl.utils.cell import range_boundaries

    range_boundaries(text)
    return text.upper()


Address = Annotated[str, AfterValidator(_address)]
Range = Annotated[str, AfterValidator(_range)]


class OnSheet(CheckArgs):
    """Looks at one worksheet, named without regard to case."""

    sheet: Phrase


def sheet_named(view: WorkbookView, name: str) -> Sheet | None:
    """Return the worksheet of that name."""
    return next((s for s in view.sheets if fold(s.name) == fold(name)), None)


def _no_sheet(view: WorkbookView, name: str) -> Verdict:
    reason = f"no sheet {name!r}; there are: {listed([s.name for s in view.sheets], 8)}"
    return failed(reason, Shortcoming.NO_SHEET)


class XlsxSheets(CheckArgs):
    """Sheets of these names that are not hidden; `exact`: no others."""

    names: Names
    exact: bool = False


def xlsx_sheets(view: WorkbookView, args: XlsxSheets) -> Verdict:
    """Give the share of sheets that are there; with `exact`, further sheets count as wrong."""
    sheets = [sheet.name for sheet in view.sheets if not sheet.hidden]
    found = set(map(fold, sheets))
    wanted = {fold(name) for name in args.names}
    asked = len(wanted | found) if args.exact else len(wanted)
    right = len(wanted & found)
    names = listed(sheets, 8) or "none"
    verdict = share(right, asked, f"{right} of {len(wanted)} expected sheets; found: {names}")
    return crowded(
        verdict, len(sheets), _SHEETS_PER_EXPECTED * len(wanted) + _SPARE_SHEETS, "sheets"
    )


class XlsxCells(OnSheet):
    """Values of single cells by address."""

    cells: Annotated[dict[Address, Expected], Field(min_length=1)]
    tolerance: Tolerance = 0.0


def xlsx_cells(view: WorkbookView, args: XlsxCells) -> Verdict:
    """Give the share of cells that hold the expected value."""
    sheet = sheet_named(view, args.sheet)
    if sheet is None:
        return _no_sheet(view, args.sheet)
    wrong = [
        f"{address} is {shown(sheet.cells.get(address))}, expected {quote(expected)}"
        for address, expected in args.cells.items()
        if not same_cell(sheet.cells.get(address), expected, args.tolerance)
    ]
    asked = len(args.cells)
    right = asked - len(wrong)
    return share(right, asked, counted(right, asked, "cells", wrong))


class XlsxTable(KeyedRows, OnSheet):
    """Rows of a table on a sheet."""


def xlsx_table(view: WorkbookView, args: XlsxTable) -> Verdict:
    """Give the share of expected cells that are right, rows found by their key."""
    sheet = sheet_named(view, args.sheet)
    if sheet is None:
        return _no_sheet(view, args.sheet)
    return compare_by_key(body_below(grid_of_sheet(sheet), args.columns), args, args.key)


class XlsxColumns(OnSheet):
    """Columns of the table on a sheet, and how many data rows it has."""

    columns: Names
    min_rows: Count | None = None
    max_rows: Count | None = None


def xlsx_columns(view: WorkbookView, args: XlsxColumns) -> Verdict:
    """Give the share of columns that are there; the number of rows counts as one more."""
    sheet = sheet_named(view, args.sheet)
    if sheet is None:
        return _no_sheet(view, args.sheet)
    body = body_below(grid_of_sheet(sheet), args.columns)
    return shape_verdict(body, args.columns, len(body.rows), args.min_rows, args.max_rows)


class InRange(OnSheet):
    """Looks at the cells of a range such as `B2:B13` or `B:B`."""

    range: Range


def cells_in(sheet: Sheet, area: str) -> dict[str, Cell]:
    """Return the non-empty cells of a range; only cells that exist are visited."""
    from openpyxl.utils.cell import coordinate_to_tuple, range_boundaries

    left, top, right, bottom = range_boundaries(area)
    found = {}
    for address, cell in sheet.cells.items():
        row, column = coordinate_to_tuple(address)
        in_rows = (top or 1) <= row <= (bottom or _LAST_ROW)
        if in_rows and (left or 1) <= column <= (right or _LAST_COLUMN):
            found[address] = cell
    return found


class XlsxFormulas(InRange):
    """Formulas that match a pattern and can be computed."""

    pattern: Pattern
    min_count: Annotated[int, Field(ge=1)] = 1


def xlsx_formulas(view: WorkbookView, args: XlsxFormulas) -> Verdict:
    """Give the share of the formulas asked for."""
    sheet = sheet_named(view, args.sheet)
    if sheet is None:
        return _no_sheet(view, args.sheet)
    cells = cells_in(sheet, args.range)
    formulas = [cell for cell in cells.values() if cell.formula]
    known = [cell.formula or "" for cell in formulas if cell.value is not None]
    right = sum(1 for formula in known if find_all(args.pattern, formula, most=1))
    reason = (
        f"{right} formulas like {args.pattern} among {len(formulas)} formulas and {len(cells)} "
        f"cells in {args.range}; expected {args.min_count}"
    )
    if len(known) < len(formulas):
        reason += f"; {len(formulas) - len(known)} could not be computed and do not count"
    return share(right, args.min_count, reason)


class XlsxFormat(InRange):
    """Format of the cells that are not empty."""

    number_format: Pattern | None = None
    bold: bool | None = None

    @model_validator(mode="after")
    def _asks_something(self) -> Self:
        if self.number_format is None and self.bold is None:
            raise ValueError("needs number_format or bold")
        return self


def xlsx_format(view: WorkbookView, args: XlsxFormat) -> Verdict:
    """Give the share of the range's cells that are formatted as asked."""
    sheet = sheet_named(view, args.sheet)
    if sheet is None:
        return _no_sheet(view, args.sheet)
    cells = cells_in(sheet, args.range)
    if not cells:
        return failed(f"{args.range} is empty", Shortcoming.NO_VALUES)
    wrong = [
        f"{address} has {quote(cell.number_format)}{', bold' if cell.bold else ''}"
        for address, cell in cells.items()
        if not _formatted(cell, args)
    ]
    right = len(cells) - len(wrong)
    return share(right, len(cells), counted(right, len(cells), "cell formats", wrong))


def _formatted(cell: Cell, args: XlsxFormat) -> bool:
    if args.bold is not None and cell.bold != args.bold:
        return False
    return args.number_format is None or bool(
        find_all(args.number_format, cell.number_format, most=1)
    )


class XlsxCharts(CheckArgs):
    """Charts, on one sheet or on any."""

    sheet: Phrase | None = None
    min: Annotated[int, Field(ge=1)] = 1
    kinds: tuple[str, ...] = ()
    """Each must be there: bar, line, pie, scatter, area, ..."""


def xlsx_charts(view: WorkbookView, args: XlsxCharts) -> Verdict:
    """Give the share of charts and of kinds asked for."""
    sheets = view.sheets
    if args.sheet is not None:
        sheet = sheet_named(view, args.sheet)
        if sheet is None:
            return _no_sheet(view, args.sheet)
        sheets = (sheet,)
    found = [kind.casefold() for sheet in sheets for kind in sheet.charts]
    right = min(len(found), args.min) + sum(kind.casefold() in found for kind in args.kinds)
    expected = f"expected {args.min}" + (f" with {listed(args.kinds)}" if args.kinds else "")
    reason = f"{len(found)} charts ({listed(found) or 'none'}); {expected}"
    return share(right, args.min + len(args.kinds), reason)


class XlsxColumnSum(OnSheet):
    """Sum of a column, rows of totals left out."""

    column: Phrase
    expected: float = Field(allow_inf_nan=False)
    tolerance: Tolerance = 0.0


def xlsx_column_sum(view: WorkbookView, args: XlsxColumnSum) -> Verdict:
    """Give 10 when the column's numbers add up to the expected sum."""
    sheet = sheet_named(view, args.sheet)
    if sheet is None:
        return _no_sheet(view, args.sheet)
    body = body_below(grid_of_sheet(sheet), [args.column])
    if body.missing:
        reason = f"no column {args.column!r}; the header has {listed(body.header, 6)}"
        return failed(reason, Shortcoming.NO_COLUMN)
    total, count = column_sum(body, args.column)
    if not count:
        return failed(f"column {args.column!r} has no numbers", Shortcoming.NO_VALUES)
    reason = f"{count} numbers add up to {plain(total)}; expected {plain(args.expected)}"
    return holds(close(total, args.expected, args.tolerance), reason)


CHECKS = (
    CheckSpec("xlsx_sheets", XlsxSheets, (WorkbookView,), xlsx_sheets, version=3),
    CheckSpec("xlsx_cells", XlsxCells, (WorkbookView,), xlsx_cells),
    CheckSpec("xlsx_table", XlsxTable, (WorkbookView,), xlsx_table, version=2),
    CheckSpec("xlsx_columns", XlsxColumns, (WorkbookView,), xlsx_columns, version=2),
    CheckSpec("xlsx_formulas", XlsxFormulas, (WorkbookView,), xlsx_formulas, version=2),
    CheckSpec("xlsx_format", XlsxFormat, (WorkbookView,), xlsx_format),
    CheckSpec("xlsx_charts", XlsxCharts, (WorkbookView,), xlsx_charts),
    CheckSpec("xlsx_column_sum", XlsxColumnSum, (WorkbookView,), xlsx_column_sum),
)
