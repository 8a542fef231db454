"""Quality control of planning cases by code: what must hold before a person looks at them.

The reference of a case must be marked as correct, and no error E1-E6 that code can prove may be in
it (APB, appendix B.2, trajectory validation).
"""

import hashlib
import json
from collections.abc import Iterable, Iterator

from stages.construct.planning.cases.efficiency import proven_optimum
from stages.construct.planning.variations import EXTRANEOUS_NUMBERS
from stages.score.planning.arguments import faults_of as argument_faults
from stages.score.planning.findings import chain_faults, unmet_rules
from stages.score.planning.mark import mark
from taskdata.errors import BadTaskData
from taskdata.schema.planning import Form, PlanningCase, Setting, ToolRole
from taskdata.schema.planning_score import PredictedPlan
from taskdata.schema.task import Task

COMPOSITES = (3, 6)
TRAPS = (2, 4)
"""How many an efficiency-aware case has (APB, appendix B.5)."""
OWN_COSTS = (1, 5)


def reference_answer(case: PlanningCase) -> PredictedPlan:
    """Return the case's reference in the form of a planner's answer."""
    reference = case.reference
    return PredictedPlan(plan=reference.plan, chain=reference.chain, refusal=reference.refusal)


def faults_of(task: Task) -> tuple[str, ...]:
    """Return what is wrong with a planning case, in sentences without an end; empty: nothing.

    Raises:
        BadTaskData: if the task is no planning case.
    """
    if task.planning is None:
        raise BadTaskData(f"task {task.id!r}: is no planning case")
    case = task.planning
    return tuple(
        dict.fromkeys((*_of_prefix(case), *_of_setting(task, case), *_of_reference(task, case)))
    )


def fingerprint(task: Task) -> str:
    """Return what two cases have in common if they ask the same: a hash of all a planner sees."""
    case = task.planning
    seen = {
        "query": " ".join(task.query.split()),
        "files": sorted(file.sha256 for file in task.files),
        "tools": [] if case is None else sorted(tool.name for tool in case.tools),
        "prefix": [] if case is None else [step.model_dump(mode="json") for step in case.prefix],
        "asked": None if case is None else [case.form.value, case.horizon],
        # Costs are part of the tools that the planner sees.
        "costs": [] if case is None else sorted((t.name, t.cost or 0) for t in case.tools),
    }
    return hashlib.sha256(json.dumps(seen, sort_keys=True).encode()).hexdigest()


def repeated(tasks: Iterable[Task]) -> dict[str, str]:
    """Return the cases that ask what an earlier one asks: id of the later by id of the earlier."""
    first, found = dict[str, str](), dict[str, str]()
    for task in tasks:
        earlier = first.setdefault(fingerprint(task), task.id)
        if earlier != task.id:
            found[task.id] = earlier
    return found


def _of_prefix(case: PlanningCase) -> Iterator[str]:
    tools = {tool.name: tool for tool in case.tools}
    for place, step in enumerate(case.prefix, start=1):
        if step.tool not in tools:
            yield f"step {place} of the prefix calls {step.tool!r}, which the case does not offer"
        elif found := argument_faults(tools[step.tool], step.arguments, in_words=True):
            yield f"step {place} of the prefix: {found[0]}"
        if step.failed and place < len(case.prefix):
            yield f"step {place} of the prefix has failed, though it is not the last one"


def _of_setting(task: Task, case: PlanningCase) -> Iterator[str]:
    distractors = case.of_role(ToolRole.DISTRACTOR)
    if case.setting is Setting.EXTRANEOUS and len(distractors) not in EXTRANEOUS_NUMBERS:
        yield f"it has {len(distractors)} distractors; expected one of {EXTRANEOUS_NUMBERS}"
    if case.setting is Setting.BROKEN and not (case.prefix and case.prefix[-1].failed):
        yield "the last step of its prefix has not failed"
    if case.setting is Setting.BROKEN and not case.of_role(ToolRole.SUBSTITUTE):
        yield "it offers no substitute"
    if case.setting is Setting.UNSOLVABLE and not case.proof.strip():
        yield "no sentence proves that it cannot be solved"
    if case.setting is Setting.EFFICIENCY:
        yield from _of_costs(case)
    if case.setting not in (Setting.HOLISTIC, Setting.STEP_WISE) and not case.origin.base_case:
        yield "its base case is not named"
    if unknown := sorted(set(case.media) - {file.path for file in task.files}):
        yield f"it shows {unknown[0]!r}, which is not among its files"


def _of_costs(case: PlanningCase) -> Iterator[str]:
    for role, (low, high) in ((ToolRole.COMPOSITE, COMPOSITES), (ToolRole.TRAP, TRAPS)):
        number = len(case.of_role(role))
        if not low <= number <= high:
            yield f"it has {number} tools of the role {role}; expected {low} to {high}"
    low, high = OWN_COSTS
    own = case.of_role(ToolRole.OWN)
    if dear := [tool.name for tool in own if not low <= (tool.cost or 0) <= high]:
        yield f"own tool {dear[0]!r} does not cost {low} to {high}"
    try:
        best = proven_optimum(_steps(case), case.tools)
    except BadTaskData as exc:
        yield str(exc)
        return
    if best.cost != case.optimum:
        yield f"its optimum is given as {case.optimum}, and the solver proves {best.cost}"


def _steps(case: PlanningCase) -> list[str]:
    """Return the own tools that the reference's chain stands for, in order."""
    tools = {tool.name: tool for tool in case.tools}
    each = (tools[a.tool].replaces or (a.tool,) for a in case.reference.chain if a.tool in tools)
    return [name for names in each for name in names]


def _of_reference(task: Task, case: PlanningCase) -> Iterator[str]:
    answer = reference_answer(case)
    if answer.chain:
        # `mark` takes the reference's own chain for correct; here it must keep the rules, too.
        for found in (*chain_faults(case, answer), *unmet_rules(case, answer)):
            yield f"the reference has {found.error.value}: {found.evidence}"
    score = mark(task, answer)
    if score.correct is not True or score.grade != 1:
        yield f"the reference is not marked as correct: {score.undecided or score.grade}"
    if case.form is Form.HOLISTIC and answer.chain and not answer.plan:
        yield "the reference has no plan in words"
