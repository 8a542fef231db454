"""The schemas that are sent, held to what providers accept."""

import json

import anthropic
import pytest

from stages.construct.answers.forms import (
    ClassForm,
    DraftForm,
    FindingsForm,
    LeafForm,
    RequirementsForm,
    TaskForm,
    TreeForm,
    narrowed,
    schema_of,
)

FORMS = [ClassForm, DraftForm, FindingsForm, LeafForm, RequirementsForm, TaskForm, TreeForm]
ALLOWED = {
    "type",
    "enum",
    "const",
    "description",
    "properties",
    "required",
    "additionalProperties",
    "items",
}


def parts(schema):
    yield {k: v for k, v in schema.items() if k not in ("properties", "items")} | {
        k: list(schema[k]) for k in ("properties",) if k in schema
    }
    for part in (*schema.get("properties", {}).values(), *filter(None, [schema.get("items")])):
        yield from parts(part)


@pytest.mark.parametrize("form", FORMS)
def test_openai_strict_mode_accepts_the_schema(form):
    """All fields required, no others, nothing free-form, no keyword it refuses."""
    for part in parts(schema_of(form)):
        assert set(part) <= ALLOWED
        assert isinstance(part["type"], str)
        if part["type"] == "object":
            assert part["additionalProperties"] is False
            assert part["required"] == list(part["properties"])


@pytest.mark.parametrize("form", FORMS)
def test_anthropic_has_nothing_to_move_out_of_the_schema(form):
    """Its SDK turns keywords that the service refuses into descriptions."""
    sent, ours = anthropic.transform_schema(schema_of(form)), schema_of(form)
    for there, here in zip(parts(sent), parts(ours), strict=True):
        assert there == {k: v for k, v in here.items() if k != "type" or "enum" not in here}


@pytest.mark.parametrize("weight", [-1.0, 0.0, float("nan"), float("inf")])
def test_ranges_hold_though_the_schema_does_not_say_them(scripts, weight):
    text = json.dumps({"checkpoints": scripts.tree(weight=weight)})
    with pytest.raises(ValueError, match="weight"):
        TreeForm.model_validate_json(text)


def test_a_bounded_schema_lets_no_list_go_on_for_ever():
    schema = narrowed(TaskForm, {"tools": ["saw", "drill"], "files": []}, bounded=True)
    fields = schema["properties"]
    assert fields["tools"] == {
        "type": "array",
        "items": {"type": "string", "enum": ["saw", "drill"]},
        "maxItems": 8,
    }
    assert fields["files"]["maxItems"] == 0
    assert fields["title"]["maxLength"] == 100
    assert "maxItems" not in str(narrowed(TaskForm, {}))
