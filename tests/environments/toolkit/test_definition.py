import json
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import Field, ValidationError

from environments.tool_runtime.catalogue import catalogue
from environments.toolkit.definition import (
    MAX_TEXT_CHARS,
    Arguments,
    CellValue,
    argument_schema,
    cut_text,
    explain_bad_arguments,
)


class Shape(Arguments):
    kind: Literal["square"]
    title: str


class DrawArguments(Arguments):
    title: str | None = None
    size: int = Field(default=3, description="In cm.")
    shapes: list[Shape]
    cells: list[CellValue] = Field(default_factory=list)


def explain(**arguments: object) -> str:
    with pytest.raises(ValidationError) as caught:
        DrawArguments.model_validate(arguments)
    return explain_bad_arguments("Draw", DrawArguments, arguments, caught.value)


def test_schema_is_self_contained_and_keeps_arguments_called_title():
    schema = argument_schema(DrawArguments)
    text = json.dumps(schema)
    assert "$ref" not in text
    assert "$defs" not in text
    assert set(schema["properties"]) == {"title", "size", "shapes", "cells"}
    assert schema["properties"]["shapes"]["items"]["properties"]["title"] == {"type": "string"}
    assert schema["properties"]["size"] == {
        "type": "integer",
        "default": 3,
        "description": "In cm.",
    }


@pytest.mark.parametrize("name", list(catalogue()))
def test_every_tool_has_a_valid_object_schema_that_forbids_other_arguments(name: str):
    schema = catalogue()[name].spec.parameters
    Draft202012Validator.check_schema(schema)
    assert schema["type"] == "object"
    assert schema["additionalProperties"] is False
    assert "$ref" not in json.dumps(schema)


def test_harmless_slips_of_type_pass():
    drawn = DrawArguments.model_validate({"size": "4", "title": 7, "shapes": []})
    assert (drawn.size, drawn.title) == (4, "7")


def test_cells_keep_their_types():
    drawn = DrawArguments.model_validate({"shapes": [], "cells": ["1", 1, 1.5, True, None]})
    assert [repr(cell) for cell in drawn.cells] == ["'1'", "1", "1.5", "True", "None"]


def test_faults_name_the_field_and_what_the_tool_takes():
    text = explain(size="big", shapes=[{"kind": "square", "colour": 1}], cells=[[1]])
    assert "- size: should be a valid integer" in text
    assert "- shapes[0].title: is missing" in text
    assert "- shapes[0].colour: is not an argument of this tool" in text
    assert "- cells[0]: should be a text, a number, true, false or null" in text
    assert text.endswith("Draw takes: title, size, shapes (required), cells.")


def test_many_faults_are_counted_not_listed():
    text = explain(shapes=[{}] * 40)
    assert "- and 70 more" in text


@given(st.text(max_size=20), st.integers(0, 3))
def test_an_observation_is_never_longer_than_the_cap(seed: str, extra: int):
    text = (seed or "x") * (MAX_TEXT_CHARS // max(1, len(seed)) + extra)
    shown = cut_text(text, "Ask for less.")
    assert len(shown) <= MAX_TEXT_CHARS
    assert shown == text or shown.endswith("Ask for less.]")
