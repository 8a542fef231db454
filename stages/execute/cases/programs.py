"""Planning cases for programs: the case as a file, and the answer as one."""

import json

from stages.execute.cases.asking import case_messages, case_of
from stages.execute.cases.reading import read_answer
from stages.execute.dialogue import prompts
from taskdata.errors import BadTaskData
from taskdata.schema.planning_score import PredictedPlan
from taskdata.schema.task import TaskBrief

PROGRAM_PROMPT = "command_case_v1"
CASE_FILE = "CASE.json"
"""Beside the task file, in the workspace."""
PLAN_FILE = "output/plan.json"


def program_task(brief: TaskBrief) -> str:
    """Return the task file of a planning case."""
    system, user = case_messages(brief)
    (message,) = prompts.messages(PROGRAM_PROMPT, system=system.text, user=user.text)
    return message.text


def case_text(brief: TaskBrief) -> str:
    """Return the case as JSON: what a planner may see, and nothing else."""
    asked = {"query": brief.query} | case_of(brief).model_dump(mode="json")
    return json.dumps(asked, ensure_ascii=False, indent=2)


def read_written(text: str) -> PredictedPlan | None:
    """Return the answer that a program or another system left; None: it left none."""
    if not text.strip():
        return None
    try:
        return read_answer(text)
    except BadTaskData as exc:
        return PredictedPlan(fault=str(exc))
