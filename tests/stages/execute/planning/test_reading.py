"""Plans as models write them: what is read, and what is told of the rest."""

import json

import pytest
from jsonschema import Draft202012Validator

from environments.ports import ModelReply
from stages.execute.planning.reading import MAX_STEPS, plan_schema, read_plan
from taskdata.errors import BadTaskData
from taskdata.schema.tool import ToolSpec

PLAN = (
    '{"steps": [{"purpose": " Read ", "tool": "read_file"}, {"purpose": "Think", "tool": "none"}]}'
)
READ = ToolSpec(name="read_file", description="Reads.", category="perception", parameters={})


def steps(text: str, **fields):
    written = read_plan(ModelReply(text, "m", **fields))
    return [(step.purpose, step.tool) for step in written.plan_steps]


@pytest.mark.parametrize(
    "text",
    [PLAN, f"```json\n{PLAN}\n```", f"Here is my plan:\n{PLAN}\nShall I begin?"],
    ids=["bare", "fenced", "in prose"],
)
def test_a_plan_is_read_whatever_surrounds_it(text):
    assert steps(text) == [("Read", "read_file"), ("Think", None)]


def test_a_whole_plan_is_read_though_its_reply_was_cut_after_it():
    assert len(steps(PLAN + "\nAnd so", stop_reason="length")) == 2


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "empty"),
        ("1. Read the notes", "empty"),
        ("{}", "steps: Field required"),
        ('{"steps": []}', "steps: List should have at least 1 item"),
        ('{"steps": [{"purpose": "  "}]}', "steps.0.purpose"),
        ('{"steps": [{"tool": "read_file"}]}', "steps.0.purpose"),
        (json.dumps({"steps": [{"purpose": "on"}] * (MAX_STEPS + 1)}), "at most 40 items"),
        (json.dumps({"steps": [{"purpose": "x" * 1_001}]}), "at most 1000 characters"),
        (f"{PLAN} {PLAN}", "not JSON"),
        ('{"steps": ' + "[" * 500 + "]" * 500 + "}", "nested"),
        ('{"steps": "' + "x" * 1_000_000 + '"}', "longer than"),
    ],
)
def test_what_is_no_plan_says_why(text, fault):
    with pytest.raises(BadTaskData, match=fault):
        steps(text)


def test_a_cut_plan_and_a_refusal_say_so():
    with pytest.raises(BadTaskData, match="cut at its length limit"):
        steps(PLAN[:40], stop_reason="length")
    with pytest.raises(BadTaskData, match="refused"):
        steps(PLAN, stop_reason="refused")


def test_a_schema_allows_the_tools_that_there_are():
    schema = Draft202012Validator(plan_schema((READ,), refines=True))
    good = {"criticism": "none", "steps": [{"purpose": "Read", "tool": "read_file"}]}
    assert schema.is_valid(good)
    assert schema.is_valid(good | {"steps": [{"purpose": "Think", "tool": None}]})
    assert not schema.is_valid(good | {"steps": [{"purpose": "Read", "tool": "read_files"}]})
    assert not schema.is_valid({"steps": good["steps"]})
