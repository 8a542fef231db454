"""Parts of JSON that nobody has checked: each as what it should be, or empty."""

from typing import Any


def text_of(value: object) -> str:
    """Return a text; empty where it is none."""
    return value if isinstance(value, str) else ""


def object_of(value: object) -> dict[str, Any]:
    """Return a copy of an object; empty where it is none."""
    return dict(value) if isinstance(value, dict) else {}


def objects_of(value: object) -> list[dict[str, Any]]:
    """Return the objects of a list; none where it is no list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
