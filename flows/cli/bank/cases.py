"""Planning cases as text."""

import json
from typing import TYPE_CHECKING, Any

from flows.cli import console
from flows.cli.bank.trees import cut
from taskdata.schema.planning import ToolRole

if TYPE_CHECKING:
    from taskdata.schema.planning import CaseOrigin, PlannedAction, PlanningCase

_SHOWN_LETTERS = 300


def write_case(case: "PlanningCase") -> None:
    """Write a planning case: setting, tools with role and cost, prefix, reference, origin."""
    asked = f"the next {case.horizon} actions" if case.horizon else "plan and tool chain"
    distractors = len(case.of_role(ToolRole.DISTRACTOR))
    among = f" among {distractors} distractors" if distractors else ""
    told = f"{case.setting.value}, asks for {asked}{among}; {case.modality.value}"
    console.say(f"Setting:      {told}")
    if case.infeasibility is not None:
        console.paragraph(f"Unsolvable:   {case.infeasibility.value}. {case.proof}")
    if case.optimum is not None:
        console.say(f"Least cost:   {case.optimum}")
    console.say("Offered tools:")
    for tool in case.tools:
        cost = f", costs {tool.cost}" if tool.cost is not None else ""
        stands = f" for {', '.join(tool.replaces)}" if tool.replaces else ""
        console.block(f"{tool.name} ({tool.role.value}{stands}{cost}): {tool.description}")
    if case.prefix:
        console.say("Prefix:")
    for place, step in enumerate(case.prefix, start=1):
        console.block(f"{place}. {_called(step)}")
        result = cut(" ".join(step.result.split()), _SHOWN_LETTERS)
        console.block(f"{'failed' if step.failed else 'gave'}: {result}", indent=5)
    _write_reference(case)
    console.paragraph(f"Made:         {_origin(case.origin)}")


def _write_reference(case: "PlanningCase") -> None:
    console.say("Reference:")
    if case.reference.refusal:
        console.block(f"Refuses: {case.reference.refusal}")
    for sentence in case.reference.plan:
        console.block(f"- {sentence}")
    for place, action in enumerate(case.reference.chain, start=len(case.prefix) + 1):
        console.block(f"{place}. {_called(action)}")
    if case.reference.ends and case.reference.chain:
        console.block("Then the final answer is due.")
    console.say("Every correct answer:")
    for rule in case.reference.rules:
        by = f" ({' or '.join(rule.tools)})" if rule.tools else ""
        console.block(f"- {rule.requirement}{by}")


def _called(action: "PlannedAction") -> str:
    return f"{action.tool} {cut(_plain(action.arguments), _SHOWN_LETTERS)}"


def _plain(arguments: dict[str, Any]) -> str:
    return json.dumps(arguments, ensure_ascii=False)


def _origin(origin: "CaseOrigin") -> str:
    of = f"trial {origin.trial_id}" if origin.trial_id else "the reference solution"
    words = [f"{origin.transformation} of {of} of task {origin.task_id}, {origin.length} steps"]
    if origin.base_case:
        words.append(f"varies {origin.base_case}")
    if origin.model:
        words.append(f"words by {origin.model}")
    if origin.reviewer:
        words.append(f"reviewed by {origin.reviewer}")
    return "; ".join(words)
