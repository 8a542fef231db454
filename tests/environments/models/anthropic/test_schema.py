import json

import pytest

from environments.models.anthropic.schema import accepted

SCHEMA = {
    "type": "object",
    "$defs": {"Point": {"type": "object", "properties": {"x": {"type": "number", "minimum": 0}}}},
    "properties": {
        "at": {"$ref": "#/$defs/Point", "description": "lost"},
        "grade": {"type": "string", "enum": ["good", "bad"]},
        "names": {
            "type": "array",
            "items": {"type": "string", "maxLength": 5},
            "minItems": 3,
            "description": "Who.",
        },
        "day": {"type": "string", "format": "date"},
        "colour": {"type": "string", "format": "color"},
        "either": {"oneOf": [{"type": "null"}, {"type": "integer"}]},
    },
    "required": ["at"],
    "additionalProperties": True,
}


def test_what_the_service_has_no_keyword_for_is_told_to_the_model():
    wanted = accepted(SCHEMA)["properties"]

    assert wanted["names"]["items"] == {"type": "string", "description": '{"maxLength": 5}'}
    assert wanted["names"]["description"] == 'Who.\n\n{"minItems": 3}'
    assert wanted["colour"] == {"type": "string", "description": '{"format": "color"}'}
    assert wanted["day"] == {"type": "string", "format": "date"}


def test_objects_are_closed_references_stand_alone_and_one_of_is_any_of():
    wanted = accepted(SCHEMA)

    assert wanted["additionalProperties"] is False
    assert wanted["$defs"]["Point"]["additionalProperties"] is False
    assert wanted["required"] == ["at"]
    assert wanted["properties"]["at"] == {"$ref": "#/$defs/Point"}
    assert wanted["properties"]["grade"] == {"enum": ["good", "bad"]}
    assert wanted["properties"]["either"] == {"anyOf": [{"type": "null"}, {"type": "integer"}]}


def test_the_schema_that_was_given_stays_as_it_is():
    before = json.dumps(SCHEMA)
    accepted(SCHEMA)

    assert json.dumps(SCHEMA) == before


@pytest.mark.parametrize("schema", [{"type": "object"}, {"type": "array", "minItems": 1}])
def test_what_is_supported_is_not_told_twice(schema):
    assert "description" not in accepted(schema)
