"""Explains the form of a step to a model by an example that works in its own task."""

import json
from collections.abc import Sequence
from pathlib import PurePosixPath

from taskdata.schema.tool import ToolSpec

# read_file reads these; for other files the task may have no tool.
_TEXT_FILES = frozenset({".txt", ".md", ".csv", ".tsv", ".json", ".html", ".xml", ".yaml", ".log"})
_QUOTED_CHARS = 60


def example_step(files: Sequence[str]) -> str:
    """Return an action with its input, for a tool that every trial has and a file of the task."""
    texts = [path for path in files if PurePosixPath(path).suffix.lower() in _TEXT_FILES]
    if texts:
        path = json.dumps(f"input/{texts[0]}", ensure_ascii=False)
        return f'Action: read_file\nAction Input: {{"path": {path}}}'
    return 'Action: list_files\nAction Input: {"path": "input"}'


def correction(reason: str, files: Sequence[str]) -> str:
    """Return the correction for a reply without a step."""
    # An example instead of placeholders, because small models copy what they are shown.
    return (
        f"{reason} Write one step, such as\n"
        "Thought: I look at what I was given.\n"
        f"{example_step(files)}\n"
        "or, when the work is done, a line that starts with Final Answer:"
    )


def correction_again(
    reason: str, files: Sequence[str], written: str, tools: Sequence[ToolSpec]
) -> str:
    """Return the correction if the same fault follows the first correction."""
    begins = " ".join(written.split())[:_QUOTED_CHARS]
    names = ", ".join(spec.name for spec in tools)
    return (
        f"{reason} Your reply began {begins!r}, which is no step. A whole reply is these two "
        f"lines and nothing else:\n{example_step(files)}\n"
        f"Put the tool you need after Action:, one of {names}, and its arguments as one JSON "
        "object after Action Input:. To end, write Final Answer: and your answer."
    )
