"""Argument schemas that a server declares, made safe: limited, self-contained, no patterns.

What is left out (patterns, formats, conditions, external references) is still checked by the server
itself. A pattern that stayed could run for hours in our process.
"""

from collections.abc import Mapping
from itertools import islice
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError

MAX_DESCRIPTION_CHARS = 2_000

_MAX_NODES = 1_000
_MAX_DEPTH = 12
_MAX_PROPERTIES = 100
_MAX_CHOICES = 200
_MAX_NAME_CHARS = 100
_MAX_VALUE_CHARS = 200
_MAX_ARGUMENT_DESCRIPTION_CHARS = 600
_MAX_ERRORS_SHOWN = 10
_MAX_ERROR_CHARS = 200
_TYPES = ("string", "number", "integer", "boolean", "array", "object", "null")
_NUMBERS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
_COUNTS = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")
_ANYTHING: Mapping[str, Any] = {"type": "object", "properties": {}}


class _TooLarge(Exception):
    """The schema has too many parts."""


def safe_schema(declared: Mapping[str, Any]) -> dict[str, Any]:
    """Return the safe part of `declared` as the JSON schema of an object.

    A schema that is too large, or missing, becomes an object of anything.
    """
    try:
        plain = _Reading(declared).schema(declared, 0)
        plain = {**plain, "type": "object", "properties": plain.get("properties", {})}
        Draft202012Validator.check_schema(plain)
    except (_TooLarge, SchemaError):
        return dict(_ANYTHING)
    return plain


def explain_bad_arguments(
    tool: str, schema: Mapping[str, Any], arguments: Mapping[str, Any]
) -> str | None:
    """Return what is wrong with `arguments`, one fault per line, None if nothing is."""
    errors = list(islice(Draft202012Validator(schema).iter_errors(arguments), _MAX_ERRORS_SHOWN))
    if not errors:
        return None
    lines = "\n".join(
        f"- {error.json_path.removeprefix('$').lstrip('.') or 'arguments'}: "
        f"{shortened(error.message, _MAX_ERROR_CHARS)}"
        for error in errors
    )
    required = schema.get("required", ())
    takes = ", ".join(
        f"{name} (required)" if name in required else name for name in schema["properties"]
    )
    return f"The arguments do not fit {tool}:\n{lines}\n{tool} takes: {takes or 'nothing'}."


def shortened(text: str, limit: int) -> str:
    """Return `text` without unprintable characters, cut to `limit` characters."""
    visible = "".join(c for c in text[: 2 * limit] if c.isprintable() or c in "\n\t").strip()
    return visible if len(visible) <= limit else visible[: limit - 1] + "…"


class _Reading:
    """One pass over one schema, with the number of parts that may still be read."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._left = _MAX_NODES
        self._within: list[str] = []

    def schema(self, part: Any, depth: int) -> dict[str, Any]:
        """Return the safe form of a part; what is no schema becomes one that allows anything."""
        self._left -= 1
        if self._left < 0:
            raise _TooLarge
        if not isinstance(part, Mapping) or depth > _MAX_DEPTH:
            return {}
        if isinstance(part.get("$ref"), str):
            return {**self._referred(part["$ref"], depth), **self._plain(part)}
        plain = self._plain(part)
        plain |= self._members(part, depth)
        plain |= self._combinations(part, depth)
        return plain

    def _referred(self, reference: str, depth: int) -> dict[str, Any]:
        """Return the schema that a reference points to; a recursive one allows anything."""
        if reference in self._within:
            return {}
        self._within.append(reference)
        try:
            return self.schema(self._target(reference), depth + 1)
        finally:
            self._within.pop()

    def _target(self, reference: str) -> Any:
        """Return the target of a reference within the schema; nothing is ever downloaded."""
        here: Any = self._root
        if not reference.startswith("#/"):
            return {}
        for step in reference[2:].split("/"):
            if not isinstance(here, Mapping):
                return {}
            here = here.get(step.replace("~1", "/").replace("~0", "~"))
        return here

    def _plain(self, part: Mapping[str, Any]) -> dict[str, Any]:
        """Return the keywords whose values contain no schemas."""
        plain: dict[str, Any] = {}
        if isinstance(part.get("type"), str) and part["type"] in _TYPES:
            plain["type"] = part["type"]
        if isinstance(part.get("description"), str):
            plain["description"] = shortened(part["description"], _MAX_ARGUMENT_DESCRIPTION_CHARS)
        for key in _NUMBERS:
            if _is_number(part.get(key)):
                plain[key] = part[key]
        for key in _COUNTS:
            if isinstance(part.get(key), int) and _is_number(part[key]) and part[key] >= 0:
                plain[key] = part[key]
        if isinstance(part.get("enum"), list):
            choices = [value for value in part["enum"] if _is_short_scalar(value)]
            if choices and len(choices) == len(part["enum"]) <= _MAX_CHOICES:
                plain["enum"] = choices
        for key in ("const", "default"):
            if key in part and _is_short_scalar(part[key]):
                plain[key] = part[key]
        return plain

    def _members(self, part: Mapping[str, Any], depth: int) -> dict[str, Any]:
        """Return the keywords about members of objects and items of arrays."""
        members: dict[str, Any] = {}
        if isinstance(part.get("properties"), Mapping):
            named = [
                (name, value)
                for name, value in part["properties"].items()
                if isinstance(name, str) and len(name) <= _MAX_NAME_CHARS and name.isprintable()
            ]
            if len(named) > _MAX_PROPERTIES:
                raise _TooLarge
            members["properties"] = {name: self.schema(value, depth + 1) for name, value in named}
            if isinstance(part.get("required"), list):
                required = [name for name, _ in named if name in part["required"]]
                members |= {"required": required} if required else {}
        more = part.get("additionalProperties")
        if isinstance(more, bool):
            members["additionalProperties"] = more
        elif isinstance(more, Mapping):
            members["additionalProperties"] = self.schema(more, depth + 1)
        if "items" in part:
            members["items"] = self.schema(part["items"], depth + 1)
        return members

    def _combinations(self, part: Mapping[str, Any], depth: int) -> dict[str, Any]:
        """Return the alternatives; `oneOf` becomes `anyOf`, as in the schemas of our own tools."""
        for key in ("anyOf", "oneOf"):
            choices = part.get(key)
            if isinstance(choices, list) and choices:
                return {"anyOf": [self.schema(choice, depth + 1) for choice in choices]}
        kinds = part.get("type")
        if isinstance(kinds, list) and kinds and all(kind in _TYPES for kind in kinds):
            return {"anyOf": [{"type": kind} for kind in kinds]}
        parts = part.get("allOf")
        if isinstance(parts, list) and len(parts) == 1:
            return self.schema(parts[0], depth + 1)
        return {}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e18


def _is_short_scalar(value: Any) -> bool:
    if isinstance(value, str):
        return len(value) <= _MAX_VALUE_CHARS and value.isprintable()
    return value is None or isinstance(value, bool) or _is_number(value)
