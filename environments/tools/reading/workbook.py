"""ReadXLSX: sheets of a workbook, with formulas and their cached values."""

import datetime as dt
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

from pydantic import Field

from environments.toolkit.definition import Arguments, InputPath, ToolDefinition
from environments.tools.wording import cell_text, count_of
from environments.tools.workspace.paths import input_file
from taskdata.errors import ToolRefused
from taskdata.schema.task import Capability
from taskdata.schema.tool import ToolResult

if TYPE_CHECKING:
    from openpyxl.workbook import Workbook
    from openpyxl.worksheet.worksheet import Worksheet

_MAX_MERGES_SHOWN = 20


class ReadXLSXArguments(Arguments):
    """Arguments of ReadXLSX."""

    path: InputPath
    sheet: str | None = Field(default=None, description="Name of one sheet; without it, all.")
    start_row: int = Field(default=0, ge=0, description="Rows to skip at the top of each sheet.")
    max_rows: int = Field(default=50, ge=1, description="Rows to show of each sheet.")


def read_xlsx(args: ReadXLSXArguments, workspace: Path) -> ToolResult:
    """Return the list of sheets and the requested rows."""
    source = input_file(workspace, args.path)
    formulas = _open(source, args.path, values=False)
    cached = _open(source, args.path, values=True)
    names = formulas.sheetnames
    if args.sheet is not None and args.sheet not in names:
        raise ToolRefused(f"There is no sheet {args.sheet!r}. Sheets: {', '.join(names)}.")
    lines = [f"{args.path}: {count_of(len(names), 'sheet')}: {', '.join(names)}"]
    for name in names if args.sheet is None else [args.sheet]:
        sheet = formulas[name]
        if not hasattr(sheet, "iter_rows"):
            lines.append(f"\n== {name}: a sheet that is only a chart")
            continue
        lines.extend(_sheet_lines(sheet, cached[name], args))
    return ToolResult(text="\n".join(lines))


def _open(source: Path, path: str, *, values: bool) -> "Workbook":
    from openpyxl import load_workbook
    from openpyxl.utils.exceptions import InvalidFileException

    try:
        return load_workbook(source, data_only=values)
    except (BadZipFile, InvalidFileException, KeyError, ValueError, TypeError, OSError) as exc:
        raise ToolRefused(
            f"{path} cannot be read as an XLSX workbook (damaged, or another format): {exc}"
        ) from exc
    except SyntaxError as exc:
        raise ToolRefused(f"{path} holds damaged XML: {exc}") from exc


def _sheet_lines(sheet: "Worksheet", cached: "Worksheet", args: ReadXLSXArguments) -> Iterator[str]:
    from openpyxl.utils import get_column_letter

    yield f"\n== {sheet.title}: {_sheet_facts(sheet)}"
    letters = [get_column_letter(index) for index in range(1, sheet.max_column + 1)]
    yield "row | " + " | ".join(letters)
    first, last = args.start_row + 1, min(args.start_row + args.max_rows, sheet.max_row)
    for row, cached_row in zip(
        sheet.iter_rows(min_row=first, max_row=last),
        cached.iter_rows(min_row=first, max_row=last),
        strict=True,
    ):
        cells = (_cell_text(a, b.value) for a, b in zip(row, cached_row, strict=True))
        yield f"{row[0].row} | " + " | ".join(cells)
    if last < sheet.max_row:
        yield f"(rows {first} to {last} of {sheet.max_row}; go on with start_row={last})"


def _sheet_facts(sheet: "Worksheet") -> str:
    facts = [f"{count_of(sheet.max_row, 'row')} x {count_of(sheet.max_column, 'column')}"]
    if sheet.sheet_state != "visible":
        facts.append("hidden")
    merged = [str(area) for area in sheet.merged_cells.ranges]
    if merged:
        more = ", ..." if len(merged) > _MAX_MERGES_SHOWN else ""
        facts.append(f"merged cells {', '.join(sorted(merged)[:_MAX_MERGES_SHOWN])}{more}")
    charts = getattr(sheet, "_charts", [])
    if charts:
        facts.append(count_of(len(charts), "chart"))
    return "; ".join(facts)


def _cell_text(cell: Any, cached: Any) -> str:
    value = cell.value
    if cell.data_type == "f":
        formula = getattr(value, "text", value)
        computed = "not computed" if cached is None else _value_text(cached)
        text = f"{cell_text(formula)} -> {computed}"
    else:
        text = _value_text(value)
    note = getattr(cell, "comment", None)
    return f"{text} [note: {cell_text(note.text)}]" if note else text


def _value_text(value: Any) -> str:
    if isinstance(value, dt.datetime) and value.time() == dt.time():
        return value.date().isoformat()
    if isinstance(value, dt.datetime | dt.date | dt.time):
        return value.isoformat()
    return cell_text(value)


TOOLS = (
    ToolDefinition(
        name="ReadXLSX",
        description=(
            "Read an Excel workbook: lists the sheets and shows the asked rows with their row "
            "numbers and column letters, formulas with their last computed value, merged cells "
            "and cell notes."
        ),
        category=Capability.PERCEPTION,
        arguments=ReadXLSXArguments,
        run=read_xlsx,
        backend="openpyxl",
        paging="Ask for one sheet, fewer rows with max_rows, later ones with start_row.",
    ),
)
