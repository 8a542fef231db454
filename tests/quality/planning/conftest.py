"""Answers to planning cases, of which only what a table looks at is said."""

import pytest

from quality.planning.answers import PlanAnswer
from taskdata.schema.planning import PlanningCase
from taskdata.schema.planning_score import PlanningScore
from taskdata.schema.scores import NodeScore
from taskdata.schema.task import Task
from tests.planning_cases import make_case, make_case_task, make_mark


@pytest.fixture
def answer():
    """Return a function that makes an answer: of an agent, to a case, with a mark."""

    def make(case: PlanningCase, mark: PlanningScore | None, case_id: str = "", agent: str = "a"):
        return PlanAnswer(agent, case_id or case.origin.task_id, case, mark)

    return make


@pytest.fixture
def case():
    return make_case


@pytest.fixture
def mark():
    return make_mark


@pytest.fixture
def new_case_task():
    return make_case_task


@pytest.fixture
def new_plan_result(make_result):
    """Return a function that makes a trial on a planning case with its mark."""

    def make(task: Task, mark: PlanningScore | None, agent: str = "planner:openai/m", round_=0):
        error = "the provider is down" if mark is None else None
        result = make_result(agent, task, round_=round_, arm="self", error=error)
        if mark is None or result.score is None:
            return result
        root = NodeScore(
            id="root",
            requirement="The plan is right.",
            weight=1,
            score=None if mark.grade is None else 10 * mark.grade,
            coverage=mark.grade is not None,
            planning=mark,
        )
        return result.model_copy(update={"score": result.score.model_copy(update={"root": root})})

    return make
