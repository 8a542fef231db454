"""What a program told its model, and offered it, goes on record: cut to a size, never trusted."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from environments.metering.formats.dialects import CHAT, MESSAGES, RESPONSES
from environments.metering.formats.instructions import read_instructions, read_tools
from taskdata.schema.tool import ToolSpec

LOOK = {"type": "object", "properties": {"at": {"type": "integer"}}}
ANYTHING = {"type": "object"}


@pytest.mark.parametrize(
    ("dialect", "body"),
    [
        (
            CHAT,
            {
                "messages": [
                    {"role": "system", "content": "Be careful."},
                    {"role": "developer", "content": [{"type": "text", "text": "Be brief."}]},
                    {"role": "user", "content": "Hello"},
                ]
            },
        ),
        (
            RESPONSES,
            {
                "instructions": "Be careful.",
                "input": [{"role": "developer", "content": "Be brief."}, {"type": "reasoning"}],
            },
        ),
        (
            MESSAGES,
            {"system": "Be careful.\n\nBe brief.", "messages": [{"role": "user", "content": "Hi"}]},
        ),
    ],
)
def test_the_system_prompt_is_found_in_every_format(dialect, body):
    assert read_instructions(dialect, body) == "Be careful.\n\nBe brief."


def test_a_request_without_one_tells_nothing():
    assert read_instructions(CHAT, {"messages": [{"role": "user", "content": "Hello"}]}) == ""
    assert read_instructions(RESPONSES, {"input": "Hello"}) == ""


def test_a_very_long_one_says_how_long_it_was():
    text = read_instructions(MESSAGES, {"system": [{"type": "text", "text": "x" * 1_000_000}]})
    assert len(text) < 51_000
    assert text.endswith("(the first of 1000000 characters)")


@pytest.mark.parametrize(
    ("tool", "expected"),
    [
        (
            {
                "type": "function",
                "function": {"name": "look", "description": "Looks.", "parameters": LOOK},
            },
            ("look", "Looks.", LOOK),
        ),
        (
            {"type": "function", "name": "look", "description": "Looks.", "parameters": LOOK},
            ("look", "Looks.", LOOK),
        ),
        (
            {"name": "look", "description": "Looks.", "input_schema": LOOK},
            ("look", "Looks.", LOOK),
        ),
        ({"type": "custom", "custom": {"name": "code"}}, ("code", "", ANYTHING)),
        ({"type": "bash_20250124", "name": "bash"}, ("bash", "", ANYTHING)),
        ({"type": "local_shell"}, ("local_shell", "", ANYTHING)),
    ],
)
def test_tools_are_found_in_every_format(tool, expected):
    (spec,) = read_tools({"tools": [tool]}, known=())
    assert (spec.name, spec.description, spec.parameters) == expected


def test_what_is_no_tool_or_known_already_is_left_out():
    tools = ["look", {}, {"name": 7}, {"name": "old"}, {"name": "new"}]
    assert [spec.name for spec in read_tools({"tools": tools}, known={"old"})] == ["new"]


@pytest.mark.parametrize(
    "schema",
    [{"description": "x" * 100_000}, {"a": float("nan")}, {"a": "\ud800"}, ["no", "object"]],
)
def test_a_schema_that_cannot_be_recorded_becomes_any_object(schema):
    (spec,) = read_tools({"tools": [{"name": "look", "input_schema": schema}]}, known=())
    assert spec.parameters == ANYTHING


def test_a_schema_nested_beyond_what_records_hold_becomes_any_object():
    schema: dict = {}
    for _ in range(300):
        schema = {"items": schema}
    (spec,) = read_tools({"tools": [{"name": "look", "input_schema": schema}]}, known=())
    assert spec.parameters == ANYTHING


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["name", "type", "function", "parameters", "text", "role", "content"]),
            inner,
            max_size=4,
        )
    ),
)


@given(st.sampled_from([CHAT, RESPONSES, MESSAGES]), JSON)
def test_whatever_a_program_writes_there_is_a_record_of_it(dialect, anything):
    names = ("messages", "input", "instructions", "system", "tools")
    body = dict.fromkeys(names, anything) | {"messages": [anything, {"role": "system"}]}
    assert isinstance(read_instructions(dialect, body), str)
    for spec in read_tools(body, known=()):
        assert ToolSpec.model_validate_json(spec.model_dump_json()) == spec
        assert json.loads(spec.model_dump_json())["name"]
