"""All tools by name, and the catalogue's documentation."""

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from environments.ports import Tool
from environments.tool_runtime.host_registry import HOST_MODULES, host_definition
from environments.tool_runtime.registry import MODULES, definition
from environments.tool_runtime.sandboxed import SandboxedTool
from environments.toolkit.host_tool import HostTool
from environments.tools.session.finish import ending_tools
from taskdata.schema.tool import ToolSpec


@cache
def catalogue() -> Mapping[str, Tool]:
    """Return all tools by name, in the order of the documentation."""
    tools: dict[str, Tool] = {}
    for name in MODULES:
        declared = definition(name)
        tools[name] = SandboxedTool(declared, declared.spec)
    for name in HOST_MODULES:
        declared_outside = host_definition(name)
        tools[name] = HostTool(declared_outside, declared_outside.spec)
    tools |= {tool.spec.name: tool for tool in ending_tools()}
    return tools


def as_markdown(specs: Iterable[ToolSpec]) -> str:
    """Return the documentation of the tools, one section each: purpose and arguments."""
    return "\n".join(_section(spec) for spec in specs)


def _section(spec: ToolSpec) -> str:
    required = spec.parameters.get("required", ())
    lines = [f"### {spec.name}", "", f"{spec.description} ({spec.category})", ""]
    for name, schema in spec.parameters["properties"].items():
        lines.append(_argument_line(name, schema, name in required))
    return "\n".join(lines) + "\n"


def _argument_line(name: str, schema: Mapping[str, Any], is_required: bool) -> str:
    facts = [type_text(schema)]
    if is_required:
        facts.append("required")
    elif schema.get("default") not in (None, "", [], {}):
        facts.append(f"default {schema['default']}")
    described = schema.get("description", "")
    return f"- `{name}` ({', '.join(facts)}){': ' + described if described else ''}"


def type_text(schema: Mapping[str, Any]) -> str:
    """Return a JSON schema in a few words, such as `list of {name: text, values: list}`."""
    if "const" in schema:
        return f'"{schema["const"]}"'
    if "enum" in schema:
        return " | ".join(f'"{choice}"' for choice in schema["enum"])
    if "anyOf" in schema:
        kinds = [type_text(part) for part in schema["anyOf"] if part.get("type") != "null"]
        return " | ".join(dict.fromkeys(kinds))
    kind: str = schema.get("type", "any")
    if kind == "array":
        items = type_text(schema.get("items", {}))
        return f"list of ({items})" if " | " in items else f"list of {items}"
    if kind == "object" and "properties" in schema:
        required = schema.get("required", ())
        fields = (
            f"{name}{'' if name in required or 'const' in part else '?'}: {type_text(part)}"
            for name, part in schema["properties"].items()
        )
        return "{" + ", ".join(fields) + "}"
    words = {"string": "text", "integer": "whole number", "boolean": "true or false"}
    return words.get(kind, kind)
