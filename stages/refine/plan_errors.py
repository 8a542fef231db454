"""The six kinds of error of a plan (APB, section 3.3), as critics and planners are told them."""

from collections.abc import Mapping

from taskdata.schema.planning_score import PlanError

MEANINGS: Mapping[PlanError, tuple[str, str]] = {
    PlanError.GOAL: (
        "goal",
        "the plan aims at something else than what the user wants",
    ),
    PlanError.UNFINISHED: (
        "unfinished",
        "it stops, or gives a result, while a part of the task has still to be done",
    ),
    PlanError.CONSTRAINT: (
        "constraint",
        "it breaks a condition of the task, of the instructions or of the form of the answer",
    ),
    PlanError.LOGIC: (
        "logic",
        "a step lacks what it needs, comes in the wrong order, or ignores what is known already",
    ),
    PlanError.TOOL_USE: (
        "tool use",
        "a tool cannot do what a step wants of it, or gets wrong or vague arguments",
    ),
    PlanError.HALLUCINATION: (
        "hallucination",
        "it calls a tool that is not there, or relies on facts, files or results nobody gave",
    ),
}
PLAN_TAXONOMY = tuple(MEANINGS.values())
