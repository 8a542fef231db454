"""What a person may change of a run, or of a refresh, in the run form of the Prefect UI.

The fields are those of the configuration itself, with its constraints and descriptions, but all of
them optional: one that is left out has its configured default. Fields that say which server is
asked are not among them: whoever sees the form could have keys sent to a server of theirs.
"""

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import or_
from types import NoneType
from typing import TYPE_CHECKING, Annotated, Any, get_args

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    create_model,
    model_serializer,
)
from pydantic.json_schema import SkipJsonSchema

from taskdata.schema.construct import RefreshConfig
from taskdata.schema.run import RunConfig

_RUN_FIELDS = (
    "bank",
    "agents",
    "tasks",
    "sample",
    "repetitions",
    "refinement_rounds",
    "feedback",
    "refine_in",
    "critic",
    "sandbox",
    "judge",
    "judges",
    "panel",
    "user",
    "labeller",
    "tool_model",
    "image_model",
    "threshold",
    "min_coverage",
    "max_usd",
    "replies",
    "workers",
    "trials_per_worker",
)
_REFRESH_FIELDS = (
    "bank",
    "base",
    "model",
    "seeds",
    "review",
    "reviewers",
    "tools",
    "tool_floor",
    "max_augmentations",
    "expansions",
    "draft_references",
    "reference_model",
    "draft_twice",
    "max_asks",
    "max_rewrites",
    "require_coverage",
    "exemplars",
    "concurrency",
    "sandbox",
)
_WRITTEN_AS = {
    "agents": list[str],
    "tasks": list[str],
    "seeds": list[str],
    "judge": str,
    "judges": list[str],
    "user": str,
    "labeller": str,
    "critic": str,
    "tool_model": str,
    "image_model": str,
    "model": str,
    "reference_model": str,
}
"""Where a name stands for what the configuration has: an agent's, a label, or provider/model."""


_NOT_OFFERED: Any = SkipJsonSchema[None]  # type: ignore[misc]  # an alias to type checkers
"""None is what a field has that was left empty; the form does not name it."""


class Changes(BaseModel):
    """What differs from the configured defaults; all else stays as it is."""

    model_config = ConfigDict(extra="forbid")

    @model_serializer(mode="wrap")
    def _given(self, fields: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {name: value for name, value in fields(self).items() if value is not None}


def form_of(
    name: str, config: type[BaseModel], fields: Sequence[str], written_as: Mapping[str, Any]
) -> type[Changes]:
    """Return a model with those fields of a configuration, every one of them optional."""
    made: dict[str, Any] = {}
    for field_name in fields:
        field = config.model_fields[field_name]
        kind = written_as.get(field_name, _without_none(field.annotation))
        if field_name not in written_as:
            for constraint in field.metadata:
                kind = Annotated[kind, constraint]
        optional = Field(
            default=None,
            # As in nightshift.toml; Pydantic would make "Max Usd" of it.
            title=field_name,
            description=field.description,
            json_schema_extra=_without_default,
        )
        made[field_name] = (kind | _NOT_OFFERED, optional)
    return create_model(name, __base__=Changes, __doc__=Changes.__doc__, **made)


def _without_none(kind: Any) -> Any:
    """Return the type of a value that is given."""
    given = tuple(one for one in get_args(kind) if one is not NoneType)
    return reduce(or_, given) if NoneType in get_args(kind) else kind


def _without_default(schema: dict[str, Any]) -> None:
    """Have the form leave a field empty, instead of offering a choice between it and nothing."""
    schema.pop("default", None)


if TYPE_CHECKING:
    RunChanges = Changes
    RefreshChanges = Changes
else:
    RunChanges = form_of("RunChanges", RunConfig, _RUN_FIELDS, _WRITTEN_AS)
    RefreshChanges = form_of("RefreshChanges", RefreshConfig, _REFRESH_FIELDS, _WRITTEN_AS)

AS_CONFIGURED = RunChanges()
REFRESH_AS_CONFIGURED = RefreshChanges()
