"""XLSX workbooks: cells with values, formulas and formats; charts, images, panes."""

import math
import re
from pathlib import Path
from typing import Any

from openpyxl import load_workbook
from openpyxl.chartsheet import Chartsheet
from openpyxl.styles.numbers import is_date_format
from openpyxl.utils.datetime import from_excel
from openpyxl.workbook.workbook import Workbook
from openpyxl.worksheet.formula import ArrayFormula, DataTableFormula
from openpyxl.worksheet.worksheet import Worksheet

from environments.renderers.limits import MAX_CELLS, MAX_SHEETS, Meter, refuse_beyond
from environments.renderers.office.archive import require_office_file
from environments.renderers.office.formulas import FormulaValue, Values, computed_values, time_value
from environments.renderers.office.xlsx_sight import SheetSight
from environments.renderers.unseen import Unseen
from taskdata.schema.views import Cell, Sheet, WorkbookView

# formualizer 0.13 finds no match for a list of criteria, as in SUMIFS(A:A,B:B,{"x","y"}).
_MISCOMPUTED = re.compile(r"IFS?\([^)]*\{", re.IGNORECASE)


def read_xlsx(path: Path) -> WorkbookView:
    """Return the workbook's sheets; invisible cells are counted separately.

    A formula's value is computed here. The value stored in the file, which its author could choose,
    never counts: a formula that the engine cannot compute has no value.
    """
    require_office_file(path, "xl/workbook.xml", "XLSX")
    workbook = load_workbook(path)
    refuse_beyond(len(workbook.sheetnames), MAX_SHEETS, "sheets")
    formulas = _formulas(workbook)
    values = _values(path, formulas) if formulas else {}
    meter, unseen = Meter(), Unseen()
    sheets = tuple(
        _chartsheet(sheet)
        if isinstance(sheet, Chartsheet)
        else _sheet(sheet, values.get(sheet.title, {}), meter, unseen)
        for sheet in (workbook[name] for name in workbook.sheetnames)
    )
    return WorkbookView(sheets=sheets, hidden=unseen.found())


def _cells(sheet: Worksheet) -> dict[tuple[int, int], Any]:
    """Return the cells that exist in the file; its claimed dimensions could take hours to walk."""
    cells: dict[tuple[int, int], Any] = sheet._cells
    return cells


def _formula_of(value: object) -> str | None:
    if isinstance(value, ArrayFormula):
        value = value.text or ""
        return value if value.startswith("=") else f"={value}"
    if isinstance(value, DataTableFormula):
        return "=TABLE()"
    if isinstance(value, str) and value.startswith("="):
        return value
    return None


def _is_formula(cell: Any) -> bool:
    return cell.data_type == "f" or isinstance(cell.value, ArrayFormula | DataTableFormula)


def _formulas(workbook: Workbook) -> dict[str, dict[str, str]]:
    """Return the formulas by sheet and address."""
    found: dict[str, dict[str, str]] = {}
    total = 0
    for sheet in workbook.worksheets:
        cells = _cells(sheet)
        total += len(cells)
        refuse_beyond(total, MAX_CELLS, "cells")
        formulas = {
            cell.coordinate: _formula_of(cell.value) or ""
            for cell in cells.values()
            if _is_formula(cell)
        }
        if formulas:
            found[sheet.title] = formulas
    return found


def _values(path: Path, formulas: dict[str, dict[str, str]]) -> Values:
    """Return the computed values; values stored in the file are ignored."""
    return computed_values(
        path,
        {
            name: [address for address, text in cells.items() if not _MISCOMPUTED.search(text)]
            for name, cells in formulas.items()
        },
    )


def _plain(value: object) -> FormulaValue | None:
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, int | float):
        return float(value) if math.isfinite(value) else str(value)
    moment = time_value(value)
    return str(value) if moment is None else moment


def _sheet(
    sheet: Worksheet, values: dict[str, FormulaValue], meter: Meter, unseen: Unseen
) -> Sheet:
    cells: dict[str, Cell] = {}
    sight = SheetSight(sheet)
    rows = columns = 0
    for (row, column), cell in sorted(_cells(sheet).items()):
        view = _cell(cell, values, meter)
        why = None if view is None else sight.why_unseen(cell)
        if why is not None:
            unseen.add(str(cell.value), why)
        elif view is not None:
            cells[cell.coordinate] = view
            rows, columns = max(rows, row), max(columns, column)
    is_hidden = sheet.sheet_state != "visible"
    return Sheet(
        name=meter.text(sheet.title),
        cells=cells,
        rows=rows,
        columns=columns,
        charts=() if is_hidden else _charts(sheet),
        images=0 if is_hidden else len(getattr(sheet, "_images", ())),
        frozen=sheet.freeze_panes,
        hidden=is_hidden,
    )


def _cell(cell: Any, values: dict[str, FormulaValue], meter: Meter) -> Cell | None:
    if _is_formula(cell):
        formula = meter.text(_formula_of(cell.value))
        value = values.get(cell.coordinate)
        if isinstance(value, float) and is_date_format(cell.number_format):
            value = _as_date(value)
    else:
        formula, value = None, _plain(cell.value)
    if value is None and formula is None:
        return None
    fill = cell.fill
    colour = fill.fgColor.rgb if fill is not None and fill.patternType == "solid" else None
    return Cell(
        value=meter.cell(value) if isinstance(value, str) else value,
        formula=formula,
        number_format=meter.text(cell.number_format),
        bold=bool(cell.font is not None and cell.font.b),
        fill=colour[-6:] if isinstance(colour, str) else None,
    )


def _as_date(serial: float) -> FormulaValue:
    try:
        return _plain(from_excel(serial)) or serial
    except (OverflowError, ValueError):
        return serial


def _charts(sheet: Worksheet | Chartsheet) -> tuple[str, ...]:
    # openpyxl keeps what it read of charts only in this private list.
    charts = getattr(sheet, "_charts", ())
    return tuple(chart.tagname.removesuffix("Chart") for chart in charts)


def _chartsheet(sheet: Chartsheet) -> Sheet:
    return Sheet(name=sheet.title, cells={}, rows=0, columns=0, charts=_charts(sheet))
