"""Encoding requests as JSON, each part of a growing conversation only once."""

import json
import re
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from pydantic_core import PydanticSerializationError
from pydantic_core import to_json as strings_to_json

from environments.ports import Media, Message, Opening
from taskdata.schema.tool import ToolSpec

_TEXT = "text alone"
_TOOL_SETS = 256
_NOT_IN_NAMES = re.compile(r"[^\w-]", re.ASCII)
_NAME_CHARS = 64


def to_json(value: Any) -> bytes:
    """Return `value` as JSON in UTF-8; lone surrogates, which are invalid there, become `?`."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace")


def message_json(message: Message, wire_format: str, write: Callable[[Message], Any]) -> bytes:
    """Return the result of `write` for a message as JSON, cached per format."""
    known = message.wire.get(wire_format)
    if known is None:
        known = message.wire[wire_format] = to_json(write(message))
    return known


def opening_json(opening: Opening, wire_format: str, write: Callable[[str | Media], Any]) -> bytes:
    """Return the parts of an opening as JSON, without brackets around them, cached per format."""
    known = opening.wire.get(wire_format)
    if known is None:
        known = b",".join(_piece_json(write(piece)) for piece in opening.pieces)
        opening.wire[wire_format] = known
    return known


def _piece_json(part: Any) -> bytes:
    """Return objects and strings alone as JSON: several times faster, where pictures are large."""
    try:
        return strings_to_json(part)
    except PydanticSerializationError:  # lone surrogates
        return to_json(part)


def opening_text(opening: Opening) -> bytes:
    """Return an opening of texts as the beginning of a JSON string, cached."""
    known = opening.wire.get(_TEXT)
    if known is None:
        known = opening.wire[_TEXT] = to_json(opening.text)[:-1]
    return known


def tool_name(called: str) -> str:
    """Return a called tool's name in a form that every provider accepts: models invent names."""
    return _NOT_IN_NAMES.sub("_", called)[:_NAME_CHARS] or "_"


def with_parts(fields: dict[str, Any], parts: Mapping[str, bytes | Sequence[bytes]]) -> bytes:
    """Return the JSON object of `fields`, at least one, and the encoded `parts`.

    A part may come in pieces, so that what is large is copied only here.
    """
    pieces = [to_json(fields)[:-1]]
    for name, part in parts.items():
        pieces.append(b',"%s":' % name.encode())
        pieces += [part] if isinstance(part, bytes) else part
    return b"".join([*pieces, b"}"])


def list_in_pieces(items: Iterable[Sequence[bytes]]) -> list[bytes]:
    """Return the pieces of the JSON array of items that come in pieces themselves."""
    pieces = [b"["]
    for number, item in enumerate(items):
        pieces += [b",", *item] if number else item
    return [*pieces, b"]"]


def in_list(parts: Sequence[bytes]) -> bytes:
    """Return the JSON array of encoded parts."""
    return b"[" + b",".join(parts) + b"]"


class ToolSets:
    """Tools as JSON, cached: a conversation sends them with every turn, and trials share them."""

    def __init__(self, write: Callable[[ToolSpec], Any]) -> None:
        """Encode each tool with `write`."""
        self._write = write
        # Keyed by identity, because comparing schemas costs as much as encoding them; the tools are
        # kept beside their JSON so that their identity is not reused.
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
