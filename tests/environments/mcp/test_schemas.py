"""Argument schemas of strangers: what is safe of them stays, and validating is always quick."""

import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from environments.mcp.client.schemas import explain_bad_arguments, safe_schema
from environments.tool_runtime.catalogue import type_text

ANYTHING = {"type": "object", "properties": {}}


def test_what_is_plain_stays():
    schema = {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "Where.", "minLength": 1},
            "rows": {"type": "array", "items": {"type": "integer", "minimum": 0}},
            "mode": {"enum": ["fast", "slow"], "default": "fast"},
        },
        "required": ["path"],
        "additionalProperties": False,
    }

    assert safe_schema(schema) == schema


def test_local_references_are_inlined_and_others_allow_anything():
    schema = {
        "type": "object",
        "$defs": {"Cell": {"type": "string", "maxLength": 9}},
        "properties": {
            "cell": {"$ref": "#/$defs/Cell", "description": "One cell."},
            "far": {"$ref": "http://169.254.169.254/schema"},
            "file": {"$ref": "file:///etc/passwd"},
            "lost": {"$ref": "#/$defs/Nothing"},
        },
    }

    assert safe_schema(schema)["properties"] == {
        "cell": {"type": "string", "maxLength": 9, "description": "One cell."},
        "far": {},
        "file": {},
        "lost": {},
    }


def test_a_schema_within_itself_ends():
    schema = {
        "type": "object",
        "$defs": {"Tree": {"properties": {"left": {"$ref": "#/$defs/Tree"}}, "type": "object"}},
        "properties": {"tree": {"$ref": "#/$defs/Tree"}},
    }

    tree = safe_schema(schema)["properties"]["tree"]
    assert tree == {"type": "object", "properties": {"left": {}}}


def test_alternatives_are_any_of():
    schema = {
        "type": "object",
        "properties": {
            "one": {"oneOf": [{"type": "string"}, {"type": "null"}]},
            "types": {"type": ["string", "null"], "description": "Maybe."},
            "all": {"allOf": [{"type": "integer", "minimum": 1}]},
        },
    }

    assert safe_schema(schema)["properties"] == {
        "one": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "types": {"anyOf": [{"type": "string"}, {"type": "null"}], "description": "Maybe."},
        "all": {"type": "integer", "minimum": 1},
    }


def test_references_that_multiply_are_given_up():
    schema: dict[str, Any] = {"type": "object", "properties": {"a": {"$ref": "#/$defs/L0"}}}
    schema["$defs"] = {
        f"L{level}": {
            "type": "object",
            "properties": {str(i): {"$ref": f"#/$defs/L{level + 1}"} for i in range(10)},
        }
        for level in range(10)
    }

    began = time.monotonic()
    assert safe_schema(schema) == ANYTHING
    assert time.monotonic() - began < 20


@pytest.mark.parametrize(
    "declared",
    [
        {},
        {"type": "string"},
        {"type": 3, "properties": [], "required": 7},
        {"properties": {"a": True, "b": {"enum": [], "minimum": "x", "maxLength": -1}}},
        {"properties": {f"p{i}": {} for i in range(500)}},
    ],
)
def test_what_is_no_schema_becomes_an_object(declared: dict[str, Any]):
    safe = safe_schema(declared)

    assert safe["type"] == "object"
    assert isinstance(safe["properties"], dict)
    Draft202012Validator.check_schema(safe)


def test_patterns_are_left_to_the_server():
    schema = safe_schema(
        {
            "type": "object",
            "properties": {"a": {"type": "string", "pattern": "^(a+)+$", "format": "regex"}},
            "patternProperties": {"^(b+)+$": {"type": "string"}},
        }
    )

    began = time.monotonic()
    assert explain_bad_arguments("t", schema, {"a": "a" * 60 + "!", "b" * 60 + "!": 1}) is None
    assert time.monotonic() - began < 20


def test_faults_name_the_field_and_what_is_taken():
    schema = safe_schema(
        {
            "type": "object",
            "properties": {"rows": {"type": "array", "items": {"type": "integer"}}, "name": {}},
            "required": ["name"],
            "additionalProperties": False,
        }
    )

    text = explain_bad_arguments("Table", schema, {"rows": [1, "x" * 999], "colour": 1})

    assert text is not None
    assert "- rows[1]: 'xxx" in text
    assert "'name' is a required property" in text
    assert "'colour' was unexpected" in text
    assert text.endswith("Table takes: rows, name (required).")
    assert len(text) < 1_000


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner),
    max_leaves=12,
)
keywords = st.sampled_from(
    (
        *("type", "properties", "items", "anyOf", "allOf", "$ref", "enum", "required", "minimum"),
        *("additionalProperties", "description", "default", "const", "maxLength", "$defs"),
    )
)
schemas = st.recursive(
    json_values,
    lambda inner: st.dictionaries(
        keywords,
        inner | st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
        max_size=5,
    ),
    max_leaves=20,
)


@given(declared=st.dictionaries(keywords, schemas, max_size=6), arguments=json_values)
@settings(max_examples=60, deadline=2_000)
def test_whatever_is_declared_can_be_shown_and_validated(declared: dict[str, Any], arguments: Any):
    safe = safe_schema(declared)

    Draft202012Validator.check_schema(safe)
    json.dumps(safe)
    for part in safe["properties"].values():
        type_text(part)
    if isinstance(arguments, dict):
        explain_bad_arguments("tool", safe, arguments)
