"""What code can say of a plan that was made before the work (APB, section 5.1 and table 3).

Such a plan names the tool of each step and no arguments, so it is held to the rules of a planning
case about the same task as far as they ask for tools: whether a tool exists, and whether what the
reference solution shows to be needed is planned at all. It is proven to have an error, or it has
the reference's tools in their order, or it stays open. No judge is asked: the question to a judge
is about calls with their arguments.
"""

from collections.abc import Iterable

from environments.tools.session.finish import FINISH
from stages.construct.planning.cases.extraction import rules_of
from stages.score.planning.mark import mark
from taskdata.schema.plan import PlanVersion
from taskdata.schema.planning import (
    CaseOrigin,
    CaseTool,
    Form,
    GradeRule,
    PlannedAction,
    PlanningCase,
    PlanReference,
    Setting,
)
from taskdata.schema.planning_score import PlanningScore, PredictedPlan
from taskdata.schema.task import Task


def draft_case(task: Task, offered: Iterable[str]) -> Task | None:
    """Return the task as a case that asks for a plan without arguments.

    None: It has no reference solution, or one with tools that the agent was not offered.

    Args:
        task: A task to be done.
        offered: Names of the tools that the agent could use.
    """
    names = [name for name in dict.fromkeys(offered) if name != FINISH]
    steps = () if task.reference is None else task.reference.steps
    done = tuple(
        PlannedAction(tool=step.tool, arguments=step.arguments)
        for step in steps
        if step.tool != FINISH
    )
    if not done or not {action.tool for action in done}.issubset(names):
        return None
    case = PlanningCase(
        setting=Setting.HOLISTIC,
        form=Form.HOLISTIC,
        tools=tuple(
            CaseTool(name=name, description="", parameters={"type": "object"}) for name in names
        ),
        reference=PlanReference(
            chain=tuple(PlannedAction(tool=action.tool) for action in done),
            rules=_served(rules_of(task, done), done),
            ends=True,
        ),
        origin=CaseOrigin(task_id=task.id, task_hash=task.content_hash, transformation="draft@1"),
    )
    return task.model_copy(update={"planning": case})


def _served(rules: Iterable[GradeRule], done: Iterable[PlannedAction]) -> tuple[GradeRule, ...]:
    """Return the rules that the reference keeps: no person has looked at those of a task."""
    called = {action.tool for action in done}
    return tuple(rule for rule in rules if not called.isdisjoint(rule.tools))


def draft_marks(case: Task, plan: PlanVersion) -> PlanningScore:
    """Return the marks of a plan by code alone, `undecided` where it proves nothing.

    Args:
        case: What `draft_case` returned.
        plan: The draft, or the plan after its refinement.
    """
    if not plan.steps:
        return mark(case, PredictedPlan(fault=plan.fault or "it has no steps"))
    calls = tuple(
        PlannedAction(tool=step.tool, rationale=step.purpose)
        for step in plan.steps
        if step.tool is not None and step.tool != FINISH
    )
    said = tuple(step.purpose for step in plan.steps)
    return mark(case, PredictedPlan(plan=said, chain=calls))
