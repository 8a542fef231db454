"""A constrained reply can only name checks with arguments and files that fit them."""

import json

import jsonschema
import pytest

from stages.construct.answers.drafts import tree_of
from stages.construct.answers.forms import LeavesForm, nodes_of
from stages.construct.answers.leaf_schema import leaves_schema
from stages.score.library import check_library
from taskdata.schema.checkpoint import Check, Judge

RIGHT = {
    "requirement": "The table has the columns asked for.",
    "looks_at": ["a.csv"],
    "check": "csv_columns",
    "args": {"columns": ["Crop", "Kilos"]},
    "rubric": "",
}
JUDGED = RIGHT | {"check": "", "args": "", "looks_at": ["a.md"], "rubric": "10 if it is kind"}
ANSWER = RIGHT | {"check": "answer_number", "args": {"expected": 42}, "looks_at": []}
SCHEMA = leaves_schema(tuple(check_library().values()), [("a.csv", "csv"), ("a.md", "text")])


def is_allowed(*leaves):
    return jsonschema.Draft202012Validator(SCHEMA).is_valid({"checkpoints": list(leaves)})


def test_leaves_that_fit_are_allowed_and_become_a_tree():
    assert is_allowed(RIGHT, JUDGED, ANSWER)
    said = json.dumps({"checkpoints": [RIGHT, JUDGED, ANSWER]})
    tree = tree_of(nodes_of(LeavesForm.model_validate_json(said)))
    first, second, third = (leaf.verifier for leaf in tree.leaves())
    assert first == Check(name="csv_columns", deliverable="a.csv", args=RIGHT["args"])
    assert second == Judge(rubric="10 if it is kind", deliverables=("a.md",))
    assert third.deliverable is None


@pytest.mark.parametrize(
    "fault",
    [
        {"looks_at": ["a.md"]},
        {"looks_at": []},
        {"looks_at": ["b.csv"]},
        {"args": {"columns": []}},
        {"args": {"column": ["Crop"]}},
        {"args": '{"columns": ["Crop"]}'},
        {"check": "columns"},
    ],
)
def test_leaves_that_do_not_fit_cannot_be_written(fault):
    assert not is_allowed(RIGHT | fault, JUDGED, ANSWER)


def test_fewer_than_three_leaves_cannot_be_written():
    assert not is_allowed(RIGHT, JUDGED)
