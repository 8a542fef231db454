"""Errors of a plan that code can prove, with the severities that code gives them."""

from collections.abc import Iterator, Sequence
from typing import Literal

from stages.score.planning.arguments import faults_of
from stages.score.planning.results import named_steps, same_arguments
from taskdata.schema.planning import (
    CaseTool,
    Form,
    Infeasibility,
    PlannedAction,
    PlanningCase,
    Setting,
    ToolRole,
)
from taskdata.schema.planning_score import ErrorFlag, PlanError, PredictedPlan, Severity

BY_CODE = "code"
MOST_FLAGS = 40
"""The most errors of one plan that are stored; the grade counts one of each kind."""

_NAME_CHARS = 120
_EVIDENCE_CHARS = 500
_NO_SOLUTION = {
    Infeasibility.CONTRADICTION: (
        PlanError.CONSTRAINT,
        "it plans on although the constraints contradict each other",
    ),
    Infeasibility.MISSING_INFORMATION: (
        PlanError.HALLUCINATION,
        "it plans on although information is missing that nobody gave",
    ),
    Infeasibility.INACCESSIBLE_EVIDENCE: (
        PlanError.HALLUCINATION,
        "it plans on although the files that it needs are not there",
    ),
    Infeasibility.TOOL_REMOVAL: (
        PlanError.LOGIC,
        "it plans on although no tool does what the task needs",
    ),
}


def flag(
    error: PlanError,
    severity: Severity,
    evidence: str,
    step: int | None = None,
    subtype: Literal["premature_conclusion", "task_incompleteness"] | None = None,
) -> ErrorFlag:
    """Return an error that code has found; the evidence is cut to a few sentences."""
    return ErrorFlag(
        error=error,
        severity=severity,
        subtype=subtype,
        step=step,
        evidence=evidence[:_EVIDENCE_CHARS],
        decided_by=BY_CODE,
    )


def unfinished(case: PlanningCase, severity: Severity, evidence: str) -> ErrorFlag:
    """Return E2 with the subtype of the case's form."""
    holistic = case.form is Form.HOLISTIC
    subtype: Literal["premature_conclusion", "task_incompleteness"] = (
        "task_incompleteness" if holistic else "premature_conclusion"
    )
    return flag(PlanError.UNFINISHED, severity, evidence, subtype=subtype)


def not_refused(infeasibility: Infeasibility) -> ErrorFlag:
    """Return the error of planning on where nothing solves the task."""
    error, evidence = _NO_SOLUTION[infeasibility]
    return flag(error, Severity.TOTAL, evidence)


def chain_faults(case: PlanningCase, answer: PredictedPlan) -> list[ErrorFlag]:
    """Return what is wrong with the calls of a tool chain, whatever the task asks for."""
    tools = {tool.name: tool for tool in case.tools}
    first = len(case.prefix) + 1
    found: list[ErrorFlag] = []
    for place, action in enumerate(answer.chain, start=first):
        tool = tools.get(action.tool)
        if len(found) < MOST_FLAGS:
            found += _unknown(action, place) if tool is None else _call(case, tool, action, place)
    found += _references(answer.chain, first)
    if answer.chain and not any(action.tool in tools for action in answer.chain):
        says = "no tool of the whole chain exists"
        found.append(flag(PlanError.HALLUCINATION, Severity.TOTAL, says))
    found += _length(case, answer)
    if answer.refusal:
        says = "it refuses the task and plans it at once"
        found.append(flag(PlanError.LOGIC, Severity.MODERATE, says))
    return found


def unmet_rules(case: PlanningCase, answer: PredictedPlan) -> Iterator[ErrorFlag]:
    """Yield an error for each grade rule of which the chain calls none of the tools."""
    called = {action.tool for action in answer.chain}
    for rule in case.reference.rules:
        if rule.tools and called.isdisjoint(rule.tools):
            says = f"no call serves this requirement: {rule.requirement}"
            if case.form is Form.HOLISTIC:
                yield unfinished(case, Severity.MODERATE, says)
            else:
                yield flag(PlanError.LOGIC, Severity.MODERATE, says)


def _unknown(action: PlannedAction, place: int) -> list[ErrorFlag]:
    says = f"there is no tool {action.tool[:_NAME_CHARS]!r}"
    return [flag(PlanError.HALLUCINATION, Severity.MAJOR, says, place)]


def _call(
    case: PlanningCase, tool: CaseTool, action: PlannedAction, place: int
) -> Iterator[ErrorFlag]:
    if case.setting is Setting.EXTRANEOUS and tool.role is ToolRole.DISTRACTOR:
        says = f"{tool.name} is of no use for the task"
        yield flag(PlanError.TOOL_USE, Severity.MAJOR, says, place)
    faults = faults_of(tool, action.arguments, in_words=case.form is Form.HOLISTIC)
    if faults:
        says = f"{tool.name}: {'; '.join(faults)}"
        yield flag(PlanError.TOOL_USE, Severity.MINOR, says, place)


def repeats(case: PlanningCase, chain: Sequence[PlannedAction]) -> Iterator[ErrorFlag]:
    """Yield an error for each call of the prefix that is made again though its result is there.

    What the reference repeats may be repeated: a folder is looked at again after a change.
    """
    schemas = {tool.name: tool.parameters for tool in case.tools}

    def same(one: PlannedAction, other: PlannedAction) -> bool:
        return one.tool == other.tool and same_arguments(
            one.arguments, other.arguments, schemas[one.tool]
        )

    done = [(place, step) for place, step in enumerate(case.prefix, 1) if not step.failed]
    for place, action in enumerate(chain, start=len(case.prefix) + 1):
        if action.tool not in schemas or any(same(action, due) for due in case.reference.chain):
            continue
        earlier = next((number for number, step in done if same(action, step)), None)
        if earlier is not None:
            says = f"it repeats step {earlier}, whose result is there"
            yield flag(PlanError.LOGIC, Severity.MODERATE, says, place)


def _references(chain: Sequence[PlannedAction], first: int) -> list[ErrorFlag]:
    """Return the references to results that are not there when they are needed."""
    needs = {place: set(named_steps(action.arguments)) for place, action in enumerate(chain, first)}
    found: list[ErrorFlag] = []
    for place, named in needs.items():
        ahead = sorted(number for number in named if not 0 < number < place)
        if not ahead or len(found) == MOST_FLAGS:
            continue
        number = ahead[0]
        circular = place in _reached(number, needs)
        if circular:
            says = f"it needs the result of step {number}, which needs that of step {place}"
        elif number in needs:
            says = f"it needs the result of step {number}, which comes later"
        else:
            says = f"it needs the result of step {number}, and there is no such step"
        severity = Severity.MODERATE if circular else Severity.MINOR
        found.append(flag(PlanError.LOGIC, severity, says, place))
    return found


def _reached(start: int, needs: dict[int, set[int]]) -> set[int]:
    """Return the steps whose results a step needs, directly or through others, and itself."""
    reached, waiting = set[int](), [start]
    while waiting:
        number = waiting.pop()
        if number not in reached:
            reached.add(number)
            waiting += needs.get(number, ())
    return reached


def _length(case: PlanningCase, answer: PredictedPlan) -> Iterator[ErrorFlag]:
    """Yield the error of an answer that is longer or shorter than was asked for."""
    if answer.left_out:
        says = f"the tool chain has {answer.left_out} calls more than are read"
        yield flag(PlanError.CONSTRAINT, Severity.MAJOR, says)
    planned, asked = len(answer.chain), case.horizon
    if asked is None or not planned:
        return
    if planned > asked or (planned < asked and not answer.final_answer):
        says = f"{asked} next actions were asked for, and it names {planned}"
        yield flag(PlanError.CONSTRAINT, Severity.MINOR, says)
