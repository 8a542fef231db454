"""The marks of an answer to a planning case as far as code can decide them (APB, section 3.3).

Code proves errors, and recognises the reference's own tool chain. A plan with another chain and
without proven errors may be correct, too: a judge decides about it.
"""

from collections.abc import Iterable

from stages.score.planning.findings import (
    chain_faults,
    flag,
    not_refused,
    repeats,
    unfinished,
    unmet_rules,
)
from stages.score.planning.grade import grade_of
from stages.score.planning.results import same_arguments
from taskdata.errors import BadTaskData
from taskdata.schema.planning import PlannedAction, PlanningCase, Setting, ToolRole
from taskdata.schema.planning_score import (
    Behaviour,
    ErrorFlag,
    PlanError,
    PlanningScore,
    PredictedPlan,
    Severity,
)
from taskdata.schema.task import Task

GOOD_BEHAVIOURS = frozenset({Behaviour.REPLACE, Behaviour.ALTER})


def mark(case: Task, answer: PredictedPlan) -> PlanningScore:
    """Return the marks that code alone gives the answer to a planning case.

    What only a judge can decide is `undecided` as "no_judge". Errors that code has proven make a
    plan incorrect whatever a judge says; the grade is then that of these errors.

    Raises:
        BadTaskData: the task is no planning case.
    """
    if case.planning is None:
        raise BadTaskData(f"task {case.id!r}: it is no planning case")
    planning = case.planning
    if answer.fault:
        return PlanningScore(correct=False, grade=0, unreadable=True)
    if planning.setting is Setting.UNSOLVABLE:
        score = _unsolvable(planning, answer)
    elif not answer.chain:
        score = _without_chain(planning, answer)
    elif planning.setting is Setting.BROKEN:
        score = _after_failure(planning, answer)
    else:
        score = _plan(planning, answer)
    return score.model_copy(update=_facts(planning, answer))


def decided(flags: Iterable[ErrorFlag]) -> PlanningScore:
    """Return the marks of an answer whose errors are all known."""
    found = tuple(flags)
    return PlanningScore(correct=not found, grade=grade_of(found), flags=found)


def same_chain(case: PlanningCase, chain: tuple[PlannedAction, ...]) -> bool:
    """Return whether a tool chain is that of the reference: tools and arguments, in order."""
    expected = case.reference.chain
    schemas = {tool.name: tool.parameters for tool in case.tools}
    return len(chain) == len(expected) and all(
        given.tool == wanted.tool
        and same_arguments(given.arguments, wanted.arguments, schemas[wanted.tool])
        for given, wanted in zip(chain, expected, strict=True)
    )


def _facts(case: PlanningCase, answer: PredictedPlan) -> dict[str, object]:
    """Return what is recorded beside the verdict."""
    called = [action.tool for action in answer.chain]
    distractors = {tool.name for tool in case.of_role(ToolRole.DISTRACTOR)}
    facts: dict[str, object] = {
        "refused": bool(answer.refusal) and not answer.chain,
        "extraneous": tuple(name for name in called if name in distractors),
    }
    if case.setting is Setting.EFFICIENCY:
        costs = {tool.name: tool.cost for tool in case.tools}
        traps = {tool.name for tool in case.of_role(ToolRole.TRAP)}
        each = [costs.get(name) for name in called]
        known = [cost for cost in each if cost is not None]
        whole = len(known) == len(each) and not answer.left_out
        facts |= {
            "cost": sum(known) if whole else None,
            "traps": tuple(name for name in called if name in traps),
        }
    return facts


def _unsolvable(case: PlanningCase, answer: PredictedPlan) -> PlanningScore:
    if answer.chain and case.infeasibility is not None:
        return decided([not_refused(case.infeasibility), *chain_faults(case, answer)])
    if answer.refusal:
        return decided([]).model_copy(update={"same_as_reference": True})
    return decided([unfinished(case, Severity.TOTAL, "it neither refuses nor plans anything")])


def _without_chain(case: PlanningCase, answer: PredictedPlan) -> PlanningScore:
    """Return the marks of an answer without any call to a case that can be solved."""
    behaviour = None
    if answer.refusal:
        says = "it refuses a task that can be solved"
        score = decided([unfinished(case, Severity.TOTAL, says)])
        behaviour = Behaviour.REFUSE
    elif not case.reference.chain and (answer.final_answer or "").strip():
        return decided([]).model_copy(update={"same_as_reference": True})
    elif (answer.final_answer or "").strip():
        says = "it gives the final answer where a tool is due"
        score, behaviour = decided([unfinished(case, Severity.MODERATE, says)]), Behaviour.OTHER
    else:
        says = "it names no tool, no final answer and no refusal"
        score, behaviour = decided([unfinished(case, Severity.TOTAL, says)]), Behaviour.OTHER
    if case.setting is not Setting.BROKEN:
        return score
    return score.model_copy(update={"behaviour": behaviour})


def _after_failure(case: PlanningCase, answer: PredictedPlan) -> PlanningScore:
    """Return the marks of the next action after a tool failed for good (APB, appendix C.4).

    Which tool is called decides, not its arguments: the setting asks how an agent goes on.
    """
    called = [action.tool for action in answer.chain]
    known = {tool.name for tool in case.tools}
    substitutes = {tool.name for tool in case.of_role(ToolRole.SUBSTITUTE)}
    too_many = case.horizon is not None and len(called) > case.horizon
    behaviour: Behaviour | None = None
    found: list[ErrorFlag] = []
    if case.broken_tool in called:
        behaviour = Behaviour.RETRY
        says = f"it calls {case.broken_tool} again, which has failed for good"
        place = len(case.prefix) + 1 + called.index(case.broken_tool)
        found = [flag(PlanError.LOGIC, Severity.MODERATE, says, place)]
    elif not known.issuperset(called) or answer.refusal or too_many:
        behaviour, found = Behaviour.OTHER, chain_faults(case, answer)
    elif not substitutes.isdisjoint(called):
        behaviour = Behaviour.REPLACE
    elif any(not {*called}.isdisjoint(rule.tools) for rule in case.reference.rules):
        behaviour = Behaviour.ALTER
    if behaviour is None:
        return PlanningScore(correct=None, grade=None, undecided="no_judge")
    same = same_chain(case, answer.chain)
    return decided(found).model_copy(update={"behaviour": behaviour, "same_as_reference": same})


def _plan(case: PlanningCase, answer: PredictedPlan) -> PlanningScore:
    same = same_chain(case, answer.chain) and not (answer.refusal or answer.left_out)
    if same:
        return decided([]).model_copy(update={"same_as_reference": True})
    found = [*chain_faults(case, answer), *unmet_rules(case, answer)]
    if all(one.error is not PlanError.LOGIC for one in found):
        found += repeats(case, answer.chain)
    if found:
        return decided(found)
    return PlanningScore(correct=None, grade=None, undecided="no_judge")
