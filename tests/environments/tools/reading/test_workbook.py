import datetime as dt

import pytest
from openpyxl import Workbook
from openpyxl.comments import Comment


@pytest.fixture
def book(workspace):
    """A workbook with a formula, a date, a merge, a note and a hidden sheet."""
    workbook = Workbook()
    sheet = workbook.active
    sheet.title = "Umsatz"
    sheet.append(["Region", "Betrag", "Stand"])
    sheet.append(["Nord", 12.5, dt.date(2025, 3, 1)])
    sheet.append(["Summe", "=SUM(B2:B2)", dt.datetime(2025, 3, 1, 8, 30)])
    sheet.merge_cells("A5:B5")
    sheet["A5"] = "two\nlines"
    sheet["B2"].comment = Comment("estimated", "Ann")
    workbook.create_sheet("Alt").sheet_state = "hidden"
    workbook.save(workspace / "input/a.xlsx")
    return workspace / "input/a.xlsx"


def test_sheets_are_shown_with_formulas_dates_merges_and_notes(run, book):
    assert run("ReadXLSX", path="input/a.xlsx").text.splitlines() == [
        "input/a.xlsx: 2 sheets: Umsatz, Alt",
        "",
        "== Umsatz: 5 rows x 3 columns; merged cells A5:B5",
        "row | A | B | C",
        "1 | Region | Betrag | Stand",
        "2 | Nord | 12.5 [note: estimated] | 2025-03-01",
        "3 | Summe | =SUM(B2:B2) -> not computed | 2025-03-01T08:30:00",
        "4 |  |  | ",
        r"5 | two\nlines |  | ",
        "",
        "== Alt: 1 row x 1 column; hidden",
        "row | A",
        "1 | ",
    ]


def test_rows_are_paged(run, book):
    text = run("ReadXLSX", path="input/a.xlsx", sheet="Umsatz", start_row=1, max_rows=2).text
    assert "1 | Region" not in text
    assert text.endswith("(rows 2 to 3 of 5; go on with start_row=3)")


def test_computed_values_stand_beside_their_formulas(run, workspace):
    from zipfile import ZipFile

    workbook = Workbook()
    workbook.active["A1"] = "=1+1"
    workbook.save(workspace / "input/plain.xlsx")
    # As a spreadsheet program saves it: the formula with its last value.
    with (
        ZipFile(workspace / "input/plain.xlsx") as plain,
        ZipFile(workspace / "input/b.xlsx", "w") as computed,
    ):
        for name in plain.namelist():
            data = plain.read(name).replace(b"<f>1+1</f><v />", b"<f>1+1</f><v>2</v>")
            computed.writestr(name, data.replace(b"<f>1+1</f><v></v>", b"<f>1+1</f><v>2</v>"))
    assert "1 | =1+1 -> 2" in run("ReadXLSX", path="input/b.xlsx").text


def test_an_unknown_sheet_names_those_there_are(refused, book):
    text = refused("ReadXLSX", path="input/a.xlsx", sheet="Sales")
    assert text == "There is no sheet 'Sales'. Sheets: Umsatz, Alt."


@pytest.mark.parametrize("cut", [10, 500, 2000])
def test_a_truncated_workbook_is_refused(refused, book, cut):
    book.write_bytes(book.read_bytes()[:cut])
    text = refused("ReadXLSX", path="input/a.xlsx")
    assert text.startswith("input/a.xlsx cannot be read as an XLSX workbook")


def test_damaged_xml_and_other_formats_are_refused(refused, workspace, book):
    from zipfile import ZipFile

    with ZipFile(workspace / "input/c.xlsx", "w") as archive, ZipFile(book) as good:
        for name in good.namelist():
            archive.writestr(name, b"<oops" if "sheet1" in name else good.read(name))
    assert "damaged" in refused("ReadXLSX", path="input/c.xlsx")
    (workspace / "input/d.xlsx").write_text("a,b\n1,2\n")
    assert "another format" in refused("ReadXLSX", path="input/d.xlsx")
