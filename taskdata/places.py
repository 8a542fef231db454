"""Where in a JSON value something stands that cannot be taken: dotted, as pydantic says it."""

import math
import re
from collections.abc import Callable
from typing import Any, NamedTuple

UNSTORABLE = "holds NUL or half of a surrogate pair, which no database takes"
"""What is told of such a place."""

_REFUSED = re.compile("[\0\ud800-\udfff]")


class Place(NamedTuple):
    """A part of a JSON value and where it stands."""

    where: str
    """"" for the value itself."""
    found: Any


def first_place(value: Any, is_bad: Callable[[Any], bool]) -> Place | None:
    """Return the first value or key that `is_bad`; None if there is none.

    The value must not be nested deeper than Python recurses.
    """
    if is_bad(value):
        return Place("", value)
    if isinstance(value, dict):
        parts = [(str(name), name, part) for name, part in value.items()]
    elif isinstance(value, list | tuple):
        parts = [(str(position), None, part) for position, part in enumerate(value)]
    else:
        return None
    for name, key, part in parts:
        if key is not None and is_bad(key):
            return Place(name, key)
        inner = first_place(part, is_bad)
        if inner is not None:
            return Place(f"{name}.{inner.where}" if inner.where else name, inner.found)
    return None


def is_unstorable(value: Any) -> bool:
    """Return whether it is text with what no database takes: NUL, or half of a surrogate pair."""
    return isinstance(value, str) and _REFUSED.search(value) is not None


def is_not_finite(value: Any) -> bool:
    """Return whether it is NaN or an infinity."""
    return isinstance(value, float) and not math.isfinite(value)
