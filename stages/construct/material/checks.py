"""The check library in the short form for prompts."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from environments.tool_runtime.catalogue import type_text
from stages.construct.answers.forms import inlined
from stages.score.check import CheckSpec
from stages.score.library import check_library


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
