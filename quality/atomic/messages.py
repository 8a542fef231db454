"""Messages of a trace as GTA's published scorer looks at them.

The scorer takes whatever a model wrote and stops with a Python error at what it cannot read. Here
too only what is asked for has to be readable, and what is not is said with its place.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from taskdata.errors import BadTaskData

MAX_SHOWN = 60


class MessageKind(StrEnum):
    """What a message is."""

    TOOL = "tool"
    """It calls a tool."""
    ANSWER = "answer"
    """The assistant says something: a thought, or the final answer."""
    TOOL_RETURN = "tool_return"


@dataclass(frozen=True)
class Message:
    """One message, and where it stands in its file."""

    raw: Mapping[str, Any]
    where: str

    @property
    def calls_tool(self) -> bool:
        """Whether it is a tool message: it has the key `tool_calls`, whatever its role."""
        return "tool_calls" in self.raw

    @property
    def is_erroneous(self) -> bool:
        """Whether it has the key `error`."""
        return "error" in self.raw

    @property
    def kind(self) -> MessageKind:
        """What it is.

        Raises:
            BadTaskData: It neither calls a tool nor has a role.
        """
        if self.calls_tool:
            return MessageKind.TOOL
        if "role" not in self.raw:
            raise BadTaskData(f"{self.where}: has neither tool_calls nor a role")
        is_answer = self.raw["role"] == "assistant"
        return MessageKind.ANSWER if is_answer else MessageKind.TOOL_RETURN

    def require_body(self) -> None:
        """Check that there is what the published scorer takes out of every message it looks at.

        Raises:
            BadTaskData: It has neither a first call nor a content.
        """
        if self.kind is MessageKind.TOOL:
            _ = self._function
        elif "content" not in self.raw:
            raise BadTaskData(f"{self.where}: has no content")

    @property
    def tool(self) -> str:
        """Name of the tool of its first call.

        Raises:
            BadTaskData: There is no call with a name.
        """
        name = self._function.get("name")
        if not isinstance(name, str):
            raise BadTaskData(f"{self.where}: its first tool call has no name that is a text")
        return name

    @property
    def arguments(self) -> Any:
        """Arguments of its first call, as they were written: a mapping, or what stood in its place.

        Raises:
            BadTaskData: There are none.
        """
        if "arguments" not in self._function:
            raise BadTaskData(f"{self.where}: its first tool call has no arguments")
        return self._function["arguments"]

    @property
    def text(self) -> str | None:
        """What it says; None where its content is null.

        Raises:
            BadTaskData: It has no content, or one that is no text.
        """
        self.require_body()
        content = self.raw["content"]
        if content is not None and not isinstance(content, str):
            raise BadTaskData(
                f"{self.where}: the content of an answer must be a text, not "
                f"{repr(content)[:MAX_SHOWN]}"
            )
        return content

    @property
    def _function(self) -> Mapping[str, Any]:
        calls = self.raw["tool_calls"]
        first = calls[0] if isinstance(calls, list) and calls else None
        function = first.get("function") if isinstance(first, Mapping) else None
        if not isinstance(function, Mapping):
            raise BadTaskData(
                f"{self.where}: tool_calls must be a list that begins with a call with its function"
            )
        return function
