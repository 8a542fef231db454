"""The opening hours that a file states."""

import json
from pathlib import Path


def hours(folder):
    """Return the hours by day, nothing if the file is not there."""
    path = Path(folder) / "hours.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
