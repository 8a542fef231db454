"""Planning cases and answers to them, of which only what a table looks at is said."""

from collections.abc import Sequence

from taskdata.schema.checkpoint import Checkpoint, PlanGrade
from taskdata.schema.planning import (
    CaseOrigin,
    CaseTool,
    Form,
    Infeasibility,
    Modality,
    PlannedAction,
    PlanningCase,
    PlanReference,
    Setting,
    ToolRole,
)
from taskdata.schema.planning_score import (
    Behaviour,
    ErrorFlag,
    PlanError,
    PlanningScore,
    Severity,
)
from taskdata.schema.task import Task
from tests.conftest import make_task

SUBTYPES = {"holistic": "task_incompleteness", "step_wise": "premature_conclusion"}


def tool(name: str, role: ToolRole = ToolRole.OWN, cost: int | None = None) -> CaseTool:
    return CaseTool(
        name=name, description=name, parameters={"type": "object"}, cost=cost, role=role
    )


def make_case(
    setting: Setting = Setting.HOLISTIC,
    *,
    form: Form | None = None,
    source: str = "source",
    steps: int = 1,
    horizon: int = 1,
    position: int = 0,
    length: int = 0,
    modality: Modality = Modality.TEXT,
    distractors: int = 0,
    base_case: str | None = None,
    infeasibility: Infeasibility | None = None,
    optimum: int | None = None,
) -> PlanningCase:
    step_wise = setting in (Setting.STEP_WISE, Setting.BROKEN)
    form = form or (Form.STEP_WISE if step_wise else Form.HOLISTIC)
    refused = setting is Setting.UNSOLVABLE
    chain = () if refused else tuple(PlannedAction(tool="own") for _ in range(steps))
    return PlanningCase(
        setting=setting,
        form=form,
        horizon=horizon if form is Form.STEP_WISE else None,
        tools=(tool("own"), *(tool(f"d{n}", ToolRole.DISTRACTOR) for n in range(distractors))),
        reference=PlanReference(chain=chain, refusal="It cannot be done." if refused else ""),
        modality=modality,
        origin=CaseOrigin(
            task_id=source,
            task_hash="0" * 64,
            transformation="holistic_extraction@1",
            base_case=base_case,
            position=position,
            length=length,
        ),
        broken_tool="own" if setting is Setting.BROKEN else None,
        infeasibility=(infeasibility or Infeasibility.TOOL_REMOVAL) if refused else None,
        optimum=(optimum or 1) if setting is Setting.EFFICIENCY else None,
    )


def make_mark(
    grade: float | None = 1.0,
    errors: Sequence[str] = (),
    *,
    form: str = "holistic",
    undecided: str = "",
    extraneous: Sequence[str] = (),
    behaviour: Behaviour | None = None,
    cost: int | None = None,
    traps: Sequence[str] = (),
) -> PlanningScore:
    flags = tuple(
        ErrorFlag(
            error=PlanError(error),
            severity=Severity.MINOR,
            subtype=SUBTYPES[form] if error == "E2" else None,
            evidence="seen",
            decided_by="code",
        )
        for error in errors
    )
    return PlanningScore(
        correct=None if grade is None else grade == 1.0,
        grade=grade,
        flags=flags,
        undecided=undecided,
        extraneous=tuple(extraneous),
        behaviour=behaviour,
        cost=cost,
        traps=tuple(traps),
    )


def make_case_task(task_id: str, planning: PlanningCase) -> Task:
    return make_task(
        task_id,
        tier="planning",
        planning=planning,
        deliverables=(),
        checkpoints=Checkpoint(id="root", requirement="The plan is right.", verifier=PlanGrade()),
        reference=None,
        answer=None,
    )
