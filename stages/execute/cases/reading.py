"""An answer to a planning case as a planner wrote it: untrusted text, read within limits."""

import json
from typing import Annotated, Any

from pydantic import (
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
)

from stages.execute.planning.reading import read_object
from taskdata.errors import BadTaskData
from taskdata.schema.planning import PlannedAction
from taskdata.schema.planning_score import PredictedPlan

MAX_ACTIONS = 100
"""Calls of one tool chain that are read; of those beyond only the number is kept."""
_MAX_PLAN_STEPS = 100
_STEP_CHARS = 1_000
_TOOL_CHARS = 200
_WORDS_CHARS = 4_000
_ARGUMENTS_CHARS = 20_000
_NOTHING = frozenset({"", "none", "null", "no", "false", "n/a"})


def _text(value: Any) -> Any:
    """Take a missing value for an empty text, and cut a long one."""
    return (
        "" if value is None else value[:_WORDS_CHARS].strip() if isinstance(value, str) else value
    )


def _lines(value: Any) -> Any:
    """Take one text for a list of its lines."""
    if value is None:
        return []
    listed = value.splitlines() if isinstance(value, str) else value
    if not isinstance(listed, list):
        return listed
    cut = [one[:_STEP_CHARS].strip() if isinstance(one, str) else one for one in listed]
    return [one for one in cut if one != ""][:_MAX_PLAN_STEPS]


def _refused(value: Any) -> Any:
    if isinstance(value, bool):
        return "(no reason was given)" if value else ""
    words = _text(value)
    return "" if isinstance(words, str) and words.lower() in _NOTHING else words


def _answered(value: Any) -> Any:
    if value is None or isinstance(value, str):
        return _text(value)
    return json.dumps(value, ensure_ascii=False)[:_WORDS_CHARS]


def _bounded(value: Any) -> Any:
    if value is None:
        return {}
    if isinstance(value, dict) and len(json.dumps(value)) > _ARGUMENTS_CHARS:
        raise ValueError(f"the arguments are longer than {_ARGUMENTS_CHARS} characters; be shorter")
    return value


class _Action(BaseModel):
    model_config = ConfigDict(extra="ignore")

    tool: Annotated[
        str,
        Field(min_length=1, max_length=_TOOL_CHARS, validation_alias=AliasChoices("tool", "name")),
    ]
    arguments: Annotated[
        dict[str, Any],
        BeforeValidator(_bounded),
        Field(validation_alias=AliasChoices("arguments", "parameters", "parameter_description")),
    ] = {}
    rationale: Annotated[
        str,
        BeforeValidator(_text),
        Field(validation_alias=AliasChoices("rationale", "reason", "thought")),
    ] = ""


class _Answer(BaseModel):
    model_config = ConfigDict(extra="ignore")

    plan: Annotated[list[str], BeforeValidator(_lines)] = []
    chain: Annotated[
        list[Any] | None,
        Field(validation_alias=AliasChoices("tool_chain", "actions", "chain")),
    ] = None
    refusal: Annotated[str, BeforeValidator(_refused)] = ""
    final_answer: Annotated[str, BeforeValidator(_answered)] = ""


_ACTIONS = TypeAdapter(list[_Action])


def read_answer(text: str) -> PredictedPlan:
    """Return the answer in a reply: its one JSON object, whatever prose or fence surrounds it.

    Both forms are read alike, and so is an answer in the form of `PredictedPlan`. Keys that were
    not asked for are ignored; long words are cut, and so is a chain of more than `MAX_ACTIONS`.

    Raises:
        BadTaskData: it cannot be read; says what to mend.
    """
    written = read_object(text, _Answer)
    if written.chain is None and not written.refusal and not written.final_answer:
        raise BadTaskData("the answer has no tool calls, no refusal and no final answer")
    return PredictedPlan(
        plan=tuple(written.plan),
        chain=tuple(_actions((written.chain or [])[:MAX_ACTIONS])),
        refusal=written.refusal,
        final_answer=written.final_answer or None,
        left_out=max(0, len(written.chain or ()) - MAX_ACTIONS),
    )


def _actions(listed: list[Any]) -> list[PlannedAction]:
    try:
        found = _ACTIONS.validate_python(listed)
    except ValidationError as exc:
        fault = exc.errors(include_url=False, include_context=False, include_input=False)[0]
        number, *place = fault["loc"]
        where = ".".join(["call", str(int(number) + 1), *map(str, place)])
        raise BadTaskData(f"{where}: {fault['msg']}") from exc
    return [
        PlannedAction(tool=one.tool, arguments=one.arguments, rationale=one.rationale)
        for one in found
    ]
