"""JSON schemas in the form that the service accepts for structured output.

Unsupported keywords are moved into the description, so that a schema never makes a request fail.
The provider's SDK does the same, but takes seconds to import.
"""

import json
from typing import Any

_KEPT = frozenset({"$ref", "type", "enum", "const", "title", "description", "required"})
_OF_NAMES = frozenset({"$defs", "properties"})
_VARIANTS = {"anyOf": "anyOf", "oneOf": "anyOf", "allOf": "allOf"}
_FORMATS = frozenset({"date", "time", "date-time", "duration", "email", "hostname", "uri"}) | {
    "ipv4",
    "ipv6",
    "uuid",
}


def accepted(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema of supported keywords; the others move into its description."""
    if "$ref" in schema:
        # A reference must not have other keywords beside it.
        kept = {"$ref": schema["$ref"]}
        return kept | ({"$defs": _named(schema["$defs"])} if "$defs" in schema else {})
    kept, told = {}, {}
    for keyword, value in schema.items():
        if keyword in _OF_NAMES:
            kept[keyword] = _named(value)
        elif keyword in _VARIANTS:
            kept[_VARIANTS[keyword]] = [accepted(variant) for variant in value]
        elif keyword == "items" and isinstance(value, dict):
            kept[keyword] = accepted(value)
        elif _is_supported(keyword, value):
            kept[keyword] = value
        elif keyword != "additionalProperties":
            told[keyword] = value
    if "enum" in kept or "const" in kept:
        kept.pop("type", None)
    if kept.get("type") == "object":
        kept = {"properties": {}} | kept | {"additionalProperties": False}
    if told:
        said = [kept["description"]] if "description" in kept else []
        kept["description"] = "\n\n".join([*said, json.dumps(told, ensure_ascii=False)])
    return kept


def _named(schemas: dict[str, Any]) -> dict[str, Any]:
    return {name: accepted(schema) for name, schema in schemas.items()}


def _is_supported(keyword: str, value: object) -> bool:
    if keyword == "format":
        return value in _FORMATS
    if keyword == "minItems":
        return value in (0, 1)
    return keyword in _KEPT
