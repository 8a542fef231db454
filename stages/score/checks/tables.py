"""Checks of tables inside documents, pages, slides and delimited files."""

from typing import Self

from pydantic import model_validator

from stages.score.check import (
    CheckArgs,
    CheckSpec,
    Count,
    Names,
    Phrase,
    Verdict,
    demanded,
    failed,
    share,
    spare_rows,
)
from stages.score.grids import (
    Body,
    ExpectedRows,
    body_below,
    compare_by_key,
    counted,
    grid_of_table,
    has_row,
    shape_verdict,
)
from stages.score.matching import listed
from taskdata.schema.scores import Shortcoming
from taskdata.schema.views import (
    CsvView,
    DocumentView,
    HtmlView,
    PdfView,
    SlidesView,
    Table,
)

TableView = CsvView | DocumentView | HtmlView | PdfView | SlidesView
_VIEWS = (CsvView, DocumentView, HtmlView, PdfView, SlidesView)
_CANDIDATES = 5
"""Tables compared at most: adding ever more tables of guesses is no help."""


def tables_of(view: TableView) -> tuple[Table, ...]:
    """Return the view's tables in order; PDF tables that go on over a page break are joined."""
    if isinstance(view, CsvView):
        return (view.table,)
    if isinstance(view, PdfView):
        return _joined(view)
    if isinstance(view, SlidesView):
        return tuple(table for slide in view.slides for table in slide.tables)
    return view.tables


def _joined(view: PdfView) -> tuple[Table, ...]:
    found: list[Table] = []
    for page in view.pages:
        for index, table in enumerate(page.tables):
            rows = table.rows
            goes_on = index == 0 and found and rows and found[-1].rows
            if goes_on and len(rows[0]) == len(found[-1].rows[0]) and page is not view.pages[0]:
                repeated = rows[0] == found[-1].rows[0]
                found[-1] = Table(rows=found[-1].rows + (rows[1:] if repeated else rows))
            else:
                found.append(table)
    return tuple(found)


class TableContains(ExpectedRows):
    """Some table has these columns and rows; further columns do no harm.

    With a key, the first row of each key counts. More data rows than `max_rows` lower the score in
    proportion; with a key and other columns, that is only if it is given.
    """

    key: Phrase | None = None

    @model_validator(mode="after")
    def _key_is_a_column(self) -> Self:
        if self.key is not None:
            self.require_column(self.key)
        return self


def table_contains(view: TableView, args: TableContains) -> Verdict:
    """Give the share of the expected cells (with a key) or rows (without) of the best table."""
    tables = [table for table in tables_of(view) if table.rows]
    if not tables:
        return failed("there is no table", Shortcoming.NO_TABLE)
    bodies = [body_below(grid_of_table(table), args.columns) for table in tables]
    fewest = min(len(body.missing) for body in bodies)
    if fewest == len(args.columns):
        reason = f"no table has the columns {listed(args.columns, 6)}"
        return failed(reason, Shortcoming.NO_COLUMN)
    bodies = [body for body in bodies if len(body.missing) == fewest][:_CANDIDATES]
    return max((_compare(body, args) for body in bodies), key=lambda verdict: verdict.score)


def _compare(body: Body, args: TableContains) -> Verdict:
    if args.key is not None:
        return compare_by_key(body, args, args.key)
    missing = [row for row in args.rows if not has_row(body, row, args)]
    right = len(args.rows) - len(missing)
    wrong = [f"no row {listed(row, 6)}" for row in missing]
    verdict = share(right, len(args.rows), counted(right, len(args.rows), "rows", wrong))
    return demanded(verdict, len(body.rows), args, "data rows", spare_rows(len(args.rows)))


class TableShape(CheckArgs):
    """Columns and number of data rows of the largest table."""

    columns: Names | None = None
    min_rows: Count | None = None
    max_rows: Count | None = None

    @model_validator(mode="after")
    def _asks_something(self) -> Self:
        if self.columns is None and self.min_rows is None and self.max_rows is None:
            raise ValueError("needs columns, min_rows or max_rows")
        return self


def table_shape(view: TableView, args: TableShape) -> Verdict:
    """Give the share of what is asked: every column, and the number of rows, count one each."""
    tables = [table for table in tables_of(view) if table.rows]
    if not tables:
        return failed("there is no table", Shortcoming.NO_TABLE)
    grid = grid_of_table(max(tables, key=lambda table: sum(map(len, table.rows))))
    body = body_below(grid, args.columns or ())
    rows = len(body.rows) if args.columns else sum(1 for row in grid[1:] if row)
    return shape_verdict(body, args.columns or (), rows, args.min_rows, args.max_rows)


CHECKS = (
    CheckSpec("table_contains", TableContains, _VIEWS, table_contains, version=3),
    CheckSpec("table_shape", TableShape, _VIEWS, table_shape, version=2),
)
