"""docs/failures.md defines every label, and no other."""

import re
from pathlib import Path

import pytest

from taskdata.label_definitions import DEFINITIONS
from taskdata.schema.diagnosis import LABELS, TOOL_USE, FailureStage, FailureType, Taxonomy
from tests.stages.diagnose.agreement_with_people import debatable_names, given_labels
from tests.stages.diagnose.labelled import FOLDER, HALVES, LabelledTrial, load

DOC = Path(__file__).parents[3] / "docs" / "failures.md"
NAMES = {kind.value: names for kind, names in LABELS.items()}
SHOWN_BY = {
    # Nothing failed in it, and so it has no label.
    "tool_use.false_positive": None,
    "tool_use.mcp_issue": "infrastructure.tool_backend",
}
"""Labels that are never given, with the label that their example has."""
EXAMPLE = re.compile(
    r"(?P<trial>[a-z0-9-]+)"
    r"(:(?P<line>\d+)|, leaf (?P<leaf>\S+)|, deliverable (?P<deliverable>\S+))?"
)
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


def trial_of(name: str) -> LabelledTrial:
    (folder,) = [FOLDER / half / name for half in HALVES if (FOLDER / half / name).exists()]
    return load(folder)


@pytest.mark.parametrize("kind", NAMES)
def test_every_label_has_an_example_in_which_people_saw_it(kind: str):
    for label, cells in table(kind).items():
        match = EXAMPLE.fullmatch(cells[-1])
        assert match, (label, cells[-1])
        trial = trial_of(match["trial"])
        name = SHOWN_BY.get(f"{kind}.{label}", f"{kind}.{label}")
        if name is None:
            assert given_labels(trial) == set()
            continue
        assert name in given_labels(trial) - debatable_names(trial), match["trial"]
        assert kind not in debatable_names(trial)
        places = [p for one in trial.given.labels if one.name == label for p in one.evidence]
        if match["line"] and kind not in ("stage", "type"):
            assert int(match["line"]) in {place.line for place in places}
        elif match["line"]:
            assert 1 <= int(match["line"]) <= len(trial.transcript.events)
        else:
            wanted = match["leaf"], match["deliverable"]
            assert wanted == (None, None) or wanted in {(p.leaf, p.deliverable) for p in places}
