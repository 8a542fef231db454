"""The forms that a model fills in, and a JSON schema of them that every provider accepts.

OpenAI's strict mode wants every field required and no free-form objects; Anthropic's structured
output supports no recursion, few optional fields and few unions. So the forms are flat: a
checkpoint tree is a list of nodes that name their parents, a check's arguments are a JSON object in
a text, and a missing value is an empty text or list. Lengths and ranges are not in the schema,
because strict modes refuse these keywords; they are checked when an answer is parsed.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from taskdata.schema.base import RelativePath, Slug
from taskdata.schema.task import Capability, Category, DeliverableType

_KEPT = ("type", "enum", "const", "description")

_MOST_ITEMS = {
    "tools": 8,
    "capabilities": 3,
    "requirements": 8,
    "looks_at": 1,
}
_FEWEST_ITEMS = {"requirements": 2}
MOST_LETTERS = {
    "id": 40,
    "title": 100,
    "description": 160,
    "requirement": 200,
    "args": 300,
    "rubric": 300,
    "quote": 200,
    "problem": 200,
}
"""Limits of a bounded schema; of the items of other lists there are at most 5."""

Short = Annotated[str, Field(min_length=1, max_length=200)]
Sentence = Annotated[str, Field(min_length=1, max_length=1_000)]


class Form(BaseModel):
    """Base of the forms: exact types, every field present and no others."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class DeliverableForm(Form):
    """A file that the task asks for."""

    name: RelativePath
    type: DeliverableType
    description: Annotated[str, Field(max_length=1_000)]


class NodeForm(Form):
    """A node of the checkpoint tree."""

    id: Slug
    parent: Annotated[str, Field(max_length=80)]
    """Id of the node above; empty for the root."""
    requirement: Sentence
    weight: Annotated[float, Field(gt=0, le=1_000, allow_inf_nan=False)]
    verifier: Literal["group", "check", "judge"]
    """`group`: an inner node; the others are leaves."""
    check: Annotated[str, Field(max_length=80)]
    """Name in the library of checks; empty unless the verifier is a check."""
    args: Annotated[str, Field(max_length=20_000)]
    """The check's arguments as a JSON object in a text; empty unless the verifier is a check."""
    rubric: Annotated[str, Field(max_length=4_000)]
    """How scores are earned; empty unless the verifier is a judge."""
    looks_at: Annotated[tuple[RelativePath, ...], Field(max_length=20)]
    """Names of deliverables; none means the final answer."""


class TreeForm(Form):
    """A checkpoint tree as a flat list."""

    checkpoints: Annotated[tuple[NodeForm, ...], Field(min_length=1, max_length=80)]


class LeafForm(Form):
    """How a leaf of a tree without groups is scored; its requirement is known."""

    check: Annotated[str, Field(max_length=80)]
    """Name in the library of checks; empty for what only a judge can decide."""
    args: Annotated[str, Field(max_length=20_000)]
    """The check's arguments as a JSON object in a text; empty without a check."""
    rubric: Annotated[str, Field(max_length=4_000)]
    """How a judge gives scores; empty for a check."""
    looks_at: Annotated[tuple[RelativePath, ...], Field(max_length=20)]
    """Names of deliverables; none means the final answer."""

    @field_validator("args", mode="before")
    @classmethod
    def _as_text(cls, args: object) -> object:
        # A server that constrains its replies is given the schema of the arguments themselves.
        return json.dumps(args, ensure_ascii=False) if isinstance(args, dict) else args


class TaskForm(Form):
    """A task without its checkpoint tree."""

    title: Short
    query: Annotated[str, Field(min_length=1, max_length=20_000)]
    category: Category
    capabilities: Annotated[tuple[Capability, ...], Field(min_length=1, max_length=4)]
    human_minutes: Annotated[int, Field(ge=1, le=10_000)]
    files: Annotated[tuple[RelativePath, ...], Field(max_length=50)]
    deliverables: Annotated[tuple[DeliverableForm, ...], Field(max_length=20)]
    tools: Annotated[tuple[Short, ...], Field(min_length=1, max_length=60)]


class DraftForm(TaskForm):
    """A task with its checkpoint tree."""

    checkpoints: Annotated[tuple[NodeForm, ...], Field(min_length=1, max_length=80)]


class ClassForm(Form):
    """Classification of a draft (GTA-2, section 3.3.4)."""

    verdict: Literal["augmentation", "refinement", "deletion", "pass"]
    reasons: Annotated[tuple[Sentence, ...], Field(min_length=1, max_length=8)]


class FindingForm(Form):
    """One fault that a reader found, with the words that show it."""

    rule: Literal[
        "action_oriented",
        "prescribes_steps",
        "names_tool",
        "ambiguous",
        "infeasible",
        "unverifiable",
    ]
    place: Annotated[str, Field(min_length=1, max_length=80)]
    """`query`, or the id of a checkpoint."""
    quote: Annotated[str, Field(max_length=1_000)]
    problem: Sentence


class FindingsForm(Form):
    """All faults found in a draft; empty if it is fine."""

    findings: Annotated[tuple[FindingForm, ...], Field(max_length=40)]


class RequirementForm(Form):
    """Something that the query demands, and the leaves that score it."""

    quote: Annotated[str, Field(max_length=1_000)]
    """Words of the query."""
    leaves: Annotated[tuple[Annotated[str, Field(max_length=80)], ...], Field(max_length=80)]
    """Ids; empty if no leaf scores it."""


class RequirementsForm(Form):
    """Everything that a query demands explicitly."""

    requirements: Annotated[tuple[RequirementForm, ...], Field(min_length=1, max_length=80)]


def tidied(form: TaskForm) -> TaskForm:
    """Return the form of a small model without what code can decide.

    Each tool, capability and file is listed once, and the type of a deliverable is the one with
    which its name ends.
    """
    names = ("tools", "capabilities", "files")
    once = {name: tuple(dict.fromkeys(getattr(form, name))) for name in names}
    typed = tuple(_typed(deliverable) for deliverable in form.deliverables)
    return form.model_copy(update=once | {"deliverables": typed})


def _typed(form: DeliverableForm) -> DeliverableForm:
    ending = form.name.rpartition(".")[2].lower()
    if ending not in set(DeliverableType):
        return form
    return form.model_copy(update={"type": DeliverableType(ending)})


ROOT = NodeForm(
    id="root",
    parent="",
    requirement="All that was asked for is there and is right.",
    weight=1.0,
    verifier="group",
    check="",
    args="",
    rubric="",
    looks_at=(),
)
"""The root of a tree whose leaves are asked for one by one."""


def leaf_node(form: LeafForm, requirement: str, number: int) -> NodeForm:
    """Return the node of a leaf below `ROOT`; all leaves count the same."""
    return NodeForm(
        id=f"leaf-{number}",
        parent=ROOT.id,
        requirement=requirement,
        weight=1.0,
        verifier="check" if form.check else "judge",
        check=form.check,
        args=form.args if form.check else "",
        rubric="" if form.check else form.rubric,
        looks_at=form.looks_at,
    )


def schema_of(form: type[Form]) -> dict[str, Any]:
    """Return the JSON schema of a form: references inlined, every field required."""
    schema = form.model_json_schema()
    plain: dict[str, Any] = _plain(schema, schema.get("$defs", {}))
    plain.pop("description", None)
    return plain


def narrowed(
    form: type[Form], choices: Mapping[str, Sequence[str]], *, bounded: bool = False
) -> dict[str, Any]:
    """Return the JSON schema of a form in which some texts are chosen from lists.

    Args:
        form: The form.
        choices: The choices by the name of the field, wherever it is; for a field with a list of
            texts, those of each item. A field without choices is left as it is.
        bounded: Whether lists and texts are limited as a small model needs it: without a limit it
            may repeat an item until its reply ends. No strict mode accepts these keywords; a local
            server does.
    """
    schema: dict[str, Any] = schema_of(form)
    narrow: dict[str, Any] = _narrowed(schema, choices, bounded=bounded)
    return narrow


def _narrowed(
    schema: Mapping[str, Any], choices: Mapping[str, Sequence[str]], *, bounded: bool
) -> Any:
    plain = dict(schema)
    if "items" in schema:
        plain["items"] = _narrowed(schema["items"], choices, bounded=bounded)
    for name, part in schema.get("properties", {}).items():
        narrow = _chosen(_narrowed(part, choices, bounded=bounded), choices.get(name, ()))
        plain["properties"] = {**plain["properties"], name: narrow}
        if bounded:
            plain["properties"][name] = _limited(name, narrow, choices)
    return plain


def _limited(
    name: str, schema: Mapping[str, Any], choices: Mapping[str, Sequence[str]]
) -> dict[str, Any]:
    if schema.get("type") == "array":
        is_empty = name in choices and not choices[name]
        limited = {**schema, "maxItems": 0 if is_empty else _MOST_ITEMS.get(name, 5)}
        return limited | ({"minItems": _FEWEST_ITEMS[name]} if name in _FEWEST_ITEMS else {})
    if schema.get("type") == "string" and "enum" not in schema and name in MOST_LETTERS:
        return {**schema, "maxLength": MOST_LETTERS[name]}
    return dict(schema)


def _chosen(schema: Mapping[str, Any], among: Sequence[str]) -> dict[str, Any]:
    if not among:
        return dict(schema)
    if "items" in schema:
        return {**schema, "items": _chosen(schema["items"], among)}
    return {**schema, "enum": list(dict.fromkeys(among))}


def inlined(schema: Any, definitions: Mapping[str, Any]) -> Any:
    """Return a JSON schema with its references replaced by what they refer to."""
    if isinstance(schema, list):
        return [inlined(part, definitions) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        schema = {**definitions[schema["$ref"].rsplit("/", 1)[-1]], **schema}
    return {
        name: inlined(part, definitions)
        for name, part in schema.items()
        if name not in ("$ref", "$defs")
    }


def _plain(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Any:
    schema = inlined(schema, definitions)
    plain = {name: schema[name] for name in _KEPT if name in schema}
    if "properties" in schema:
        plain["properties"] = {k: _plain(v, {}) for k, v in schema["properties"].items()}
        plain["required"] = list(schema["properties"])
        plain["additionalProperties"] = False
    if "items" in schema:
        plain["items"] = _plain(schema["items"], {})
    return plain
