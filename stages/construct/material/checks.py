"""The check library in the short form for prompts."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache

from environments.tool_runtime.catalogue import type_text
from stages.construct.answers.forms import inlined
from stages.score.check import CheckSpec
from stages.score.library import check_library
from taskdata.schema.construct import TaskDraft

_KINDS = {"png": "image", "wav": "audio", "md": "text", "txt": "text"}
"""What the library calls files of these types; it calls the others by their own names."""


@dataclass(frozen=True)
class DescribedCheck:
    """A check in the form in which prompts show it."""

    name: str
    looks_at: tuple[str, ...]
    """Kinds of file, and `final answer`."""
    args: tuple[str, ...]
    """Each as `name: type`; an optional argument as `name?: type`."""
    purpose: str


@cache
def described_checks() -> tuple[DescribedCheck, ...]:
    """Return every check of the library."""
    return tuple(_described(spec) for spec in check_library().values())


def checks_for(draft: TaskDraft) -> tuple[DescribedCheck, ...]:
    """Return the checks that can look at a deliverable of the draft, or at the final answer."""
    return looking_at(described_checks(), (spec.type for spec in draft.deliverables))


def kind_named(type_: str) -> str:
    """Return what the library of checks calls files of a deliverable's type."""
    return _KINDS.get(str(type_), str(type_))


def looking_at(
    checks: Iterable[DescribedCheck], types: Iterable[str]
) -> tuple[DescribedCheck, ...]:
    """Return the checks that can look at a file of one of these types, or at the final answer."""
    kinds = {kind_named(name) for name in types} | {"final answer"}
    return tuple(check for check in checks if kinds.intersection(check.looks_at))


def _described(spec: CheckSpec) -> DescribedCheck:
    schema = spec.args.model_json_schema()
    schema = inlined(schema, schema.get("$defs", {}))
    required = schema.get("required", ())
    return DescribedCheck(
        name=spec.name,
        looks_at=spec.reads,
        args=tuple(
            f"{name}{'' if name in required else '?'}: {_type(part)}"
            for name, part in schema.get("properties", {}).items()
        ),
        purpose=" ".join((spec.args.__doc__ or "").split()),
    )


def _type(schema: Mapping[str, object]) -> str:
    values = schema.get("additionalProperties")
    if isinstance(values, Mapping):
        return f"object of {type_text(values)}"
    return type_text(schema)
