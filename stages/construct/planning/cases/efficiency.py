"""Efficiency-aware cases: costs, composites and traps, and the proof of the optimum (APB, B.5).

The optimum is the cheapest of all chains that do the steps of the reference in their order; a tool
that replaces consecutive steps does them in one call. It is found exactly, as a shortest path.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stages.construct.planning.cases.extraction import modality_of, rules_of, scene
from stages.construct.planning.cases.robustness import require_case
from stages.construct.planning.written import (
    CompositeForm,
    EfficiencyForm,
    object_schema,
)
from taskdata.errors import BadTaskData
from taskdata.schema.planning import (
    CaseTool,
    GradeRule,
    PlannedAction,
    PlanningCase,
    PlanReference,
    Setting,
    ToolRole,
)
from taskdata.schema.task import Task

_ACCOUNTS = (
    "Every call of a tool costs what its description says, and the plan is to cost as little as "
    "possible. Code does not open the files in input/: it gets what other tools have read."
)


@dataclass(frozen=True)
class Cheapest:
    """A cheapest way through the steps: the tools in order, each with the steps it does."""

    cost: int
    parts: tuple[tuple[CaseTool, int, int], ...]
    """Each tool with its first step and the step after its last one, counted from 0."""


def efficiency(base: Task, task: Task, written: EfficiencyForm, version: str) -> PlanningCase:
    """Return the base case with costs, composites and traps, and its proven optimum.

    Raises:
        BadTaskData: if a price is missing, a composite saves nothing, or a trap is none.
    """
    case = require_case(base)
    chain = case.reference.chain
    own = _priced(case.tools, written)
    composites = tuple(_composite(case, own, one) for one in written.composites)
    traps = tuple(
        one.tool.as_tool(ToolRole.TRAP, one.replaces).model_copy(update={"cost": one.cost})
        for one in written.traps
    )
    tools = (*own, *composites, *traps)
    best = proven_optimum([action.tool for action in chain], tools)
    by_name = {tool.name: tool for tool in own}
    rules = rules_of(task, chain, code_opens_files=False)
    origin = case.origin.model_copy(update={"transformation": version, "base_case": base.id})
    same = {name: getattr(case, name) for name in type(case).model_fields}
    return PlanningCase.model_validate(
        same
        | {
            "setting": Setting.EFFICIENCY,
            "system_prompt": f"{scene(task)} {_ACCOUNTS}",
            "tools": tuple(sorted(tools, key=lambda tool: tool.name.lower())),
            "reference": PlanReference(
                plan=case.reference.plan,
                chain=tuple(_action(chain[a:b], tool, by_name) for tool, a, b in best.parts),
                rules=tuple(_with_composites(rule, composites) for rule in rules),
                ends=True,
            ),
            "modality": modality_of(task),
            "origin": origin,
            "optimum": best.cost,
        }
    )


def proven_optimum(steps: Sequence[str], tools: Sequence[CaseTool]) -> Cheapest:
    """Return the cheapest way, after the proof that no trap is part of any way as cheap.

    Args:
        steps: The own tools that the reference calls, in order.
        tools: Every tool of the case, with its cost.

    Raises:
        BadTaskData: if a step has no tool, a composite saves nothing, or a trap is part of a
            cheapest way.
    """
    honest = [tool for tool in tools if tool.role is not ToolRole.TRAP]
    costs = {tool.name: _cost(tool) for tool in tools}
    best = cheapest(steps, honest)
    for tool in tools:
        parts = [costs[name] for name in tool.replaces]
        if tool.role is ToolRole.COMPOSITE and _cost(tool) >= sum(parts):
            raise BadTaskData(
                f"composite {tool.name!r}: costs {_cost(tool)}, its parts {sum(parts)}; it must "
                "cost less"
            )
        if tool.role is ToolRole.TRAP and (least := _least_with(steps, honest, tool)) <= best.cost:
            raise BadTaskData(
                f"trap {tool.name!r}: a way that calls it costs {least}, no more than the optimum "
                f"{best.cost}; make it dearer"
            )
    return best


def cheapest(steps: Sequence[str], tools: Sequence[CaseTool]) -> Cheapest:
    """Return the cheapest way through the steps with these tools; of equal ones the shortest.

    Raises:
        BadTaskData: if no tool does some step.
    """
    ways: list[Cheapest | None] = [Cheapest(0, ())]
    for end in range(1, len(steps) + 1):
        found = [
            Cheapest(way.cost + _cost(tool), (*way.parts, (tool, start, end)))
            for tool in tools
            for start in [end - len(_does(tool))]
            if start >= 0
            and tuple(steps[start:end]) == _does(tool)
            and (way := ways[start]) is not None
        ]
        ways.append(min(found, key=lambda way: (way.cost, len(way.parts)), default=None))
    best = ways[-1]
    if best is None:
        missing = next(steps[n - 1] for n, way in enumerate(ways) if way is None)
        raise BadTaskData(f"no tool of the case does the step {missing!r}")
    return best


def _least_with(steps: Sequence[str], honest: Sequence[CaseTool], trap: CaseTool) -> int:
    """Return the least cost of a way that calls the trap at least once."""
    beside = cheapest(steps, honest).cost + _cost(trap)
    does = _does(trap) if trap.replaces else ()
    places = (
        n
        for n in range(len(steps) - len(does) + 1)
        if does and tuple(steps[n : n + len(does)]) == does
    )
    instead = (
        cheapest(steps[:n], honest).cost
        + _cost(trap)
        + cheapest(steps[n + len(does) :], honest).cost
        for n in places
    )
    return min((beside, *instead))


def _does(tool: CaseTool) -> tuple[str, ...]:
    return tool.replaces or (tool.name,)


def _cost(tool: CaseTool) -> int:
    if tool.cost is None:
        raise BadTaskData(f"tool {tool.name!r}: has no cost")
    return tool.cost


def _priced(tools: Sequence[CaseTool], written: EfficiencyForm) -> tuple[CaseTool, ...]:
    prices = {price.tool: price.cost for price in written.prices}
    missing = [tool.name for tool in tools if tool.name not in prices]
    if missing:
        raise BadTaskData(f"prices: {missing[0]!r} has none; give each own tool a cost of 1 to 5")
    return tuple(tool.model_copy(update={"cost": prices[tool.name]}) for tool in tools)


def _composite(case: PlanningCase, own: Sequence[CaseTool], written: CompositeForm) -> CaseTool:
    chain = case.reference.chain
    first, last = written.first_step - 1, written.last_step
    if not 2 <= last - first <= 3 or last > len(chain) or last - first >= len(chain):
        raise BadTaskData(
            f"composite {written.name!r}: does steps {written.first_step} to {written.last_step}; "
            f"expected two or three consecutive ones of {len(chain)}, and not all"
        )
    by_name = {tool.name: tool for tool in own}
    properties = dict[str, Any]()
    for name, schema, _value in _joined(chain[first:last], by_name):
        properties[name] = schema
    return CaseTool(
        name=written.name,
        description=written.description,
        parameters=object_schema(properties),
        cost=written.cost,
        role=ToolRole.COMPOSITE,
        replaces=tuple(action.tool for action in chain[first:last]),
    )


def _joined(
    actions: Sequence[PlannedAction], tools: Mapping[str, CaseTool]
) -> list[tuple[str, dict[str, Any], Any]]:
    """Return name, schema and value of each required argument of the actions, names made unique."""
    found, taken = list[tuple[str, dict[str, Any], Any]](), dict[str, int]()
    for action in actions:
        parameters = tools[action.tool].parameters
        required = parameters.get("required", [])
        for name, value in action.arguments.items():
            if name in required:
                taken[name] = taken.get(name, 0) + 1
                own = name if taken[name] == 1 else f"{name}_{taken[name]}"
                found.append((own, parameters["properties"][name], value))
    return found


def _action(
    actions: Sequence[PlannedAction], tool: CaseTool, own: Mapping[str, CaseTool]
) -> PlannedAction:
    if tool.role is ToolRole.OWN:
        return actions[0]
    return PlannedAction(
        tool=tool.name,
        arguments={name: value for name, _schema, value in _joined(actions, own)},
        rationale=" ".join(action.rationale for action in actions),
    )


def _with_composites(rule: GradeRule, composites: Sequence[CaseTool]) -> GradeRule:
    """Return the rule with the composites that do what one of its tools does."""
    more = [tool.name for tool in composites if set(rule.tools) & set(tool.replaces)]
    return rule.model_copy(update={"tools": (*rule.tools, *more)}) if rule.tools else rule
