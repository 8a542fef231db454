"""The content of one reply in the ReAct text protocol."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Act:
    """The model calls a tool."""

    tool: str
    raw: str
    """The arguments as written."""
    arguments: dict[str, Any] | None
    """None: not one JSON object."""


@dataclass(frozen=True)
class FinalAnswer:
    """The model gives its final answer."""

    text: str


@dataclass(frozen=True)
class Unreadable:
    """Neither a call nor a final answer; `reason` is sent back to the model."""

    reason: str


Step = Act | FinalAnswer | Unreadable
