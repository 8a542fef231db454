"""Messages about a trial's calls for its journal, limited in number."""

from collections.abc import Mapping
from typing import Any

from environments.metering.calls import Terms
from environments.metering.formats.dialects import Dialect
from environments.metering.formats.instructions import MAX_TOOLS, read_instructions, read_tools
from environments.metering.formats.requests import Asked, loses_thoughts
from taskdata.schema.tool import ToolSpec
from taskdata.schema.transcript import PROGRAMS_INSTRUCTIONS

_MAX_NOTES = 50
_MAX_INSTRUCTIONS = 8
"""Different instructions: an agent may have several parts, and some include the time."""

_MAX_TOOLS_CHARS = 400_000
"""Characters of all tools together."""


class Notices:
    """The messages about one trial."""

    def __init__(self, terms: Terms) -> None:
        self._record = terms.record
        self._records_instructions = terms.records_instructions
        self._told: set[str] = set()
        self._instructions: set[str] = set()
        self._tools: set[str] = set()
        self._room = _MAX_TOOLS_CHARS

    def once(self, text: str, kind: str = "") -> None:
        """Journal a message unless it, or another of its `kind`, has been journalled before."""
        if (kind or text) not in self._told and len(self._told) < _MAX_NOTES:
            self._told.add(kind or text)
            self._record.message("system", text)

    def reply_limit(self, asked: Asked, given: int) -> None:
        """Journal the reply limit if the program asked for a higher one."""
        wanted = asked.reply_tokens
        if wanted is not None and given < wanted:
            said = f"The program asked for a reply of up to {wanted} tokens; its budget allows"
            more = ", too few for its model to think" if loses_thoughts(asked, given) else ""
            self.once(f"{said} {given}{more}.", kind="shorter reply")

    def told(self, dialect: Dialect, body: Mapping[str, Any]) -> None:
        """Journal the instructions and tools of a request that are new."""
        if not self._records_instructions:
            return
        text = read_instructions(dialect, body)
        if text and text not in self._instructions and len(self._instructions) < _MAX_INSTRUCTIONS:
            self._instructions.add(text)
            # The reader must see that the program wrote this text, which may claim anything.
            self._record.message("system", f"{PROGRAMS_INSTRUCTIONS}{text}")
        self._record.offered(self._new_tools(body))

    def _new_tools(self, body: Mapping[str, Any]) -> list[ToolSpec]:
        found: list[ToolSpec] = []
        for tool in read_tools(body, self._tools):
            self._room -= len(tool.model_dump_json())
            if self._room < 0 or len(self._tools) == MAX_TOOLS:
                break
            self._tools.add(tool.name)
            found.append(tool)
        return found
