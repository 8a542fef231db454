"""The instructions and tools of a request, for the record.

The program wrote all of it, so it is cut to a size, and what cannot be recorded is left out.
"""

import json
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from environments.metering.formats.dialects import Dialect
from environments.models.wire.arguments import clean_text, read_arguments
from environments.models.wire.parts import object_of, objects_of, text_of
from taskdata.schema.task import Capability
from taskdata.schema.tool import ToolSpec

MAX_TOOLS = 128
_MAX_INSTRUCTIONS_CHARS = 50_000
_MAX_NAME_CHARS = 200
_MAX_DESCRIPTION_CHARS = 10_000
_MAX_SCHEMA_CHARS = 20_000
_ROLES = ("system", "developer")


def read_instructions(dialect: Dialect, body: Mapping[str, Any]) -> str:
    """Return the system prompt of a request; empty if it has none."""
    if dialect.name == "messages":
        told = [_text(body.get("system"))]
    else:
        items = objects_of(body.get("messages" if dialect.name == "chat" else "input"))
        said = [_text(item.get("content")) for item in items if item.get("role") in _ROLES]
        told = [_text(body.get("instructions")), *said]
    text = clean_text("\n\n".join(part for part in told if part))
    if len(text) <= _MAX_INSTRUCTIONS_CHARS:
        return text
    return f"{text[:_MAX_INSTRUCTIONS_CHARS]}\n(the first of {len(text)} characters)"


def read_tools(body: Mapping[str, Any], known: Collection[str]) -> Iterator[ToolSpec]:
    """Yield the tools on offer whose names are not among the `known`."""
    for tool in objects_of(body.get("tools"))[:MAX_TOOLS]:
        # A chat completion describes a tool in a field that is named after the tool's type.
        kind = text_of(tool.get("type"))
        told = object_of(tool.get(kind)) or tool
        name = clean_text(text_of(told.get("name")) or kind)[:_MAX_NAME_CHARS]
        if name and name not in known:
            yield ToolSpec(
                name=name,
                description=clean_text(text_of(told.get("description")))[:_MAX_DESCRIPTION_CHARS],
                # A category is required; the capability of a program's own tool is unknown and
                # unused.
                category=Capability.OPERATION,
                parameters=_schema(told.get("parameters") or told.get("input_schema")),
            )


def _schema(given: object) -> dict[str, Any]:
    """Return the argument schema as given; a schema of any object if it is invalid."""
    try:
        written = json.dumps(object_of(given))
    except RecursionError:
        written = ""
    kept = read_arguments(written) if len(written) <= _MAX_SCHEMA_CHARS else None
    return kept or {"type": "object"}


def _text(content: object) -> str:
    parts = (text_of(part.get("text")) for part in objects_of(content))
    return text_of(content) or "\n".join(part for part in parts if part)
