"""Which arguments of a planned call do not fit the schema of its tool."""

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import islice
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError

from environments.mcp.client.schemas import safe_schema, shortened
from stages.score.planning.results import named_steps, stands_for_value
from taskdata.schema.planning import CaseTool

_MOST_FAULTS = 5
_FAULT_CHARS = 200
_OF_NAMES = frozenset(
    {"required", "additionalProperties", "minProperties", "maxProperties", "propertyNames"}
)
"""Rules about which arguments there are, whatever their values."""


def faults_of(tool: CaseTool, arguments: Mapping[str, Any], *, in_words: bool) -> list[str]:
    """Return what is wrong with a call's arguments, in sentences without an end; at most five.

    A text that names the result of a step stands for a value that is not known yet, so the text
    fits any schema.
    Argument names that a tool does not declare are faults, unless its schema allows them expressly.

    Args:
        tool: The tool that is called.
        arguments: What it is called with.
        in_words: Whether a result may be named in any words, as in holistic form: a text is then
            no fault for its type, nor for being none of the choices.
    """
    validator = _validator(json.dumps(tool.parameters, sort_keys=True))
    errors = (
        error
        for error in validator.iter_errors(dict(arguments))
        if not _is_open(error, in_words=in_words)
    )
    return [_sentence(error) for error in islice(errors, _MOST_FAULTS)]


@lru_cache(maxsize=4_096)
def _validator(schema: str) -> Draft202012Validator:
    """Return the validator of a schema without patterns and references to elsewhere."""
    declared = json.loads(schema)
    plain = safe_schema(declared)
    if plain["properties"] and "additionalProperties" not in declared:
        plain["additionalProperties"] = False
    return Draft202012Validator(plain)


def _is_open(error: ValidationError, *, in_words: bool) -> bool:
    """Return whether the value at fault stands for one that is not known."""
    if error.validator in _OF_NAMES:
        return False
    if in_words:
        return any(map(stands_for_value, _texts(error.instance)))
    return next(named_steps(error.instance), None) is not None


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from _texts(part)
    elif isinstance(value, list):
        for part in value:
            yield from _texts(part)


def _sentence(error: ValidationError) -> str:
    place = error.json_path.removeprefix("$").lstrip(".")
    message = shortened(error.message, _FAULT_CHARS)
    return f"{shortened(place, _FAULT_CHARS)}: {message}" if place else message
