"""docs/failures.md defines every label, and no other."""

import re
from pathlib import Path

import pytest

from taskdata.label_definitions import DEFINITIONS
from taskdata.schema.diagnosis import LABELS, TOOL_USE, FailureStage, FailureType, Taxonomy

DOC = Path(__file__).parents[3] / "docs" / "failures.md"
NAMES = {kind.value: names for kind, names in LABELS.items()}
NAMES |= {"stage": tuple(FailureStage), "type": tuple(FailureType)}


def table(kind: str) -> dict[str, list[str]]:
    """Rows of the table whose first column has this name, by label."""
    lines = DOC.read_text(encoding="utf-8").splitlines()
    head = re.compile(rf"\| `?{kind}`? \|")
    start = next(n for n, line in enumerate(lines) if head.match(line)) + 2
    rows = {}
    for line in lines[start:]:
        if not line.startswith("|"):
            break
        name, *cells = [cell.strip() for cell in line.strip("|").split("|")]
        rows[name.strip("`")] = cells
    return rows


@pytest.mark.parametrize("kind", NAMES)
def test_every_label_is_defined_once(kind: str):
    assert sorted(table(kind)) == sorted(NAMES[kind])
    assert all(cell for cells in table(kind).values() for cell in cells)


def test_subcategories_of_tool_use_stand_under_their_category():
    rows = table("tool_use")
    told = {name: cells[0].replace(" ", "_").replace("-", "_") for name, cells in rows.items()}
    assert told == {name: category for category, names in TOOL_USE.items() for name in names}


@pytest.mark.parametrize("kind", NAMES)
def test_help_for_those_who_give_labels_says_what_the_page_says(kind: str):
    place = 1 if kind == Taxonomy.TOOL_USE else 0
    told = {name: cells[place].replace("`", "") for name, cells in table(kind).items()}
    assert DEFINITIONS[kind].keys() == told.keys()
    assert all(told[name].startswith(words) for name, words in DEFINITIONS[kind].items())
