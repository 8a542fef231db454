"""JSON as models write it: untrusted text, parsed within limits or refused with a reason."""

import json
import math
import re
from typing import Any, NoReturn

from taskdata.errors import BadTaskData
from taskdata.places import first_place, is_unstorable

MAX_BYTES = 200_000
MAX_DEPTH = 40

_OPENING_FENCE = re.compile(r"```[A-Za-z]{0,16}[ \t]*\n")


def read_json(text: str, max_bytes: int = MAX_BYTES, max_depth: int = MAX_DEPTH) -> Any:
    """Return the JSON value of `text`, or of the Markdown code fence in it.

    Raises:
        BadTaskData: if it is too long, too deep or not JSON, names a key twice, or holds a number
            or character that databases refuse; the message says which, and where.
    """
    if len(text) > max_bytes or len(text.encode("utf-8", "replace")) > max_bytes:
        raise BadTaskData(f"the answer is longer than {max_bytes} bytes; be shorter")
    text = _unfenced(text.strip())
    if not text:
        raise BadTaskData("the answer is empty; expected one JSON object")
    # Measured before parsing: the parser is recursive, and so is all code that walks the value.
    if _depth(text) > max_depth:
        raise BadTaskData(f"the answer is nested more than {max_depth} levels deep")
    try:
        value = json.loads(
            text, object_pairs_hook=_unique, parse_constant=_no_constant, parse_float=_finite
        )
    except json.JSONDecodeError as exc:
        what = exc.msg.removesuffix(" at")
        raise BadTaskData(
            f"the answer is not JSON: {what} at line {exc.lineno}, column {exc.colno}"
        ) from exc
    except ValueError as exc:
        raise BadTaskData(f"the answer is not usable JSON: {str(exc)[:200]}") from exc
    if first_place(value, is_unstorable) is not None:
        raise BadTaskData("the answer holds a NUL or half of a surrogate pair in a text")
    return value


def _unfenced(text: str) -> str:
    opening = _OPENING_FENCE.match(text)
    if opening is None or not text.endswith("```"):
        return text
    return text[opening.end() : -3].strip()


def _depth(text: str) -> int:
    deepest = depth = 0
    in_string = escaped = False
    for char in text:
        if escaped:
            escaped = False
        elif in_string:
            escaped = char == "\\"
            in_string = char != '"'
        elif char == '"':
            in_string = True
        elif char in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif char in "]}":
            depth -= 1
    return deepest


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        repeated = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {repeated[:60]!r} occurs twice in one object")
    return found


def _no_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a JSON number")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"the number {text[:30]} is too large")
    return number
