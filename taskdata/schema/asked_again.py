"""The answer of a tool that was called again right after a trial, as the trial keeps it."""

from datetime import datetime
from typing import Any

from taskdata.schema.base import Value

FOLDER = "asked_again"
"""Folder of the answers among a trial's collected files; an agent's files are kept out of it."""
ANSWER = "{answer}"
"""Stands for the answer in the arguments of a check."""


class ToolAnswer(Value):
    """A tool's answer, or the reason why there is none."""

    tool: str
    arguments: dict[str, Any]
    text: str = ""
    error: str | None = None
    """The reason why there is no answer; None: the tool answered."""
    asked_at: datetime


def answer_file(leaf_id: str) -> str:
    """Return the name of the file with the answer for a leaf."""
    return f"{FOLDER}/{leaf_id}.json"
