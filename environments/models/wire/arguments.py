"""Tool arguments as models write them: untrusted text that ought to be one JSON object."""

import json
from typing import Any, NoReturn

_MAX_DEPTH = 100
"""Of objects and lists in one another; records are written and read by parsers with a limit."""


def read_arguments(raw: str) -> dict[str, Any] | None:
    """Return the JSON object that `raw` is, or None: nothing is guessed or mended."""
    try:
        value = json.loads(raw, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and is_storable(value) else None


def is_storable(value: Any) -> bool:
    """Return whether files, databases and requests can hold what was read from JSON."""
    try:
        # Lone surrogates and 1e999 pass json.loads.
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
    """Return `text` with NUL characters and lone surrogates replaced: stores take neither."""
    return text.encode("utf-8", "replace").decode().replace("\0", "\N{REPLACEMENT CHARACTER}")
