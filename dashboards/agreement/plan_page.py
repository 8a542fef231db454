"""The page on which a person marks one plan, blind to what code and judges said about it.

It shows the case as the planner saw it, the planner's answer, and, folded, the reference. It names
neither the agent nor any mark, and no tool's role. What an agent wrote passes the templates'
escaping.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from dashboards.agreement.annotation import Place, rendered_page, script_policy
from dashboards.pages.trial.caps import CAPS, Shown, shown, shown_json
from taskdata.schema.input_file import InputFile
from taskdata.schema.plan_agreement import GRADES, PlanAnnotation
from taskdata.schema.planning import Form, PlannedAction, PlanningCase, PrefixStep, ToolBrief
from taskdata.schema.planning_score import PredictedPlan
from taskdata.schema.task import Task

_CAP = CAPS[0]
_SCRIPT = "mark.js"
_ERRORS = {
    "E1": ("goal", "It aims at something else than what the user wants."),
    "E2": ("unfinished", ""),
    "E3": ("constraint", "It breaks a condition of the task or of the instructions."),
    "E4": (
        "logic",
        "A step lacks what it needs, comes in the wrong order, goes in circles, or does not lead "
        "on.",
    ),
    "E5": (
        "tool use",
        "A tool cannot do what the step wants of it, or gets wrong or too vague arguments.",
    ),
    "E6": (
        "hallucination",
        "It calls a tool that is not there, or relies on facts, files or results that nobody gave.",
    ),
}
_UNFINISHED = {
    Form.HOLISTIC: "It leaves parts of the task out.",
    Form.STEP_WISE: "It ends, or gives up, where something is still to be done.",
}
_GRADES = {
    0.0: "several grave errors, or nothing useful is left",
    0.2: "one grave error, or several by which parts stay undone",
    0.4: "several small errors, or one by which a part stays undone",
    0.6: "one small error that is easily made good",
    0.8: "one slip in the use of a tool that changes nothing",
    1.0: "no error",
}


@dataclass(frozen=True)
class EnteredMarks:
    """What stands in the form."""

    grade: str = ""
    errors: Collection[str] = ()
    note: str = ""
    problem: str = ""
    """Why it was not saved; empty: nothing is wrong with it."""

    @classmethod
    def of(cls, annotation: PlanAnnotation | None) -> "EnteredMarks":
        """Return what the person saved before, or an empty form."""
        if annotation is None:
            return cls()
        marks = annotation.marks
        return cls(f"{marks.grade:g}", tuple(marks.errors), annotation.note)


def plan_page(
    place: Place,
    task: Task,
    case: PlanningCase,
    answer: PredictedPlan,
    entered: EnteredMarks,
    token: str,
) -> str:
    """Return the page of one plan.

    Args:
        place: Where the annotator is.
        task: What was asked.
        case: The case that it holds.
        answer: What the planner answered.
        entered: What stands in the form.
        token: Sent along with the marks, to show that they are from this page.
    """
    brief = case.brief
    first = len(case.prefix) + 1
    return rendered_page(
        "plan.html",
        _SCRIPT,
        place=place,
        task=task,
        asked_for=_asked_for(case),
        instructions=shown(brief.system_prompt, _CAP.text),
        files=[_file(file) for file in shown_files(task, case)],
        tools=[_tool(tool) for tool in brief.tools],
        prefix=[_step(step, n) for n, step in enumerate(brief.prefix, 1)],
        answer=_answer(answer.plan, answer.chain, answer.refusal, answer.final_answer or "", first),
        left_out=answer.left_out,
        reference=_answer(
            case.reference.plan, case.reference.chain, case.reference.refusal, "", first
        ),
        ends=case.reference.ends,
        rules=[shown(rule.requirement, _CAP.reason) for rule in case.reference.rules],
        proof=case.proof,
        errors=[
            (name, word, meaning or _UNFINISHED[case.form])
            for name, (word, meaning) in _ERRORS.items()
        ],
        grades=[(f"{grade:g}", _GRADES[grade]) for grade in GRADES],
        entered=entered,
        token=token,
    )


def marked_page(run_id: str, marked: int, total: int) -> str:
    """Return the page after the last plan."""
    return rendered_page("marked.html", _SCRIPT, run_id=run_id, marked=marked, total=total)


def plan_policy() -> str:
    """Return the content security policy of these pages."""
    return script_policy(_SCRIPT)


def shown_files(task: Task, case: PlanningCase) -> list[InputFile]:
    """Return the files that the planner was shown."""
    return [file for file in task.files if file.path in case.media]


def _asked_for(case: PlanningCase) -> str:
    if case.horizon is None:
        told = "the whole plan and its tool chain"
    else:
        calls = "tool call" if case.horizon == 1 else f"{case.horizon} tool calls"
        told = f"the next {calls}, or the final answer if nothing is left to do"
    return f"{told}; the cheapest plan is wanted" if case.brief.counts_cost else told


def _file(file: InputFile) -> dict[str, Any]:
    return {"name": shown(file.path, _CAP.reason), "sha256": file.sha256}


def _tool(tool: ToolBrief) -> dict[str, Any]:
    return {
        "name": shown(tool.name, _CAP.reason),
        "cost": tool.cost,
        "description": shown(tool.description, _CAP.text),
        "parameters": shown_json(tool.parameters, _CAP.text),
    }


def _step(step: PrefixStep, number: int) -> dict[str, Any]:
    result = shown(step.result, _CAP.text)
    return {**_call(step, number), "result": result, "failed": step.failed}


def _call(action: PlannedAction, number: int) -> dict[str, Any]:
    return {
        "number": number,
        "tool": shown(action.tool, _CAP.reason),
        "arguments": shown_json(action.arguments, _CAP.text),
        "rationale": shown(action.rationale, _CAP.text),
    }


def _answer(
    plan: Sequence[str],
    chain: Sequence[PlannedAction],
    refusal: str,
    final_answer: str,
    first: int,
) -> dict[str, Any]:
    steps = "\n".join(f"{number}. {step}" for number, step in enumerate(plan, 1))
    words: list[tuple[str, Shown]] = [
        (name, shown(text, _CAP.text))
        for name, text in (
            ("Plan", steps),
            ("Refusal", refusal),
            ("Final answer", final_answer),
        )
        if text
    ]
    kept = chain[: _CAP.events]
    return {
        "words": words,
        "calls": [_call(action, number) for number, action in enumerate(kept, first)],
        "more": len(chain) - len(kept),
    }
