"""The check of a JSON file against a JSON Schema, which never fetches what the schema refers to."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Self

from pydantic import Field, model_validator

from stages.score.check import CheckArgs, CheckSpec, Verdict, failed, holds
from stages.score.matching import quote
from taskdata.schema.views import JsonView

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

_MAX_PARTS = 5_000
"""Of a schema: validating it costs the square of its longest list."""
_MAX_LIST = 500
_MAX_DEPTH = 40
_MAX_TEXT = 500
"""Characters of one text: a pattern is compiled when the task is read."""
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")


class JsonSchema(CheckArgs):
    """The document fits a JSON Schema (2020-12); `$ref` must lead to a place inside the schema."""

    document_schema: dict[str, Any] = Field(alias="schema")

    @model_validator(mode="after")
    def _is_a_schema(self) -> Self:
        from jsonschema import Draft202012Validator
        from jsonschema.exceptions import SchemaError

        _require_bearable(self.document_schema)
        try:
            Draft202012Validator.check_schema(self.document_schema)
        except SchemaError as exc:
            raise ValueError(f"not a JSON Schema: {exc.message}") from exc
        for reference in _unresolved(self.document_schema):
            raise ValueError(
                f"$ref {quote(reference)} is not inside the schema and nothing is fetched: write "
                "what it stands for under $defs"
            )
        return self


def _require_bearable(schema: dict[str, Any]) -> None:
    """Raise `ValueError` for a schema whose own validation could take long."""
    parts, level = 0, list[Any]([schema])
    for _ in range(_MAX_DEPTH):
        below: list[Any] = []
        for part in level:
            if isinstance(part, str) and len(part) > _MAX_TEXT:
                raise ValueError(f"a text of the schema has more than {_MAX_TEXT} characters")
            if isinstance(part, dict | list) and len(part) > _MAX_LIST:
                raise ValueError(f"a list or object of the schema has more than {_MAX_LIST} items")
            if isinstance(part, dict):
                below.extend(part)
                below.extend(part.values())
            elif isinstance(part, list):
                below.extend(part)
        parts += len(level)
        if parts > _MAX_PARTS:
            raise ValueError(f"the schema has more than {_MAX_PARTS} parts")
        level = below
        if not level:
            return
    raise ValueError(f"the schema is nested more than {_MAX_DEPTH} levels deep")


def _unresolved(schema: dict[str, Any]) -> Iterator[str]:
    """Yield the references that lead out of the schema, or nowhere.

    Raises:
        ValueError: A part of it is in a dialect that nobody knows.
    """
    from jsonschema_specifications import REGISTRY
    from referencing.exceptions import Unresolvable
    from referencing.jsonschema import DRAFT202012

    root = DRAFT202012.create_resource(schema)
    uri = root.id() or ""
    # Crawled once here, because otherwise each lookup of an anchor would crawl it again.
    registry = REGISTRY.with_resource(uri, root).crawl()
    waiting = [(root, registry.resolver(uri))]
    while waiting:
        resource, resolver = waiting.pop()
        contents = resource.contents
        for keyword in _REFERENCES if isinstance(contents, dict) else ():
            reference = contents.get(keyword)
            if isinstance(reference, str):
                try:
                    resolver.lookup(reference)
                except Unresolvable:
                    yield reference
        waiting += [(sub, resolver.in_subresource(sub)) for sub in resource.subresources()]


def _validator(schema: dict[str, Any]) -> "Validator":
    """Return a validator whose registry holds the published dialects and retrieves nothing."""
    from jsonschema import Draft202012Validator
    from jsonschema_specifications import REGISTRY

    return Draft202012Validator(schema, registry=REGISTRY)


def json_schema(view: JsonView, args: JsonSchema) -> Verdict:
    """Give 10 when the document fits the schema, else 0 with the most telling fault."""
    from jsonschema.exceptions import best_match
    from referencing.exceptions import Unresolvable

    try:
        fault = best_match(_validator(args.document_schema).iter_errors(view.value))
    except Unresolvable as exc:
        # No score would let a document choose to be left out, by leading to such a reference.
        return failed(f"the schema refers to {quote(exc.ref)}, which is not inside it")
    if fault is None:
        return holds(True, "the document fits the schema")
    return failed(f"at {quote(fault.json_path)}: {quote(fault.message)}")


CHECKS = (CheckSpec("json_schema", JsonSchema, (JsonView,), json_schema),)
