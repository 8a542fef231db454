"""Reads lists."""

from pathlib import Path


def lines_of(path: Path) -> list[str]:
    """Return the lines of a file that are not empty."""
    return [line.strip() for line in path.read_text().splitlines() if line.strip()]
