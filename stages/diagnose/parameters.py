"""Faults of the arguments of tool calls (TOBench, appendix D, table 4: Tool Parameter Error)."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import PurePosixPath
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, ValidationError
from referencing import Registry
from referencing.exceptions import Unresolvable

from stages.diagnose.record import MOST_EVIDENCE, Call, Record, label, of_call, words_of
from taskdata.schema.diagnosis import Evidence, Label, Taxonomy
from taskdata.schema.tool import ToolErrorKind, ToolSpec

TYPE, RANGE, OBJECT = (
    "parameter_type_error",
    "parameter_range_error",
    "parameter_object_selection_error",
)
MISSING, HALLUCINATED = "missing_parameter", "hallucinated_parameter"
CUT_OFF = "reply was cut at its length limit"
"""Part of the result of a call that was not run because the reply with it was cut."""

_FACT, _READ, _GUESSED = 1.0, 0.9, 0.6
_BY_RULE = {
    "required": MISSING,
    "dependentRequired": MISSING,
    "additionalProperties": HALLUCINATED,
    "enum": HALLUCINATED,
    "const": HALLUCINATED,
}
_IN_WORDS = (
    (MISSING, re.compile(r"\bis missing$|is a required property", re.MULTILINE)),
    (HALLUCINATED, re.compile(r"is not an argument of this tool|is not one of|should be '")),
)
NO_OBJECT = re.compile(
    r"there is no (file|folder|sheet|table|image|slide)\b|no such file|is a folder\b|"
    r"outside the workspace|filenotfounderror|sheet .{0,60} (does not exist|not found)|"
    r"(path|file|url|page) .{0,120}(does not exist|not found|could not be (found|reached))|"
    r"\b404 not found|\b(http|status|code) 404\b",
    re.IGNORECASE,
)
_BEYOND = re.compile(
    r"there (is|are) no (page|pages|second|frame|row|slide)s? \d|out of (range|bounds)|"
    r"exceeds the|beyond the (end|last)|\bis past\b|indexerror",
    re.IGNORECASE,
)
_REFERS = re.compile(r"(^|_|[a-z])(id|ids|path|file|filename|url|uri)$", re.IGNORECASE)
_PROGRAMS = frozenset({"python_execute"})
_NOTHING_ELSE: Registry[Any] = Registry()
_READ_CHARS = 4_000
_MOST_REFERENCES = 50
_MOST_FAULTS = 10
_SHORTEST_ID = 3
_REFERENCE_CHARS = 300


def parameter_labels(record: Record) -> tuple[Label, ...]:
    """Return the labels for the arguments of calls that failed."""
    specs = {spec.name: spec for spec in record.transcript.tools}
    found: dict[str, list[Evidence]] = defaultdict(list)
    sure: dict[str, float] = {}
    failed = [call for call in record.calls if call.event.error is not None]
    for call in failed:
        for name, confidence, says in _faults(call, specs):
            if len(found[name]) < MOST_EVIDENCE:
                found[name].append(of_call(call, says))
            sure[name] = max(sure.get(name, 0.0), confidence)
    for call, says in _invented(record, failed):
        found[HALLUCINATED].append(of_call(call, says))
        sure[HALLUCINATED] = max(sure.get(HALLUCINATED, 0.0), _READ)
    return tuple(
        one
        for name, evidence in found.items()
        for one in label(Taxonomy.TOOL_USE, name, sure[name], evidence)
    )


def _faults(call: Call, specs: Mapping[str, ToolSpec]) -> list[tuple[str, float, str]]:
    """Return label, confidence and explanation of each fault of one failed call."""
    event = call.event
    if event.error is ToolErrorKind.REFUSED:
        text = event.text[:_READ_CHARS]
        # An index beyond a list in a program's traceback is no argument of the call.
        if event.call.tool not in _PROGRAMS and _BEYOND.search(text):
            return [(RANGE, _READ, "")]
        return [(OBJECT, _READ, "")] if NO_OBJECT.search(text) else []
    if event.error is not ToolErrorKind.BAD_ARGUMENTS or CUT_OFF in event.text[:_READ_CHARS]:
        return []
    if event.call.arguments is None:
        return [(TYPE, _READ, "the arguments were no JSON object")]
    spec = specs.get(event.call.tool)
    by_schema = [] if spec is None else _by_schema(spec, event.call.arguments)
    return by_schema or _by_words(event.text[:_READ_CHARS])


def _by_schema(spec: ToolSpec, arguments: Mapping[str, Any]) -> list[tuple[str, float, str]]:
    # With an empty registry, the references in a server's schema are not fetched.
    validator = Draft202012Validator(spec.parameters, registry=_NOTHING_ELSE)
    try:
        errors = list(islice(validator.iter_errors(arguments), _MOST_FAULTS))
    except (SchemaError, Unresolvable):
        return []  # the tool's own error message decides then
    return [(_name_of(error), _FACT, error.message) for error in errors]


def _name_of(error: ValidationError) -> str:
    """Return the label of a violated rule of the schema; the default is a wrong type."""
    return _BY_RULE.get(str(error.validator), TYPE)


def _by_words(text: str) -> list[tuple[str, float, str]]:
    named = [(name, _READ, "") for name, words in _IN_WORDS if words.search(text)]
    return named or [(TYPE, _GUESSED, "")]


def _invented(record: Record, failed: list[Call]) -> Iterator[tuple[Call, str]]:
    """Yield failed calls with a path or id that occurs in no text that the agent was given.

    Texts from after the call count as well, so that one search over all texts is enough.
    """
    wanted = [(call, value) for call in failed for value in _references(call)]
    for call, value in wanted[:_MOST_REFERENCES]:
        if not any(word in record.known_text for word in words_of(value)):
            yield call, f"{value!r} occurs in no query, file or result"


def _references(call: Call) -> Iterator[str]:
    """Yield the arguments of a refused call that name an object that must exist already."""
    if call.event.error is not ToolErrorKind.REFUSED:
        return
    if not NO_OBJECT.search(call.event.text[:_READ_CHARS]):
        return
    for name, value in (call.event.call.arguments or {}).items():
        if not isinstance(value, str | int) or isinstance(value, bool) or not _REFERS.search(name):
            continue
        text = PurePosixPath(str(value)).name if "://" not in str(value) else str(value)
        if len(text) >= _SHORTEST_ID:
            yield text[:_REFERENCE_CHARS]
