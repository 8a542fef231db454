"""Tool arguments as models write them: untrusted text that ought to be one JSON object."""

import json
from typing import Any, NoReturn


def read_arguments(raw: str) -> dict[str, Any] | None:
    """Return the JSON object that `raw` is, or None: nothing is guessed or mended."""
    try:
        value = json.loads(raw, parse_constant=_refuse)
        # Lone surrogates and 1e999 pass json.loads, but no file, database or request holds them.
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError):  # UnicodeEncodeError is a ValueError
        return None
    return value if isinstance(value, dict) else None


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def clean_text(text: str) -> str:
    """Return `text` with NUL characters and lone surrogates replaced: stores take neither."""
    return text.encode("utf-8", "replace").decode().replace("\0", "\N{REPLACEMENT CHARACTER}")
