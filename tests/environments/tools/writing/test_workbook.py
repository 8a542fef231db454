import pytest
from openpyxl import load_workbook

from taskdata.schema.tool import ToolErrorKind

REGIONS = {
    "name": "Regions",
    "columns": ["Region", "Revenue", "Share"],
    "rows": [["Nord", 1200.5, "=B2/B4"], ["Süd", 800, "=B3/B4"], ["Total", "=SUM(B2:B3)", None]],
    "number_formats": {"Revenue": "#,##0.00", "C": "0.0%"},
}


def write(call, *sheets):
    return call("XlsxFileGenerator", path="output/a.xlsx", sheets=list(sheets))


def test_values_formulas_and_formats_arrive(written, workspace):
    result = write(written, REGIONS, {"name": "Notes", "rows": [["only text"]]})
    assert result.text == "Wrote output/a.xlsx: 2 sheets (Regions 3x3, Notes 1x1)."
    workbook = load_workbook(workspace / "output/a.xlsx")
    sheet = workbook["Regions"]
    assert [cell.value for cell in sheet[2]] == ["Nord", 1200.5, "=B2/B4"]
    assert sheet["B4"].data_type == "f"
    assert all(cell.font.bold for cell in sheet[1])
    assert not sheet["A2"].font.bold
    assert (sheet["B3"].number_format, sheet["C3"].number_format) == ("#,##0.00", "0.0%")
    assert sheet["B1"].number_format == "General"
    assert sheet.freeze_panes == "A2"
    assert workbook["Notes"].freeze_panes is None


def test_a_header_is_text_and_may_be_left_unfrozen(written, workspace):
    write(written, {"name": "S", "columns": ["=A", "b"], "rows": [[1]], "freeze_header": False})
    sheet = load_workbook(workspace / "output/a.xlsx")["S"]
    assert (sheet["A1"].value, sheet["A1"].data_type) == ("=A", "s")
    assert sheet.freeze_panes is None


@pytest.mark.parametrize("kind", ["bar", "line", "pie"])
def test_charts_point_at_their_cells(written, workspace, kind):
    chart = {
        "kind": kind,
        "title": "Umsatz",
        "categories": "A2:A3",
        "values": "B1:B3",
        "anchor": "E2",
    }
    result = write(written, REGIONS | {"name": "It's", "charts": [chart]})
    assert "with 1 chart" in result.text
    (read,) = load_workbook(workspace / "output/a.xlsx")["It's"]._charts
    series = read.series[0]
    assert series.val.numRef.f == "'It''s'!$B$2:$B$3"
    assert series.tx.strRef.f == "'It''s'!B1"
    assert series.cat.numRef.f == "'It''s'!$A$2:$A$3"
    assert (read.anchor._from.col, read.anchor._from.row) == (4, 1)


def test_a_row_of_categories_gives_a_series_per_row(written, workspace):
    chart = {"kind": "line", "categories": "B1:C1", "values": "A2:C3", "anchor": "A9"}
    write(written, REGIONS | {"charts": [chart]})
    (read,) = load_workbook(workspace / "output/a.xlsx")["Regions"]._charts
    assert [series.val.numRef.f for series in read.series] == [
        "'Regions'!$B$2:$C$2",
        "'Regions'!$B$3:$C$3",
    ]


@pytest.mark.parametrize(
    ("change", "way_out"),
    [
        ({"number_formats": {"Umsatz": "0"}}, "neither a column header (Region, Revenue, Share)"),
        ({"rows": [["a\x01"]]}, "row 2: control characters"),
        (
            {"charts": [{"kind": "bar", "categories": "A", "values": "B1:B3", "anchor": "E2"}]},
            "A2:A9",
        ),
        (
            {"charts": [{"kind": "bar", "categories": "X!A2:A3", "values": "B1", "anchor": "E2"}]},
            "is not a range",
        ),
        (
            {"charts": [{"kind": "bar", "categories": "A2:A9", "values": "B1:B3", "anchor": "E2"}]},
            "as long as its categories",
        ),
        (
            {"charts": [{"kind": "bar", "categories": "A2:A3", "values": "B1:B3", "anchor": "2E"}]},
            "is not a cell",
        ),
    ],
)
def test_what_does_not_fit_is_refused_with_the_place(refused, change, way_out):
    assert way_out in write(refused, REGIONS | change)


def test_sheet_names_are_checked(refused, run):
    assert "repeat: regions" in write(refused, REGIONS, REGIONS | {"name": "REGIONS"})
    wrong = write(run, REGIONS | {"name": "a/b"})
    assert wrong.error is ToolErrorKind.BAD_ARGUMENTS
    assert "sheets[0].name" in wrong.text
