"""A model's plan as JSON: the form that is asked for, and how a reply is read."""

from collections.abc import Sequence
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from environments.ports import ModelReply
from stages.construct.answers.json_text import read_json
from taskdata.errors import BadTaskData
from taskdata.schema.plan import PlanStep
from taskdata.schema.tool import ToolSpec

MAX_STEPS = 40
"""A longer plan is not taken: the agent would read all of it with every turn."""
_PURPOSE_CHARS = 1_000
_TOOL_CHARS = 200
_CRITICISM_CHARS = 10_000
_NO_TOOL = frozenset({"", "none", "null"})

_Text = StringConstraints(strip_whitespace=True)
_Form = TypeVar("_Form", bound=BaseModel)


class _Step(BaseModel):
    model_config = ConfigDict(extra="ignore")

    purpose: Annotated[str, _Text, Field(min_length=1, max_length=_PURPOSE_CHARS)]
    tool: Annotated[str, _Text, Field(max_length=_TOOL_CHARS)] | None = None


class WrittenPlan(BaseModel):
    """What a reply says, where it is a plan; keys that were not asked for are ignored."""

    model_config = ConfigDict(extra="ignore")

    steps: Annotated[list[_Step], Field(min_length=1, max_length=MAX_STEPS)]
    criticism: Annotated[str, _Text, Field(max_length=_CRITICISM_CHARS)] = ""

    @property
    def plan_steps(self) -> tuple[PlanStep, ...]:
        """The steps in the form in which they are stored."""
        return tuple(
            PlanStep(purpose=step.purpose, tool=None if _is_none(step.tool) else step.tool)
            for step in self.steps
        )


def _is_none(tool: str | None) -> bool:
    return tool is None or tool.lower() in _NO_TOOL


def read_plan(reply: ModelReply) -> WrittenPlan:
    """Return the plan in a reply: its one JSON object, whatever prose or fence surrounds it.

    Raises:
        BadTaskData: there is none; says what to mend.
    """
    if reply.stop_reason == "refused":
        raise BadTaskData("the model refused to answer")
    try:
        return read_object(reply.text, WrittenPlan)
    except BadTaskData as exc:
        if reply.stop_reason != "length":
            raise
        raise BadTaskData("the answer was cut at its length limit; be shorter") from exc


def read_object(text: str, form: type[_Form]) -> _Form:
    """Return the one JSON object in a text, in that form; prose or a fence may surround it.

    Raises:
        BadTaskData: there is none, there are several, or it has another form; says what to mend.
    """
    try:
        return form.model_validate(read_json(text[text.find("{") : text.rfind("}") + 1]))
    except ValidationError as exc:
        fault = exc.errors(include_url=False, include_context=False, include_input=False)[0]
        place = ".".join(map(str, fault["loc"])) or "the answer"
        raise BadTaskData(f"{place}: {fault['msg']}") from exc


def plan_schema(tools: Sequence[ToolSpec], *, refines: bool) -> dict[str, Any]:
    """Return the JSON schema of a plan over these tools, for servers that hold a model to it."""
    names = [spec.name for spec in tools]
    step = {
        "type": "object",
        "properties": {
            "purpose": {"type": "string"},
            "tool": {"enum": [*names, None]},
        },
        "required": ["purpose", "tool"],
        "additionalProperties": False,
    }
    properties: dict[str, Any] = {"criticism": {"type": "string"}} if refines else {}
    properties["steps"] = {"type": "array", "items": step, "minItems": 1, "maxItems": MAX_STEPS}
    return {
        "type": "object",
        "properties": properties,
        "required": [*properties],
        "additionalProperties": False,
    }
