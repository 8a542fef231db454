"""A JSON schema by which a small model can only name checks with arguments that fit them."""

from collections.abc import Iterator, Sequence
from typing import Any

from stages.construct.answers.forms import MOST_LETTERS, inlined
from stages.score.check import CheckSpec

_KEPT = ("type", "enum", "const", "anyOf", "items", "properties", "required")
_MOST_ITEMS = 6
_SHORTEST_RUBRIC = 20


def leaf_schema(
    checks: Sequence[CheckSpec], deliverables: Sequence[tuple[str, str]], *, may_judge: bool
) -> dict[str, Any]:
    """Return the schema of a `LeafForm`, one alternative for each check, and one for a judge.

    A server that constrains its replies needs it; it has keywords that strict modes refuse.

    Args:
        checks: The checks to choose from.
        deliverables: The name of each deliverable, and what the library calls its kind.
        may_judge: Whether there is an alternative for a judge.
    """
    names = [name for name, _ in deliverables]
    alternatives = [one for check in checks for one in _of_check(check, deliverables)]
    if may_judge:
        rubric = {"minLength": _SHORTEST_RUBRIC, "maxLength": MOST_LETTERS["rubric"]}
        judged: dict[str, Any] = {"check": {"const": ""}, "args": {"const": ""}}
        alternatives.append(_leaf(names, judged | {"rubric": {"type": "string", **rubric}}))
    return {"anyOf": alternatives}


def _of_check(
    check: CheckSpec, deliverables: Sequence[tuple[str, str]]
) -> Iterator[dict[str, Any]]:
    schema = check.args.model_json_schema()
    fields = {
        "check": {"const": check.name},
        "args": _plain(inlined(schema, schema.get("$defs", {}))),
        "rubric": {"const": ""},
    }
    files = [name for name, kind in deliverables if kind in check.reads]
    if files:
        yield _leaf(files, fields)
    if "final answer" in check.reads:
        yield _leaf([], fields)


def _leaf(files: Sequence[str], fields: dict[str, Any]) -> dict[str, Any]:
    looks_at: dict[str, Any] = {"type": "array", "items": {"type": "string"}, "maxItems": 0}
    if files:
        named = {"type": "string", "enum": list(files)}
        looks_at = {"type": "array", "items": named, "minItems": 1, "maxItems": 1}
    return _object({"looks_at": looks_at, **fields})


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _plain(schema: Any) -> Any:
    """Return a schema of arguments with what grammars know, and an end to every list and text."""
    if isinstance(schema, list):
        return [_plain(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    plain = {name: schema[name] for name in _KEPT if name in schema}
    if "properties" in plain:
        plain["properties"] = {name: _plain(one) for name, one in plain["properties"].items()}
        plain["additionalProperties"] = False
    if "anyOf" in plain:
        plain["anyOf"] = [one for one in _plain(plain["anyOf"]) if one.get("type") != "null"]
    if plain.get("type") == "array":
        plain |= {"items": _plain(plain.get("items", {})), "minItems": 1, "maxItems": _MOST_ITEMS}
    if plain.get("type") == "string" and "enum" not in plain:
        plain["maxLength"] = 80
    return plain
