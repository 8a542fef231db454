"""Unchecked parts of JSON, each converted to its expected type, or empty."""

from typing import Any


def text_of(value: object) -> str:
    """Return a text; empty if it is not one."""
    return value if isinstance(value, str) else ""


def object_of(value: object) -> dict[str, Any]:
    """Return a copy of an object; empty if it is not one."""
    return dict(value) if isinstance(value, dict) else {}


def objects_of(value: object) -> list[dict[str, Any]]:
    """Return the objects of a list; empty if it is not a list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
