"""A task of four steps with its trajectory, and the words that go with its cases."""

import json
from typing import Any

import pytest

from stages.construct.planning.cases.making import Source
from stages.construct.planning.supplied import FORMS
from stages.construct.planning.trajectory import Trajectory, of_solution
from taskdata.schema.task import ReferenceSolution, ReferenceStep, Task

SENTENCES = (
    "Read the note for what is wanted.",
    "Look at the harvest of each crop.",
    "Add up the weights.",
    "Write the total into the letter.",
)


def tool_form(name: str, description: str, **parameters: str) -> dict[str, Any]:
    return {
        "name": name,
        "description": description,
        "parameters": [
            {"name": key, "type": kind, "meaning": "What it needs."}
            for key, kind in parameters.items()
        ],
    }


WRITTEN: dict[str, Any] = {
    "plan": {"steps": SENTENCES},
    "distractors": {
        "tools": [
            tool_form(f"Harvest{name}", f"Tell the club about {what} of a harvest.", crop="string")
            for name, what in (
                ("Weather", "the weather on the day"),
                ("Recipes", "recipes with a crop"),
                ("Insurance", "an insurance of beds"),
                ("Songs", "songs that are sung"),
                ("Photos", "photographs in an album"),
                ("Tools", "spades and forks in the shed"),
                ("Visitors", "visitors of the open day"),
                ("Seeds", "where seeds are sold"),
                ("Calendar", "when to sow in the year after"),
                ("Prizes", "prizes for large pumpkins"),
            )
        ]
    },
    "substitute": {
        "step": 2,
        "error": "Error: this tool was switched off for good.",
        "tool": tool_form("ShowTable", "Show the rows of a table in a text.", path="string"),
    },
    "contradiction": {
        "kind": "contradiction",
        "query": "The letter has to state the total and must hold no figure at all.",
        "removed": [],
        "refusal": "The letter cannot state the total without any figure.",
        "proof": "A total is a figure, and the letter must hold none.",
    },
    "efficiency": {
        "prices": [
            {"tool": name, "cost": cost}
            for name, cost in {
                "read_file": 1,
                "ReadCSV": 2,
                "Calculator": 1,
                "DocxFileGenerator": 4,
                "python_execute": 5,
            }.items()
        ],
        "composites": [
            {
                "name": name,
                "description": "Does consecutive steps of the work in one call.",
                "first_step": first,
                "last_step": last,
                "cost": cost,
            }
            for name, first, last, cost in (
                ("ReadNoteAndTable", 1, 2, 2),
                ("ReadAndAdd", 2, 3, 2),
                ("AddAndWrite", 3, 4, 4),
            )
        ],
        "traps": [
            {
                "tool": tool_form("NotaryReader", "Read a note before a notary.", path="string"),
                "cost": 6,
                "replaces": ["read_file"],
            },
            {
                "tool": tool_form("LetterStamps", "List stamps for a letter.", country="string"),
                "cost": 2,
                "replaces": [],
            },
        ],
    },
}


@pytest.fixture
def written():
    """What is written for a question, with fields changed."""

    def make(question: str, **changes: Any) -> Any:
        form = FORMS.get(question, FORMS["infeasible"])
        return form.model_validate_json(json.dumps(WRITTEN[question] | changes))

    return make


@pytest.fixture
def harvest() -> Task:
    """Add up a harvest and write a letter about it."""
    steps = (
        ("read_file", {"path": "input/note.txt"}, "The total, please."),
        ("ReadCSV", {"path": "input/crops.csv"}, "leek 40, kale 2"),
        ("Calculator", {"expression": "40 + 2"}, "42"),
        (
            "DocxFileGenerator",
            {"path": "output/letter.docx", "blocks": [{"type": "paragraph", "text": "42 " * 90}]},
            "written",
        ),
    )
    return Task.model_validate(
        {
            "id": "harvest-letter",
            "tier": "workflow",
            "category": "data_analysis",
            "capabilities": ["logic"],
            "title": "A letter about the harvest of the club",
            "query": "Tell the club in letter.docx how many kg of each crop we harvested in all.",
            "files": [
                {"path": name, "sha256": letter * 64, "size_bytes": 9}
                for name, letter in (("note.txt", "a"), ("crops.csv", "b"))
            ],
            "tools": [
                "read_file",
                "ReadCSV",
                "Calculator",
                "DocxFileGenerator",
                "python_execute",
                "finish",
            ],
            "deliverables": [{"name": "letter.docx", "type": "docx", "description": "The letter."}],
            "checkpoints": {
                "id": "root",
                "requirement": "The letter states the total.",
                "verifier": {"kind": "judge", "rubric": "Is it there?"},
            },
            "reference": ReferenceSolution(
                steps=tuple(
                    ReferenceStep(tool=t, arguments=a, result=r, thought="") for t, a, r in steps
                ),
                final_answer="42 kg",
            ).model_dump(mode="json"),
        }
    )


@pytest.fixture
def trajectory(harvest: Task) -> Trajectory:
    """The steps of its reference solution."""
    assert harvest.reference is not None
    return of_solution(harvest, harvest.reference)


@pytest.fixture
def source(harvest: Task, trajectory: Trajectory) -> Source:
    """All that cases of the task are made of."""
    return Source(harvest, trajectory, SENTENCES, reviewer="Ada")
