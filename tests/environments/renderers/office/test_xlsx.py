import datetime
import time
import zipfile
from pathlib import Path

import openpyxl
import pytest
import xlsxwriter
from openpyxl.chart import BarChart, Reference
from openpyxl.styles import Font, PatternFill
from openpyxl.worksheet.formula import ArrayFormula

from environments.renderers.limits import Unreadable
from environments.renderers.office.xlsx import read_xlsx
from taskdata.schema.views import Cell


@pytest.fixture
def saved(tmp_path: Path):
    """Save a workbook with these cells on its one sheet and read it back."""

    def save(cells: dict[str, object], formats: dict[str, str] | None = None) -> dict[str, Cell]:
        workbook = openpyxl.Workbook()
        for address, value in cells.items():
            workbook.active[address] = value
        for address, number_format in (formats or {}).items():
            workbook.active[address].number_format = number_format
        workbook.save(tmp_path / "book.xlsx")
        return read_xlsx(tmp_path / "book.xlsx").sheets[0].cells

    return save


def test_formulas_written_without_values_are_computed(saved):
    cells = saved(
        {
            "A1": 2, "A2": 3, "A3": "=SUM(A1:A2)", "A4": '=IF(A3>4,"big","small")', "A5": "=1/0",
            "A6": "=ROUND(AVERAGE(A1:A2),1)", "A7": "=A3=5",
            "A8": ArrayFormula("A8", "=SUM(A1:A2*A1:A2)"),
        }
    )  # fmt: skip
    assert [cells[a].value for a in ("A3", "A4", "A5", "A6", "A7", "A8")] == [
        5, "big", "#DIV/0!", 2.5, True, 13,
    ]  # fmt: skip
    assert cells["A3"].formula == "=SUM(A1:A2)"


def test_a_formula_that_nobody_can_compute_has_no_value(saved):
    cells = saved(
        {"A1": "=NOSUCHFUNCTION(1)", "A2": "=SUM(", "A3": "=[other.xlsx]S!A1", "A4": "=1+1"}
    )
    assert [cells[a].value for a in ("A1", "A2", "A3", "A4")] == [None, None, None, 2]


@pytest.mark.parametrize(
    ("formula", "value"),
    [
        ("=1+1", 2),
        ("=NOSUCHFUNCTION(1)", None),
        ("=IFERROR(NOSUCHFUNCTION(1),7)", 7),
        ('=SUM(SUMIFS(B:B,C:C,{"x","y"}))', None),
        ("=[other.xlsx]S!A1", None),
    ],
)
def test_a_stored_value_that_lies_does_not_count(tmp_path, formula, value):
    book = xlsxwriter.Workbook(tmp_path / "book.xlsx")
    book.add_worksheet().write_formula("A1", formula, None, 1_000_000)
    book.close()
    assert read_xlsx(tmp_path / "book.xlsx").sheets[0].cells["A1"].value == value


def test_dates_come_as_iso_text(saved):
    cells = saved(
        {
            "A1": datetime.date(2026, 3, 31),
            "A2": datetime.datetime(2026, 3, 31, 9, 30),
            "A3": "=A1+1",
            "A4": "=DATE(2026,1,31)",
        },
        {"A3": "yyyy-mm-dd"},
    )
    assert [cells[a].value for a in ("A1", "A2", "A3", "A4")] == [
        "2026-03-31", "2026-03-31T09:30:00", "2026-04-01", "2026-01-31",
    ]  # fmt: skip


def test_formats_charts_and_panes(tmp_path):
    workbook = openpyxl.Workbook()
    sheet = workbook.active
    sheet.title = "Regions"
    for row in (["Region", "Revenue"], ["North", 1], ["South", 2]):
        sheet.append(row)
    sheet["A1"].font = Font(bold=True)
    sheet["A1"].fill = PatternFill("solid", fgColor="FFCC00")
    sheet["B2"].number_format = "#,##0.00"
    chart = BarChart()
    chart.add_data(Reference(sheet, min_col=2, min_row=1, max_row=3), titles_from_data=True)
    sheet.add_chart(chart, "E2")
    sheet.freeze_panes = "A2"
    workbook.create_sheet("Notes").sheet_state = "hidden"
    workbook.save(tmp_path / "book.xlsx")
    regions, notes = read_xlsx(tmp_path / "book.xlsx").sheets
    assert (regions.name, regions.rows, regions.columns) == ("Regions", 3, 2)
    assert (regions.charts, regions.frozen, regions.hidden) == (("bar",), "A2", False)
    assert regions.cells["A1"].bold
    assert regions.cells["A1"].fill == "FFCC00"
    assert regions.cells["B2"].number_format == "#,##0.00"
    assert notes.hidden


def test_one_cell_in_the_last_corner_is_one_cell(saved):
    started = time.monotonic()
    cells = saved({"A1": 1, "XFD1048576": 2})
    assert list(cells) == ["A1", "XFD1048576"]
    assert time.monotonic() - started < 20


def rewritten(path: Path, part: str, content: bytes) -> None:
    with zipfile.ZipFile(path) as old:
        parts = {name: old.read(name) for name in old.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for name, data in (parts | {part: content}).items():
            new.writestr(name, data)


@pytest.mark.parametrize(
    ("part", "content", "reason"),
    [
        ("xl/bomb.bin", b"\0" * (300 * 1024 * 1024), "unpacked bytes"),
        (
            "xl/worksheets/sheet1.xml",
            b'<!DOCTYPE a [<!ENTITY x "xxxx">]><worksheet>&x;</worksheet>',
            "document type",
        ),
    ],
    ids=["decompression bomb", "entities"],
)
def test_a_hostile_package_is_refused_before_it_is_opened(tmp_path, part, content, reason):
    path = tmp_path / "book.xlsx"
    openpyxl.Workbook().save(path)
    rewritten(path, part, content)
    with pytest.raises(Unreadable, match=reason):
        read_xlsx(path)


@pytest.mark.parametrize("content", [b"Region,Revenue\nNorth,1\n", b"PK\x03\x04 not really"])
def test_what_is_not_a_workbook_is_unreadable(tmp_path, content):
    path = tmp_path / "book.xlsx"
    path.write_bytes(content)
    with pytest.raises(Unreadable, match="not that of a XLSX file"):
        read_xlsx(path)


def test_a_workbook_over_the_cell_limit_is_unreadable(tmp_path, monkeypatch):
    monkeypatch.setattr("environments.renderers.office.xlsx.MAX_CELLS", 10)
    workbook = openpyxl.Workbook()
    for _ in range(6):
        workbook.active.append([1, 2])
    workbook.save(tmp_path / "book.xlsx")
    with pytest.raises(Unreadable, match="12 cells"):
        read_xlsx(tmp_path / "book.xlsx")
