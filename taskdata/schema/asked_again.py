"""What a tool answered when it was asked again right after a trial, as the trial keeps it."""

from datetime import datetime
from typing import Any

from taskdata.schema.base import Value

FOLDER = "asked_again"
"""Folder of the answers among what is collected of a trial; no file of an agent gets into it."""
ANSWER = "{answer}"
"""Stands for the answer in the arguments of a check."""


class ToolAnswer(Value):
    """One answer, or why there is none."""

    tool: str
    arguments: dict[str, Any]
    text: str = ""
    error: str | None = None
    """None: the tool answered."""
    asked_at: datetime


def answer_file(leaf_id: str) -> str:
    """Return the name under which the answer for a leaf is kept."""
    return f"{FOLDER}/{leaf_id}.json"
