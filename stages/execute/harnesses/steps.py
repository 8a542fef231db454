"""What one reply in the ReAct text protocol says."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Act:
    """The model asks for a tool."""

    tool: str
    raw: str
    """The arguments as written."""
    arguments: dict[str, Any] | None
    """None: not one JSON object."""


@dataclass(frozen=True)
class FinalAnswer:
    """The model says that it is done."""

    text: str


@dataclass(frozen=True)
class Unreadable:
    """Neither; `reason` goes back to the model."""

    reason: str


Step = Act | FinalAnswer | Unreadable
