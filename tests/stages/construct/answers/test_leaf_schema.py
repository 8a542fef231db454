"""A constrained reply can only name checks with arguments and files that fit them."""

import json

import jsonschema
import pytest

from stages.construct.answers.drafts import tree_of
from stages.construct.answers.forms import ROOT, LeafForm, leaf_node
from stages.construct.answers.leaf_schema import leaf_schema
from stages.score.library import check_library
from taskdata.schema.checkpoint import Check, Judge

RIGHT = {
    "looks_at": ["a.csv"],
    "check": "csv_columns",
    "args": {"columns": ["Crop", "Kilos"]},
    "rubric": "",
}
KIND = "10 if it is kind, 0 if it is not"
JUDGED = RIGHT | {"check": "", "args": "", "looks_at": ["a.md"], "rubric": KIND}
ANSWER = RIGHT | {"check": "answer_number", "args": {"expected": 42}, "looks_at": []}
CHECKS = tuple(check_library().values())
DELIVERABLES = [("a.csv", "csv"), ("a.md", "text")]
SCHEMA = leaf_schema(CHECKS, DELIVERABLES, may_judge=True)


def is_allowed(leaf, schema=SCHEMA):
    return jsonschema.Draft202012Validator(schema).is_valid(leaf)


def test_leaves_that_fit_are_allowed_and_become_a_tree():
    leaves = (RIGHT, JUDGED, ANSWER)
    assert all(map(is_allowed, leaves))
    forms = [LeafForm.model_validate_json(json.dumps(leaf)) for leaf in leaves]
    tree = tree_of(
        (ROOT, *(leaf_node(form, f"Demand {n}.", n) for n, form in enumerate(forms, start=1)))
    )
    first, second, third = (leaf.verifier for leaf in tree.leaves())
    assert first == Check(name="csv_columns", deliverable="a.csv", args=RIGHT["args"])
    assert second == Judge(rubric=KIND, deliverables=("a.md",))
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
    assert not is_allowed(RIGHT | fault)


def test_a_judge_can_be_named_only_where_it_may():
    without = leaf_schema(CHECKS, DELIVERABLES, may_judge=False)
    assert is_allowed(RIGHT, without)
    assert not is_allowed(JUDGED, without)
