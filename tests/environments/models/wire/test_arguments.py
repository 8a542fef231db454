"""Arguments as a model wrote them: one JSON object that records can hold, or nothing."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from environments.models.wire.arguments import clean_text, fault_of, read_arguments
from environments.models.wire.reading import read_call
from taskdata.schema.transcript import ToolCall

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=12,
)


def nested(depth: int, inner: str = "1") -> str:
    return '{"a": [' * depth + inner + "]}" * depth


@given(st.dictionaries(st.text(), JSON, max_size=6))
def test_an_object_is_read_as_it_is(arguments):
    raw = json.dumps(arguments)
    call = ToolCall(id="1", tool="look", arguments=read_arguments(raw), raw=raw)
    if call.arguments is not None:
        assert call.arguments == json.loads(raw)
        assert ToolCall.model_validate_json(call.model_dump_json()) == call


@pytest.mark.parametrize(
    "raw", ["", "[1]", "7", "{", '{"a": NaN}', '{"a": 1e999}', '{"a": "\\ud800"}']
)
def test_what_is_no_object_or_fits_no_record_is_not_read(raw):
    assert read_arguments(raw) is None


@pytest.mark.parametrize("depth", [51, 300, 100_000])
def test_what_is_nested_deeper_than_records_are_read_is_not_read(depth):
    assert read_arguments(nested(depth)) is None


def test_many_brackets_in_a_text_are_no_nesting():
    raw = json.dumps({"code": "{[" * 500, "rows": [[1]] * 500})
    assert read_arguments(raw) == json.loads(raw)


def test_a_server_that_sends_nested_arguments_as_an_object_is_read_alike():
    call = read_call("1", "look", json.loads(nested(120)))
    assert call.arguments is None
    assert call.raw.startswith('{"a": [')


@given(st.text())
def test_text_is_cleaned_of_what_stores_cannot_hold(text):
    clean = clean_text(text + "\0\ud800")
    assert "\0" not in clean
    assert clean.encode()


@pytest.mark.parametrize(
    ("raw", "fault"),
    [
        ("", "there are none"),
        ("{'path': 'a', 'all': True}", "a Python dictionary; JSON has double quotes"),
        ('{"path": "a",}', "a comma stands before a closing bracket at character"),
        ('{"rows": [1, 2,], "n": 3}', "a comma stands before a closing bracket"),
        ('{"text": "one\ntwo"}', r"a line break or a tab stands inside a text at character 14"),
        ("input/a.csv", "they do not begin with {"),
        ("print('a')", "they do not begin with {"),
        ('{"path": "a"', "expecting ',' delimiter at character 13"),
        ("[1, 2]", "not an object in braces"),
        ('"a"', "not an object in braces"),
        ('{"n": NaN}', "NaN, Infinity"),
        ('{"a": "\\ud800"}', "cannot be stored"),
        ('{"a":' * 100_000, "too many brackets"),
        ("{" + "-" * 50_000, "at character"),
    ],
)
def test_the_fault_is_named(raw, fault):
    assert read_arguments(raw) is None
    assert fault in fault_of(raw)
