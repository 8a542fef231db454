"""What a planner is told of a case, and the form that it is to answer in."""

import json
from collections.abc import Mapping
from typing import Any

from environments.ports import Message
from stages.execute.cases.reading import MAX_ACTIONS
from stages.execute.dialogue import prompts
from taskdata.errors import Misuse
from taskdata.schema.planning import CaseBrief, Form, ToolBrief
from taskdata.schema.task import Capability, TaskBrief
from taskdata.schema.tool import ToolSpec

CASE_PROMPT = "case_v1"
ASKED_AT_MOST = 2
"""How often an answer is asked for: once more if the first reply cannot be read."""
AGAIN = (
    "This answer could not be read: {fault}. Write it once more, as one JSON object in the form "
    "that was asked for, with nothing before or after it."
)
_MAX_WORDS = {"type": "string", "maxLength": 2_000}
_SCALARS = [{"type": "string", "maxLength": 1_000}, {"type": "number"}, {"type": "boolean"}]
_ANY_VALUE = {"anyOf": [*_SCALARS, {"type": "array", "items": {"anyOf": _SCALARS}, "maxItems": 50}]}


def case_of(brief: TaskBrief) -> CaseBrief:
    """Return the planning case in a brief.

    Raises:
        Misuse: the task is to be done, not planned.
    """
    if brief.case is None:
        raise Misuse(f"task {brief.task_id!r}: it is to be done, and a planner only plans")
    return brief.case


def case_messages(brief: TaskBrief) -> tuple[Message, ...]:
    """Return the messages that ask a model for the answer to a case."""
    case = case_of(brief)
    return prompts.messages(
        CASE_PROMPT,
        case=case,
        query=brief.query,
        schemas=[_json(tool.parameters) for tool in case.tools],
        arguments=[_json(step.arguments) for step in case.prefix],
        most=MAX_ACTIONS,
        feedback=brief.feedback,
        earlier="" if brief.earlier is None else brief.earlier.answer,
    )


def asked_of(brief: TaskBrief) -> str:
    """Return what is asked about a case, for whoever reviews an answer to it."""
    case = case_of(brief)
    what = (
        "The whole plan and its tool calls are asked for"
        if case.horizon is None
        else f"The next {case.horizon} tool calls are asked for, or the final answer if nothing is "
        "left to do"
    )
    refusal = "or a refusal if the task cannot be solved as it stands."
    cost = " The plan that costs least is wanted." if case.counts_cost else ""
    done = [
        f"Step {number}: {step.tool} {_json(step.arguments)}\n"
        f"{'It failed' if step.failed else 'Result'}: {step.result}"
        for number, step in enumerate(case.prefix, 1)
    ]
    named = [f"Files: {', '.join(case.media)}"] if case.media else []
    rules = [case.system_prompt] if case.system_prompt else []
    parts = [f"{what}, {refusal}{cost}", *rules, "The task:", brief.query, *named]
    return "\n\n".join([*parts, *(["Done so far:", *done] if done else [])])


def described_tools(brief: TaskBrief) -> str:
    """Return the tools of a case with their arguments, one after the other."""
    return "\n".join(
        f"- {tool.name}{'' if tool.cost is None else f' (cost {tool.cost})'}: {tool.description}\n"
        f"  Arguments: {_json(tool.parameters)}"
        for tool in case_of(brief).tools
    )


def offered_specs(case: CaseBrief) -> tuple[ToolSpec, ...]:
    """Return the tools that the case offers, as a transcript lists them; all as operations."""
    return tuple(
        ToolSpec(
            name=tool.name,
            description=tool.description,
            category=Capability.OPERATION,
            parameters=tool.parameters,
        )
        for tool in case.tools
    )


def answer_schema(case: CaseBrief) -> dict[str, Any]:
    """Return the JSON schema of an answer, for servers that hold a model to it.

    It names the tools and their arguments, as the schema of a step in work does; what the values
    are, of which type or range, is left to the model.
    """
    action = {"anyOf": [_call(tool) for tool in case.tools]}
    words = {"anyOf": [_MAX_WORDS, {"type": "null"}]}
    properties: dict[str, Any]
    if case.form is Form.HOLISTIC:
        calls = {"type": "array", "items": action, "maxItems": MAX_ACTIONS}
        plan = {"type": "array", "items": _MAX_WORDS, "maxItems": MAX_ACTIONS}
        properties = {"plan": plan, "tool_chain": calls, "refusal": words}
    else:
        calls = {"type": "array", "items": action, "maxItems": case.horizon}
        properties = {"actions": calls, "final_answer": words, "refusal": words}
    if not case.tools:
        calls["maxItems"] = 0
        calls["items"] = {"type": "object"}
    return {
        "type": "object",
        "properties": properties,
        "required": [*properties],
        "additionalProperties": False,
    }


def _call(tool: ToolBrief) -> dict[str, Any]:
    declared = tool.parameters.get("properties")
    names = declared if isinstance(declared, Mapping) else {}
    required = [name for name in tool.parameters.get("required", ()) if name in names]
    arguments: dict[str, Any] = {
        "type": "object",
        "properties": {name: _value(schema) for name, schema in names.items()},
        "required": required,
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": {
            "tool": {"const": tool.name},
            "arguments": arguments,
            "rationale": _MAX_WORDS,
        },
        "required": ["tool", "arguments", "rationale"],
        "additionalProperties": False,
    }


def _value(schema: Any) -> dict[str, Any]:
    """Return the schema of any value of an argument; objects where the tool declares one."""
    is_object = isinstance(schema, Mapping) and schema.get("type") == "object"
    return {"type": "object"} if is_object else _ANY_VALUE


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
