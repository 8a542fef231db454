"""Small planning cases of every setting, and answers to them."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from taskdata.schema.checkpoint import Checkpoint, PlanGrade
from taskdata.schema.planning import (
    CaseOrigin,
    CaseTool,
    Form,
    GradeRule,
    Infeasibility,
    PlannedAction,
    PlanningCase,
    PlanReference,
    PrefixStep,
    Setting,
    ToolRole,
)
from taskdata.schema.planning_score import PredictedPlan
from taskdata.schema.task import Capability, Category, Task, Tier


def tool(
    name: str,
    properties: Mapping[str, Any],
    *,
    role: ToolRole = ToolRole.OWN,
    cost: int | None = None,
    replaces: Sequence[str] = (),
    optional: Sequence[str] = (),
) -> CaseTool:
    """A tool that takes these arguments, and no others."""
    return CaseTool(
        name=name,
        description=f"The tool {name}.",
        parameters={
            "type": "object",
            "properties": dict(properties),
            "required": [key for key in properties if key not in optional],
            "additionalProperties": False,
        },
        role=role,
        cost=cost,
        replaces=tuple(replaces),
    )


FIND = tool("find_price", {"item": {"type": "string"}})
ADD = tool("add", {"numbers": {"type": "array", "items": {"type": "number"}}})
ROUND = tool(
    "round_to",
    {"value": {"type": "number"}, "digits": {"type": "integer", "maximum": 9, "default": 2}},
    optional=("digits",),
)
SEND = tool("send_note", {"text": {"type": "string"}, "to": {"enum": ["buyer", "seller"]}})
OWN = (FIND, ADD, ROUND, SEND)
SECRET = "zinc-harbour-41"
"""Stands wherever a planner must never look."""


def action(name: str, /, **arguments: Any) -> PlannedAction:
    """A planned call."""
    return PlannedAction(tool=name, arguments=arguments, rationale=f"{name} is needed")


CHAIN = (
    action("find_price", item="lamp"),
    action("find_price", item="desk"),
    action("add", numbers=["<result of step 1>", "<result of step 2>"]),
    action("send_note", text="<result of step 3: the total>", to="buyer"),
)
STEPS = ("Find both prices.", "Add them.", "Send the total to the buyer.")


def case(task_id: str = "lamp-and-desk", **changes: Any) -> Task:
    """A holistic case whose reference finds two prices, adds them and sends the sum."""
    fields: dict[str, Any] = {
        "setting": Setting.HOLISTIC,
        "form": Form.HOLISTIC,
        "tools": OWN,
        "reference": PlanReference(plan=STEPS, chain=CHAIN),
        "origin": CaseOrigin(
            task_id="lamp-task",
            task_hash="0" * 64,
            transformation="holistic_extraction@1",
            length=len(CHAIN),
            reviewer=SECRET,
        ),
    }
    fields |= changes
    query = fields.pop("query", "What do the lamp and the desk cost together? Tell the buyer.")
    files = fields.pop("files", ())
    return Task(
        id=task_id,
        tier=Tier.PLANNING,
        category=Category.DATA_ANALYSIS,
        capabilities=(Capability.LOGIC,),
        title="Price of two things",
        query=query,
        files=files,
        tools=tuple(one.name for one in fields["tools"]),
        checkpoints=Checkpoint(id="plan", requirement="The plan is right.", verifier=PlanGrade()),
        planning=PlanningCase.model_validate(fields),
    )


PREFIX = (
    PrefixStep(**action("find_price", item="lamp").model_dump(), result="30"),
    PrefixStep(**action("find_price", item="desk").model_dump(), result="120"),
)


def next_steps(task_id: str = "after-prices", horizon: int = 1, **changes: Any) -> Task:
    """A step-wise case after both prices are known."""
    chain = (
        action("add", numbers=[30, 120]),
        action("send_note", text="<result of step 3>", to="buyer"),
    )
    fields = {
        "setting": Setting.STEP_WISE,
        "form": Form.STEP_WISE,
        "horizon": horizon,
        "prefix": PREFIX,
        "reference": PlanReference(chain=chain[:horizon], ends=horizon > len(chain)),
    }
    return case(task_id, **(fields | changes))


def finished(task_id: str = "all-done") -> Task:
    """A step-wise case after which only the final answer is due."""
    sent = PrefixStep(**action("send_note", text="150", to="buyer").model_dump(), result="sent")
    return next_steps(task_id, prefix=(*PREFIX, sent), reference=PlanReference(ends=True))


def extraneous(task_id: str = "with-distractors", **changes: Any) -> Task:
    """The holistic case with two tools of no use."""
    more = tuple(
        tool(name, {"item": {"type": "string"}}, role=ToolRole.DISTRACTOR)
        for name in ("find_review", "find_colour")
    )
    return case(task_id, setting=Setting.EXTRANEOUS, tools=(*OWN, *more), **changes)


def broken(task_id: str = "price-service-down", **changes: Any) -> Task:
    """The next action after `find_price` failed for good."""
    look = tool(
        "look_up_price",
        {"item": {"type": "string"}},
        role=ToolRole.SUBSTITUTE,
        replaces=("find_price",),
    )
    failed = PrefixStep(
        **action("find_price", item="lamp").model_dump(),
        result="Error: the price service was shut down.",
        failed=True,
    )
    fields = {
        "setting": Setting.BROKEN,
        "form": Form.STEP_WISE,
        "horizon": 1,
        "tools": (*OWN, look),
        "prefix": (failed,),
        "broken_tool": "find_price",
        "reference": PlanReference(chain=(action("look_up_price", item="lamp"),)),
    }
    return case(task_id, **(fields | changes))


def unsolvable(
    kind: Infeasibility = Infeasibility.MISSING_INFORMATION, task_id: str = "", **changes: Any
) -> Task:
    """A case that must be refused."""
    fields = {
        "setting": Setting.UNSOLVABLE,
        "infeasibility": kind,
        "proof": f"Nobody said which lamp is meant ({SECRET}).",
        "reference": PlanReference(refusal=f"It is not said which lamp ({SECRET})."),
    }
    name = task_id or f"unsolvable-{kind.replace('_', '-')}"
    return case(name, **(fields | changes))


def efficiency(task_id: str = "cheapest", **changes: Any) -> Task:
    """A case with costs: both prices in one call for 3, and a trap that costs 9."""
    item = {"item": {"type": "string"}}
    tools = (
        tool("find_price", item, cost=2),
        tool("add", ADD.parameters["properties"], cost=1),
        tool("send_note", SEND.parameters["properties"], cost=1),
        tool(
            "find_prices",
            {"items": {"type": "array", "items": {"type": "string"}}},
            role=ToolRole.COMPOSITE,
            cost=3,
            replaces=("find_price", "find_price"),
        ),
        tool("premium_price", item, role=ToolRole.TRAP, cost=9, replaces=("find_price",)),
    )
    chain = (
        action("find_prices", items=["lamp", "desk"]),
        action("add", numbers="<result of step 1>"),
        action("send_note", text="<result of step 2>", to="buyer"),
    )
    rule = GradeRule(
        requirement="The prices are found.", tools=("find_price", "find_prices", "premium_price")
    )
    fields = {
        "setting": Setting.EFFICIENCY,
        "tools": tools,
        "optimum": 5,
        "reference": PlanReference(plan=STEPS, chain=chain, rules=(rule,)),
    }
    return case(task_id, **(fields | changes))


def answer(*actions: PlannedAction, **fields: Any) -> PredictedPlan:
    """An answer with this tool chain."""
    return PredictedPlan(chain=actions, **fields)


def write_bank(folder: Path, *tasks: Task) -> Path:
    """Write cases as a bank on disk; returns its folder."""
    for task in tasks:
        fields = task.model_dump(mode="json", exclude={"id", "files", "reference"})
        (folder / task.id).mkdir(parents=True)
        (folder / task.id / "task.yaml").write_text(json.dumps(fields), encoding="utf-8")
    return folder
