import pytest

from stages.diagnose.levels import requirement_level
from taskdata.schema.checkpoint import Check, Checkpoint, Judge

VALUES, SHEETS = Check(name="xlsx_table", deliverable="a.xlsx"), Check(name="xlsx_sheets")
ONE, TWO = (
    Judge(rubric="?", deliverables=("a.docx",)),
    Judge(rubric="?", deliverables=("a.docx", "b.xlsx")),
)


@pytest.mark.parametrize(
    ("verifier", "requirement", "level"),
    [
        (VALUES, "Each total is right.", "A"),
        (ONE, "The risks are named.", "A"),
        (VALUES, "The totals are consistent with the daily rows.", "B"),
        (VALUES, "Every grade follows from the final mark.", "B"),
        (VALUES, "All combinations are listed.", "A"),
        (TWO, "The memo names the winner of the workbook.", "B"),
        (SHEETS, "There is a sheet per region.", "C"),
        (SHEETS, "The sheets are the same across all regions.", "C"),
        (ONE, "The layout is clean.", "C"),
    ],
)
def test_level_of_a_requirement(verifier: Check | Judge, requirement: str, level: str):
    leaf = Checkpoint(id="x", requirement=requirement, verifier=verifier)
    assert requirement_level(leaf).value == level
