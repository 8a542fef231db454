"""Finds the tables in a view of any kind, and returns copies of the view with one table changed."""

import copy
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from stages.score.matching import Found
from taskdata.schema.views import (
    Cell,
    CsvView,
    DocumentView,
    HtmlView,
    JsonView,
    PdfView,
    Sheet,
    SlidesView,
    Table,
    View,
    WorkbookView,
)

Row = tuple[Found, ...]
_HEADER_ROWS = 15
"""The header of a worksheet is searched for in this many rows."""
_MOST_CELLS = 200_000
"""The most cells of a table, with empty ones; larger tables may be a few values far apart."""
_MOST_WORDS = 200
"""The most characters of a row that is searched for in a text."""


class Grid(ABC):
    """A table of a view; every method returns a changed copy of the whole view."""

    def __init__(self, where: str, header: Row, rows: tuple[Row, ...]) -> None:
        self.where = where
        """A description of the table's place in the file."""
        self.header = header
        self.rows = rows
        """Below the header."""

    @abstractmethod
    def with_value(self, row: int, column: int, value: Found) -> View:
        """Return the view with another value in one cell."""

    @abstractmethod
    def without_row(self, row: int) -> View:
        """Return the view without one row."""

    @abstractmethod
    def with_row(self, values: Row) -> View:
        """Return the view with one more row at the end."""

    @abstractmethod
    def with_header(self, column: int, name: str) -> View:
        """Return the view with another name of a column."""

    @abstractmethod
    def emptied(self) -> View:
        """Return the view with the header alone."""


def grids_of(view: View) -> tuple[Grid, ...]:
    """Return the tables of a view that have a header and at least one row below it."""
    return tuple(grid for grid in _found(view) if grid.rows)


def _found(view: View) -> Iterator[Grid]:
    match view:
        case CsvView():
            yield from _texts([view.table], "the table", lambda _, t, __: _put(view, table=t))
        case WorkbookView():
            for index, sheet in enumerate(view.sheets):
                if sheet.cells:
                    yield _SheetGrid(view, index, sheet)
        case JsonView():
            for path, items in lists_of_objects(view.value):
                yield _ItemsGrid(view, path, items)
        case DocumentView():
            yield from _of_document(view)
        case HtmlView():
            yield from _of_page(view)
        case PdfView():
            yield from _of_pages(view)
        case SlidesView():
            yield from _of_slides(view)
        case _:
            return


def lists_of_objects(value: Any, path: str = "") -> Iterator[tuple[str, list[Any]]]:
    """Yield every list of objects in a JSON value with its path, such as `a.b[0].c`."""
    if isinstance(value, list):
        if value and all(isinstance(item, dict) for item in value):
            yield path, value
        for index, item in enumerate(value):
            yield from lists_of_objects(item, f"{path}[{index}]")
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from lists_of_objects(item, f"{path}.{key}" if path else str(key))


_Told = Callable[[str], str]
"""Changes a text with the same table, such as the text of a page."""
_PutTable = Callable[[int, Table, _Told], View]


def _texts(tables: Sequence[Table], label: str, put: _PutTable) -> Iterator[Grid]:
    for index, table in enumerate(tables):
        if table.rows:
            where = label if len(tables) == 1 else f"{label} {index + 1}"
            yield _TextGrid(where, table, partial(put, index))


def _of_document(view: DocumentView) -> Iterator[Grid]:
    def put(index: int, table: Table, _: _Told) -> View:
        return _put(view, tables=_replaced(view.tables, index, table))

    yield from _texts(view.tables, "table", put)


def _of_page(view: HtmlView) -> Iterator[Grid]:
    def put(index: int, table: Table, told: _Told) -> View:
        return _put(view, tables=_replaced(view.tables, index, table), text=told(view.text))

    yield from _texts(view.tables, "table", put)


def _of_pages(view: PdfView) -> Iterator[Grid]:
    for number, page in enumerate(view.pages):

        def put(index: int, table: Table, told: _Told, number: int = number) -> View:
            old = view.pages[number]
            tables = _replaced(old.tables, index, table)
            page = old.model_copy(update={"tables": tables, "text": told(old.text)})
            return _put(view, pages=_replaced(view.pages, number, page))

        yield from _texts(page.tables, f"page {number + 1}, table", put)


def _of_slides(view: SlidesView) -> Iterator[Grid]:
    for number, slide in enumerate(view.slides):

        def put(index: int, table: Table, _: _Told, number: int = number) -> View:
            old = view.slides[number]
            slide = old.model_copy(update={"tables": _replaced(old.tables, index, table)})
            return _put(view, slides=_replaced(view.slides, number, slide))

        yield from _texts(slide.tables, f"slide {number + 1}, table", put)


class _TextGrid(Grid):
    """A table of texts."""

    def __init__(self, where: str, table: Table, put: Callable[[Table, _Told], View]) -> None:
        super().__init__(where, table.rows[0], table.rows[1:])
        self._table = table
        self._put = put

    def with_value(self, row: int, column: int, value: Found) -> View:
        old = self._table.rows[row + 1]
        new = (*old[:column], str(value), *old[column + 1 :])
        return self._with(row + 1, old, new)

    def without_row(self, row: int) -> View:
        old = self._table.rows[row + 1]
        rows = (*self._table.rows[: row + 1], *self._table.rows[row + 2 :])
        return self._put(Table(rows=rows), lambda text: _retold(text, old, ()))

    def with_row(self, values: Row) -> View:
        last = self._table.rows[-1]
        new = tuple("" if value is None else str(value) for value in values)
        table = Table(rows=(*self._table.rows, new))
        return self._put(table, lambda text: _retold(text, last, (*last, "\n", *new)))

    def with_header(self, column: int, name: str) -> View:
        old = self._table.rows[0]
        return self._with(0, old, (*old[:column], name, *old[column + 1 :]))

    def emptied(self) -> View:
        def told(text: str) -> str:
            for row in self._table.rows[1:]:
                text = _retold(text, row, ())
            return text

        return self._put(Table(rows=self._table.rows[:1]), told)

    def _with(self, index: int, old: tuple[str, ...], new: tuple[str, ...]) -> View:
        table = Table(rows=_replaced(self._table.rows, index, new))
        return self._put(table, lambda text: _retold(text, old, new))


def _retold(text: str, before: tuple[str, ...], after: tuple[str, ...]) -> str:
    """Return the text with the first occurrence of the row replaced by the new row."""
    words = [re.escape(word) for cell in before for word in cell.split()]
    if not 0 < len(words) <= _MOST_WORDS:
        return text
    return re.sub(r"[\s|]*+".join(words), lambda _: " ".join(after), text, count=1)


class _SheetGrid(Grid):
    """The table on a worksheet: its header is the row with the most texts near the top."""

    def __init__(self, view: WorkbookView, index: int, sheet: Sheet) -> None:
        from openpyxl.utils.cell import coordinate_to_tuple

        lines: dict[int, dict[int, str]] = {}
        for address in sheet.cells:
            row, column = coordinate_to_tuple(address)
            lines.setdefault(row, {})[column] = address
        numbers = sorted(lines)
        value = {address: cell.value for address, cell in sheet.cells.items()}

        def texts(number: int) -> int:
            return sum(isinstance(value[address], str) for address in lines[number].values())

        top = max(numbers[:_HEADER_ROWS], key=texts)
        self._lines = [lines[number] for number in numbers if number > top]
        self._numbers = [number for number in numbers if number > top]
        self._columns = sorted({column for line in [lines[top], *self._lines] for column in line})
        self._view, self._index, self._sheet, self._top = view, index, sheet, lines[top]

        def row_of(line: dict[int, str]) -> Row:
            return tuple(value.get(line.get(column, "")) for column in self._columns)

        small = len(self._lines) * len(self._columns) <= _MOST_CELLS
        rows = tuple(map(row_of, self._lines)) if small else ()
        super().__init__(f"sheet {sheet.name!r}", row_of(lines[top]), rows)

    def with_value(self, row: int, column: int, value: Found) -> View:
        address = self._lines[row][self._columns[column]]
        # A formula stays a formula, because a wrong result is not a number written over it.
        changed = self._sheet.cells[address].model_copy(update={"value": value})
        return self._with(self._sheet.cells | {address: changed})

    def without_row(self, row: int) -> View:
        gone = set(self._lines[row].values())
        return self._with({a: c for a, c in self._sheet.cells.items() if a not in gone})

    def with_row(self, values: Row) -> View:
        from openpyxl.utils.cell import get_column_letter

        number = self._numbers[-1] + 1
        new = {
            f"{get_column_letter(column)}{number}": Cell(value=value)
            for column, value in zip(self._columns, values, strict=True)
            if value is not None
        }
        return self._with(self._sheet.cells | new, rows=max(self._sheet.rows, number))

    def with_header(self, column: int, name: str) -> View:
        address = self._top[self._columns[column]]
        changed = self._sheet.cells[address].model_copy(update={"value": name})
        return self._with(self._sheet.cells | {address: changed})

    def emptied(self) -> View:
        kept = set(self._top.values())
        return self._with({a: c for a, c in self._sheet.cells.items() if a in kept})

    def _with(self, cells: dict[str, Cell], **changes: object) -> View:
        sheet = self._sheet.model_copy(update={"cells": cells, **changes})
        return _put(self._view, sheets=_replaced(self._view.sheets, self._index, sheet))


class _ItemsGrid(Grid):
    """A list of objects in a JSON document; values that are no scalars count as absent."""

    def __init__(self, view: JsonView, path: str, items: list[Any]) -> None:
        self._view, self._path, self._items = view, path, items
        self._keys = list(dict.fromkeys(key for item in items for key in item))
        small = len(items) * len(self._keys) <= _MOST_CELLS
        listed = items if small else ()
        rows = tuple(tuple(_scalar(item.get(key)) for key in self._keys) for item in listed)
        super().__init__(f"list {path!r}" if path else "the list", tuple(self._keys), rows)

    def with_value(self, row: int, column: int, value: Found) -> View:
        return self._with(lambda items: items[row].update({self._keys[column]: value}))

    def without_row(self, row: int) -> View:
        return self._with(lambda items: items.pop(row))

    def with_row(self, values: Row) -> View:
        new = copy.deepcopy(self._items[-1])
        new.update({k: v for k, v in zip(self._keys, values, strict=True) if v is not None})
        return self._with(lambda items: items.append(new))

    def with_header(self, column: int, name: str) -> View:
        old = self._keys[column]

        def rename(items: list[Any]) -> None:
            for index, item in enumerate(items):
                items[index] = {(name if key == old else key): v for key, v in item.items()}

        return self._with(rename)

    def emptied(self) -> View:
        return self._with(lambda items: items.clear())

    def _with(self, change: Callable[[list[Any]], object]) -> View:
        value = copy.deepcopy(self._view.value)
        change(dict(lists_of_objects(value))[self._path])
        return _put(self._view, value=value)


def _scalar(value: Any) -> Found:
    if isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    return None if isinstance(value, dict | list) else value


def _put(view: Any, **changes: Any) -> View:
    changed: View = view.model_copy(update=changes)
    return changed


def _replaced(items: tuple[Any, ...], index: int, item: Any) -> tuple[Any, ...]:
    return (*items[:index], item, *items[index + 1 :])
