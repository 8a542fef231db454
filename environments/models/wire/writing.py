"""Writing requests as JSON, each part of a growing conversation once."""

import json
import re
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

from environments.ports import Message
from taskdata.schema.tool import ToolSpec

_TOOL_SETS = 256
_NOT_IN_NAMES = re.compile(r"[^\w-]", re.ASCII)
_NAME_CHARS = 64


def to_json(value: Any) -> bytes:
    """Return `value` as JSON in UTF-8; lone surrogates, which no request holds, become `?`."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace")


def message_json(message: Message, wire_format: str, write: Callable[[Message], Any]) -> bytes:
    """Return what `write` makes of a message as JSON, made once for each format."""
    known = message.wire.get(wire_format)
    if known is None:
        known = message.wire[wire_format] = to_json(write(message))
    return known


def tool_name(called: str) -> str:
    """Return the name of a called tool as every provider takes it back: models invent others."""
    return _NOT_IN_NAMES.sub("_", called)[:_NAME_CHARS] or "_"


def with_parts(fields: dict[str, Any], parts: dict[str, bytes]) -> bytes:
    """Return the JSON object of `fields`, of which there is one at least, and written `parts`."""
    pieces = [to_json(fields)[:-1]]
    pieces += [b',"%s":%s' % (name.encode(), part) for name, part in parts.items()]
    return b"".join([*pieces, b"}"])


def in_list(parts: Sequence[bytes]) -> bytes:
    """Return the JSON array of written parts."""
    return b"[" + b",".join(parts) + b"]"


class ToolSets:
    """Tools as JSON: those of a conversation go out with every turn, and trials share them."""

    def __init__(self, write: Callable[[ToolSpec], Any]) -> None:
        """Write each tool with `write`."""
        self._write = write
        # Keyed by identity, for comparing schemas costs as much as writing them; the tools are
        # kept with their text so that no other ones can come to have the same identity.
        self._known: OrderedDict[tuple[int, ...], tuple[Sequence[ToolSpec], tuple[bytes, ...]]] = (
            OrderedDict()
        )

    def json(self, tools: Sequence[ToolSpec]) -> tuple[bytes, ...]:
        """Return each of `tools` as JSON."""
        key = tuple(map(id, tools))
        known = self._known.get(key)
        if known is None:
            known = (tuple(tools), tuple(to_json(self._write(tool)) for tool in tools))
            self._known[key] = known
            if len(self._known) > _TOOL_SETS:
                self._known.popitem(last=False)
        return known[1]
