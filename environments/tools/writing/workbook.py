"""XlsxFileGenerator: workbooks with formulas, number formats and charts."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from environments.toolkit.definition import Arguments, CellValue, OutputPath, ToolDefinition
from environments.tools.wording import count_of
from environments.tools.workspace.paths import output_file
from taskdata.errors import ToolRefused
from taskdata.schema.task import Capability
from taskdata.schema.tool import ToolResult

if TYPE_CHECKING:
    from openpyxl.worksheet.worksheet import Worksheet

_COLUMN_LETTER = re.compile(r"[A-Z]{1,3}")
_MIN_WIDTH, _MAX_WIDTH = 8, 60
_ROWS_MEASURED = 200


class ChartSpec(Arguments):
    """A chart beside the data."""

    kind: Literal["bar", "line", "pie"]
    title: str | None = None
    categories: str = Field(description="Range of the labels, such as A2:A9.")
    values: str = Field(
        description="Range of the numbers, such as B1:B9; one cell longer than the categories "
        "where its first cell names the series."
    )
    anchor: str = Field(description="Cell of the upper left corner, such as E2.")


class SheetSpec(Arguments):
    """One worksheet."""

    name: str = Field(min_length=1, max_length=31, pattern=r"^[^\[\]:*?/\\]+$")
    columns: list[str] | None = Field(default=None, description="Header, in bold.")
    rows: list[list[CellValue]] = Field(
        description='A text that starts with "=" is a formula, such as "=SUM(B2:B9)".'
    )
    number_formats: dict[str, str] = Field(
        default_factory=dict,
        description='By column header or letter, such as {"Revenue": "#,##0.00", "C": "0.0%"}.',
    )
    freeze_header: bool = True
    charts: list[ChartSpec] = Field(default_factory=list)


class XlsxFileGeneratorArguments(Arguments):
    """Arguments of XlsxFileGenerator."""

    path: OutputPath
    sheets: list[SheetSpec] = Field(min_length=1)


def write_xlsx(args: XlsxFileGeneratorArguments, workspace: Path) -> ToolResult:
    """Write the workbook."""
    from openpyxl import Workbook

    target = output_file(workspace, args.path, (".xlsx",))
    names = [spec.name.lower() for spec in args.sheets]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ToolRefused(f"Sheet names repeat: {', '.join(repeated)}.")
    workbook = Workbook()
    workbook.remove(workbook.worksheets[0])
    for spec in args.sheets:
        _fill(workbook.create_sheet(spec.name), spec)
    workbook.save(target)
    return ToolResult(
        text=f"Wrote {args.path}: {count_of(len(args.sheets), 'sheet')} "
        f"({', '.join(_summary(spec) for spec in args.sheets)})."
    )


def _summary(spec: SheetSpec) -> str:
    width = max([len(spec.columns or ()), *map(len, spec.rows)])
    charts = f" with {count_of(len(spec.charts), 'chart')}" if spec.charts else ""
    return f"{spec.name} {len(spec.rows)}x{width}{charts}"


def _fill(sheet: "Worksheet", spec: SheetSpec) -> None:
    from openpyxl.styles import Font
    from openpyxl.utils.exceptions import IllegalCharacterError

    rows: list[list[Any]] = [list(spec.columns)] if spec.columns else []
    rows.extend(spec.rows)
    for number, row in enumerate(rows, 1):
        try:
            sheet.append(row)
        except IllegalCharacterError as exc:
            raise ToolRefused(
                f"Sheet {spec.name}, row {number}: control characters cannot stand in a cell."
            ) from exc
    if spec.columns:
        for cell in sheet[1]:
            # A header is text, even if it starts with "=".
            cell.data_type = "s"
            cell.font = Font(bold=True)
        if spec.freeze_header:
            sheet.freeze_panes = "A2"
    _format_numbers(sheet, spec)
    _set_widths(sheet, rows)
    for chart in spec.charts:
        _add_chart(sheet, chart)


def _format_numbers(sheet: "Worksheet", spec: SheetSpec) -> None:
    from openpyxl.utils import column_index_from_string

    columns = spec.columns or []
    for key, number_format in spec.number_formats.items():
        if key in columns:
            index = columns.index(key) + 1
        elif _COLUMN_LETTER.fullmatch(key):
            index = column_index_from_string(key)
        else:
            raise ToolRefused(
                f"Sheet {spec.name}: number_formats names {key!r}, which is neither a column "
                f"header ({', '.join(columns) or 'there are none'}) nor a letter."
            )
        for row in range(2 if columns else 1, sheet.max_row + 1):
            sheet.cell(row, index).number_format = number_format


def _set_widths(sheet: "Worksheet", rows: list[list[Any]]) -> None:
    from openpyxl.utils import get_column_letter

    for index in range(max(map(len, rows), default=0)):
        longest = max(
            len(str(row[index])) if row[index] is not None else 0
            for row in rows[:_ROWS_MEASURED]
            if index < len(row)
        )
        width = min(max(longest + 2, _MIN_WIDTH), _MAX_WIDTH)
        sheet.column_dimensions[get_column_letter(index + 1)].width = width


def _add_chart(sheet: "Worksheet", spec: ChartSpec) -> None:
    from openpyxl.chart import BarChart, LineChart, PieChart, Reference
    from openpyxl.utils import coordinate_to_tuple

    labels = _bounds(spec.categories)
    numbers = _bounds(spec.values)
    try:
        coordinate_to_tuple(spec.anchor)
    except ValueError as exc:
        raise ToolRefused(f"anchor {spec.anchor!r} is not a cell such as E2.") from exc
    # Categories along one row mean one series per row, else one series per column.
    along = 0 if labels[1] == labels[3] and labels[0] != labels[2] else 1
    length, named = (area[along + 2] - area[along] + 1 for area in (labels, numbers))
    if named not in (length, length + 1):
        raise ToolRefused(
            f"The chart's values {spec.values} must be as long as its categories "
            f"{spec.categories}, or one cell longer for the name of the series."
        )
    chart: Any = {"bar": BarChart, "line": LineChart, "pie": PieChart}[spec.kind]()
    if spec.title:
        chart.title = spec.title
    if spec.kind != "pie":
        # Since openpyxl 3.1 axes are hidden unless told otherwise.
        chart.x_axis.delete = chart.y_axis.delete = False
    chart.add_data(
        Reference(sheet, *numbers), from_rows=along == 0, titles_from_data=named > length
    )
    chart.set_categories(Reference(sheet, *labels))
    sheet.add_chart(chart, spec.anchor)


def _bounds(area: str) -> tuple[int, int, int, int]:
    """Return first column, first row, last column and last row of a range."""
    from openpyxl.utils import range_boundaries

    try:
        bounds = range_boundaries(area)
    except ValueError as exc:
        raise ToolRefused(f"{area!r} is not a range such as A2:A9.") from exc
    if None in bounds:
        raise ToolRefused(f"{area!r} is not a range such as A2:A9.")
    first_column, first_row, last_column, last_row = (int(edge or 0) for edge in bounds)
    return first_column, first_row, last_column, last_row


TOOLS = (
    ToolDefinition(
        name="XlsxFileGenerator",
        description=(
            "Write an Excel workbook: sheets with a bold header, values and formulas, number "
            "formats, and bar, line or pie charts over its cells."
        ),
        category=Capability.OPERATION,
        arguments=XlsxFileGeneratorArguments,
        run=write_xlsx,
        backend="openpyxl",
        paging="Write less at once.",
    ),
)
