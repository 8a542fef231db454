"""Tools as agents see them, and what a call gives back."""

from enum import StrEnum
from typing import Any, ClassVar, Literal

from pydantic import Field

from taskdata.schema.base import GrowingValue, Value
from taskdata.schema.task import Capability
from taskdata.schema.usage import Usage


class ToolSpec(Value):
    """Name, purpose and argument schema of a tool."""

    name: str
    description: str
    category: Capability
    parameters: dict[str, Any]
    """JSON schema of the arguments: always an object."""


class ToolErrorKind(StrEnum):
    """Why a tool call gave no result; all of these are the agent's to see and mend."""

    UNKNOWN_TOOL = "unknown_tool"
    BAD_ARGUMENTS = "bad_arguments"
    REFUSED = "refused"
    """The tool ran and said no: missing file, division by zero, failing program."""
    LIMIT = "limit"
    """Time, memory, output or process limit of the sandbox."""


class ToolPicture(Value):
    """A picture that a tool result shows beside its text."""

    name: str
    """What it shows, such as `output/deck.pptx, page 2`."""
    media_type: Literal["image/png", "image/jpeg"]
    data: bytes = Field(repr=False)
    width: int = Field(ge=1)
    """In pixels."""
    height: int = Field(ge=1)
    words: str = ""
    """The text on it, as far as it is known, for models that cannot see."""


class ToolResult(GrowingValue):
    """Result of one tool call: text, pictures, files written, or an error."""

    added_later: ClassVar[frozenset[str]] = frozenset({"usage", "cost_usd", "pictures"})

    text: str
    """The observation; on error it says what went wrong and what would work."""
    files: tuple[str, ...] = ()
    """Workspace-relative paths the call created or changed."""
    error: ToolErrorKind | None = None
    seconds: float = Field(default=0.0, ge=0)
    usage: Usage = Usage()
    """Of the models that the tool itself asked."""
    cost_usd: float | None = 0.0
    """Of the same; None: a price is unknown."""
    pictures: tuple[ToolPicture, ...] = ()
    """In the order in which the model is shown them."""
