"""Tool arguments as models write them: untrusted text that should be one JSON object."""

import ast
import json
import re
from typing import Any, NoReturn

_MAX_DEPTH = 100
"""Nesting of objects and lists; parsers of records have a limit."""
_COMMA_AT_END = re.compile(r",\s*([}\]])")
_LONGEST_PYTHON = 10_000
"""Characters; a longer text is not parsed to find out whether it is Python."""


def read_arguments(raw: str) -> dict[str, Any] | None:
    """Return the JSON object in `raw`, or None; invalid JSON is not repaired."""
    try:
        value = json.loads(raw, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and is_storable(value) else None


def fault_of(raw: str) -> str:
    """Return briefly why `read_arguments` cannot parse `raw`."""
    if not raw.strip():
        return "there are none"
    try:
        value = json.loads(raw, parse_constant=_refuse)
    except json.JSONDecodeError as exc:
        return _syntax_fault(raw, exc)
    except (ValueError, RecursionError):
        return "they hold NaN, Infinity, or too many brackets in one another"
    if not isinstance(value, dict):
        return "they are JSON, but not an object in braces"
    return "they hold what cannot be stored, such as half of a surrogate pair"


def _syntax_fault(raw: str, error: json.JSONDecodeError) -> str:
    place = f"at character {error.pos + 1}"
    if error.msg.startswith("Invalid control character"):
        return f"a line break or a tab stands inside a text {place}; write \\n or \\t"
    if read_arguments(_COMMA_AT_END.sub(r"\1", raw)) is not None:
        return f"a comma stands before a closing bracket {place}"
    if _is_python_dictionary(raw):
        return "they are a Python dictionary; JSON has double quotes, true, false and null"
    if not raw.lstrip().startswith("{"):
        return "they do not begin with {"
    return f"{error.msg[0].lower()}{error.msg[1:]} {place}"


def _is_python_dictionary(raw: str) -> bool:
    if len(raw) > _LONGEST_PYTHON:
        return False
    try:
        return isinstance(ast.literal_eval(raw.strip()), dict)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return False


def is_storable(value: Any) -> bool:
    """Return whether files, databases and requests can hold a value that was read from JSON."""
    try:
        # json.loads accepts lone surrogates and 1e999.
        written = json.dumps(value, ensure_ascii=False, allow_nan=False)
        written.encode()
    except (ValueError, RecursionError):  # UnicodeEncodeError is a ValueError
        return False
    return not _is_too_deep(written, value)


def _is_too_deep(written: str, value: Any) -> bool:
    if written.count("{") + written.count("[") <= _MAX_DEPTH:
        return False
    level = [value]
    for _ in range(_MAX_DEPTH):
        objects = [item for item in level if isinstance(item, dict)]
        lists = [item for item in level if isinstance(item, list)]
        level = [inner for item in objects for inner in item.values()]
        level += [inner for item in lists for inner in item]
        if not level:
            return False
    return True


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def clean_text(text: str) -> str:
    """Return `text` with NUL characters and lone surrogates replaced, which stores cannot hold."""
    return text.encode("utf-8", "replace").decode().replace("\0", "\N{REPLACEMENT CHARACTER}")
