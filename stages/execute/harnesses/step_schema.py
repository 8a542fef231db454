"""The JSON schema of one step, by which a server keeps a small model to valid steps."""

from collections.abc import Mapping, Sequence
from typing import Any

from environments.toolkit.definition import reads_a_file
from taskdata.schema.tool import ToolSpec

_THOUGHT = {"type": "string", "maxLength": 100}
_KEPT = ("type", "enum", "const", "minItems", "maxItems", "minLength", "maxLength")
"""Keywords, besides those with nested schemas, that every server can turn into a grammar."""


def step_schema(tools: Sequence[ToolSpec], files: Sequence[str]) -> dict[str, Any]:
    """Return the schema of a call of one of `tools`, or of a final answer.

    Args:
        tools: The offered tools.
        files: Input files of the task, below input/: a reading tool can name no other input file.
            Files in output/, which the agent makes itself, are allowed.
    """
    calls = [
        _object(
            thought=_THOUGHT,
            action={"const": tool.name},
            action_input=narrowed(tool.parameters, files),
        )
        for tool in tools
    ]
    return {"anyOf": [*calls, _object(thought=_THOUGHT, final_answer={"type": "string"})]}


def narrowed(schema: Any, files: Sequence[str]) -> dict[str, Any]:
    """Return the part of a schema that fits into a grammar, with file paths limited to `files`."""
    if not isinstance(schema, Mapping):
        # `true` is a schema that accepts anything.
        return {}
    if reads_a_file(schema):
        return _path(files)
    part: dict[str, Any] = {key: schema[key] for key in _KEPT if key in schema}
    for key in ("anyOf", "oneOf"):
        if key in schema:
            part["anyOf"] = [narrowed(choice, files) for choice in schema[key]]
    if "items" in schema:
        part["items"] = narrowed(schema["items"], files)
    if "properties" in schema:
        part["properties"] = {
            name: narrowed(inner, files) for name, inner in schema["properties"].items()
        }
        part["required"] = list(schema.get("required", ()))
        part["additionalProperties"] = False
    return part


def _path(files: Sequence[str]) -> dict[str, Any]:
    made = {"type": "string", "pattern": r'^output/[^"\\]+$'}
    if not files:
        return made
    return {"anyOf": [{"enum": [f"input/{path}" for path in files]}, made]}


def _object(**properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
