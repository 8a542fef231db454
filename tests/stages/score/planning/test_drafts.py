"""Plans that were made before the work, held against the reference solution by code."""

import pytest

from stages.score.planning.drafts import draft_case, draft_marks
from taskdata.schema.plan import PlanStep, PlanVersion
from taskdata.schema.planning_score import PlanError
from taskdata.schema.task import ReferenceSolution, ReferenceStep

TOOLS = ("read_file", "python_execute", "write_file", "finish")
OFFERED = (*TOOLS, "history")
STEPS = (
    ReferenceStep(tool="read_file", arguments={"path": "input/prices.csv"}),
    ReferenceStep(tool="write_file", arguments={"path": "output/out.json", "text": "{}"}),
    ReferenceStep(tool="finish", arguments={"answer": "Done."}),
)


@pytest.fixture
def case(new_task):
    solved = ReferenceSolution(steps=STEPS, final_answer="")
    return draft_case(new_task(tools=TOOLS, reference=solved), OFFERED)


def plan(*tools: str | None) -> PlanVersion:
    return PlanVersion(steps=tuple(PlanStep(purpose="Do it.", tool=tool) for tool in tools))


@pytest.mark.parametrize(
    ("tools", "errors", "is_reference"),
    [
        (("read_file", None, "write_file", "finish"), set(), True),
        (("read_file", "python_execute"), set(), False),
        (("read_file", "history", "write_file"), set(), False),
        (("write_file",), {PlanError.UNFINISHED}, False),
        ((None, None), {PlanError.UNFINISHED}, False),
        (("read_file", "open_excel", "write_file"), {PlanError.HALLUCINATION}, False),
    ],
)
def test_code_proves_errors_of_a_plan_and_knows_the_references_tools(
    case, tools, errors, is_reference
) -> None:
    marks = draft_marks(case, plan(*tools))
    assert marks.errors == errors
    assert marks.same_as_reference is is_reference
    assert marks.correct is (False if errors else True if is_reference else None)


def test_a_plan_that_cannot_be_read_has_no_error_and_is_not_right(case) -> None:
    marks = draft_marks(case, PlanVersion(fault="no JSON object"))
    assert (marks.unreadable, marks.correct, marks.errors) == (True, False, set())


def test_without_a_reference_of_the_offered_tools_a_plan_has_no_marks(new_task) -> None:
    assert draft_case(new_task(), OFFERED) is None
    solved = new_task(reference=ReferenceSolution(steps=STEPS, final_answer=""))
    assert draft_case(solved, ("read_file",)) is None
    assert draft_case(solved, ()) is None
