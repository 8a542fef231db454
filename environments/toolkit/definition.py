"""How a tool is declared: one definition from which schema, validation and docs come.

A tool is a `ToolDefinition`: an argument model and a plain function that runs inside the sandbox.
This module depends neither on the sandbox nor on the catalogue.

Arguments are read in pydantic's lax mode: `"3"` passes for a number and `3` for a text, because
such slips harm nobody; unknown and missing arguments are errors that name the field.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidatorFunctionWrapHandler
from pydantic.functional_validators import WrapValidator
from pydantic_core import PydanticCustomError

from taskdata.schema.task import Capability
from taskdata.schema.tool import ToolResult, ToolSpec

MAX_TEXT_CHARS = 100_000
"""Longest observation an agent gets from one call (Toolathlon, appendix B)."""

MAX_RESULT_CHARS = 1_000_000
"""Longest result of a tool: a result longer than an observation is kept and read in pages."""

_MAX_ERRORS_SHOWN = 10


class Arguments(BaseModel):
    """Base of every argument model."""

    model_config = ConfigDict(frozen=True, extra="forbid", coerce_numbers_to_str=True)


A = TypeVar("A", bound=Arguments)


def _one_cell(value: Any, read: ValidatorFunctionWrapHandler) -> Any:
    try:
        return read(value)
    except ValidationError as exc:
        raise PydanticCustomError(
            "cell", "should be a text, a number, true, false or null"
        ) from exc


CellValue = Annotated[str | int | float | bool | None, WrapValidator(_one_cell)]
"""One cell of a table."""

InputPath = Annotated[
    str, Field(description="Path in the workspace, such as input/sales.csv.", min_length=1)
]
OutputPath = Annotated[
    str, Field(description="Path below output/, such as output/report.docx.", min_length=1)
]


_READ_FILE = re.compile(r"^Path (?:of|in) .*such as input/")


def reads_a_file(schema: Mapping[str, Any]) -> bool:
    """Return whether an argument is the path of an existing file, judged by its description.

    Tools of this project word it like `InputPath`; tools of MCP servers do not say.
    """
    return _READ_FILE.match(str(schema.get("description", ""))) is not None


@dataclass(frozen=True, kw_only=True)
class Declaration(Generic[A]):
    """What is declared once for any tool, wherever it runs."""

    name: str
    description: str
    category: Capability
    arguments: type[A]
    backend: str
    """What does the work: a library, a service."""
    paging: str = "Ask for a smaller part."
    """How to get the rest of an observation that was cut."""
    modules: tuple[str, ...] = ()
    """Import names that the part inside the sandbox needs beyond the base installation."""
    extra: str | None = None
    """Extra of this project that installs them."""

    @property
    def spec(self) -> ToolSpec:
        """Return the tool in the form that a harness shows."""
        return ToolSpec(
            name=self.name,
            description=self.description,
            category=self.category,
            parameters=argument_schema(self.arguments),
        )


@dataclass(frozen=True, kw_only=True)
class ToolDefinition(Declaration[A]):
    """A tool that runs inside the sandbox."""

    run: Callable[[A, Path], ToolResult]
    """Called with the workspace's path; raises `ToolRefused` to refuse the agent's request."""


def argument_schema(model: type[Arguments]) -> dict[str, Any]:
    """Return the JSON schema of `model`, self-contained and without generated titles.

    References are inlined and `oneOf` becomes `anyOf`, since not every provider supports them.
    """
    schema = model.model_json_schema()
    definitions = schema.pop("$defs", {})
    plain: dict[str, Any] = _plain_schema(schema, definitions)
    plain.pop("description", None)
    plain.setdefault("properties", {})
    return plain


def _plain_schema(schema: Any, definitions: Mapping[str, Any]) -> Any:
    if isinstance(schema, list):
        return [_plain_schema(part, definitions) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        target = definitions[schema["$ref"].rsplit("/", 1)[-1]]
        schema = {**target, **{k: v for k, v in schema.items() if k != "$ref"}}
    plain: dict[str, Any] = {}
    for key, value in schema.items():
        if key in ("title", "discriminator"):
            continue
        if key == "properties":
            plain[key] = {name: _plain_schema(part, definitions) for name, part in value.items()}
        elif key in ("const", "default", "enum", "examples"):
            plain[key] = value
        else:
            plain["anyOf" if key == "oneOf" else key] = _plain_schema(value, definitions)
    return plain


def explain_bad_arguments(
    tool: str, model: type[Arguments], arguments: Any, error: ValidationError
) -> str:
    """Return what is wrong with `arguments`, one line per field, and what the tool takes."""
    faults = error.errors(include_url=False, include_context=False)
    lines = [
        f"- {_field_name(fault['loc'], arguments)}: {_fault_text(fault)}"
        for fault in faults[:_MAX_ERRORS_SHOWN]
    ]
    if len(faults) > _MAX_ERRORS_SHOWN:
        lines.append(f"- and {len(faults) - _MAX_ERRORS_SHOWN} more")
    takes = ", ".join(
        f"{name} (required)" if field.is_required() else name
        for name, field in model.model_fields.items()
    )
    return f"The arguments do not fit {tool}:\n" + "\n".join(lines) + f"\n{tool} takes: {takes}."


def _fault_text(fault: Mapping[str, Any]) -> str:
    if fault["type"] == "missing":
        return "is missing"
    if fault["type"] == "extra_forbidden":
        return "is not an argument of this tool"
    message = str(fault["msg"]).removeprefix("Input ").removeprefix("Value error, ")
    given = repr(fault.get("input"))
    return f"{message} (given: {given if len(given) <= 80 else given[:79] + '…'})"


def _field_name(location: tuple[int | str, ...], arguments: Any) -> str:
    """Write a pydantic location as `sheets[0].rows`, without the tags of unions."""
    name, value = "", arguments
    for position, part in enumerate(location):
        if isinstance(part, int):
            name += f"[{part}]"
            value = value[part] if isinstance(value, list) and part < len(value) else None
            continue
        is_last = position == len(location) - 1
        if isinstance(value, dict) and (part in value or is_last):
            value = value.get(part)
            name += f".{part}" if name else part
    return name or "arguments"


def cut_text(text: str, paging: str, longest: int = MAX_TEXT_CHARS) -> str:
    """Return `text`, cut to `longest` characters; a cut text says how to get the rest."""
    if len(text) <= longest:
        return text
    notice = f"\n[cut: {longest} of {len(text)} characters shown. {paging}]"
    return text[: longest - len(notice)] + notice
