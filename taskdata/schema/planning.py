"""Planning cases: a plan or next steps are asked for, nothing is executed (APB, section 3)."""

from enum import StrEnum
from typing import Any, Self

from pydantic import Field, model_validator

from taskdata.schema.base import RelativePath, Sha256, Slug, Value


class Setting(StrEnum):
    """What a planning case puts to the test (APB, section 3.1 and appendix B.5)."""

    HOLISTIC = "holistic"
    """A whole plan and its tool chain, in one pass."""
    STEP_WISE = "step_wise"
    """The next one to three actions after a prefix."""
    EXTRANEOUS = "extraneous"
    """Either of these, with tools among those offered that are similar and of no use."""
    BROKEN = "broken"
    """The next action after a tool failed for good and a substitute is offered."""
    UNSOLVABLE = "unsolvable"
    """The right answer is a refusal."""
    EFFICIENCY = "efficiency"
    """A whole plan, as cheap as possible, where every tool has a cost."""


class Form(StrEnum):
    """What is asked for."""

    HOLISTIC = "holistic"
    STEP_WISE = "step_wise"


class Infeasibility(StrEnum):
    """Why an unsolvable case has no solution (APB, appendix B.4.3)."""

    CONTRADICTION = "contradiction"
    MISSING_INFORMATION = "missing_information"
    INACCESSIBLE_EVIDENCE = "inaccessible_evidence"
    """The query is that of the solvable case; the files that it speaks of are gone."""
    TOOL_REMOVAL = "tool_removal"


class Modality(StrEnum):
    """The richest medium that the case's files have."""

    TEXT = "text"
    IMAGE = "image"
    AUDIO = "audio"
    VIDEO = "video"


class ToolRole(StrEnum):
    """Why a tool is offered; the planner is never told."""

    OWN = "own"
    DISTRACTOR = "distractor"
    SUBSTITUTE = "substitute"
    """Does what the broken tool did."""
    COMPOSITE = "composite"
    """Does several steps of the reference for less than they cost."""
    TRAP = "trap"
    """Looks right, and is overpriced, redundant or off the target."""


class CaseTool(Value):
    """A tool that a case offers; its schema says which arguments a plan may give it."""

    name: str = Field(min_length=1, max_length=120)
    description: str = Field(max_length=4_000)
    parameters: dict[str, Any]
    """JSON schema of the arguments: always an object."""
    cost: int | None = Field(default=None, ge=1, le=100)
    """Of one call. Own tools of the setting `efficiency` have 1 to 5; None in other settings."""
    role: ToolRole = ToolRole.OWN
    replaces: tuple[str, ...] = ()
    """Of a substitute, composite or trap: the own tools whose calls it stands for, in order."""


class PlannedAction(Value):
    """One call of a tool chain, with the reason for it (APB, section 3.1)."""

    tool: str
    arguments: dict[str, Any] = Field(default_factory=dict)
    """In a tool chain of holistic planning they may name earlier results in words."""
    rationale: str = ""


class PrefixStep(PlannedAction):
    """An action that was taken before the case begins, and what came back."""

    result: str
    failed: bool = False
    """Whether the result is the tool's error."""


class GradeRule(Value):
    """What a judge and a reviewer hold a plan of this case against, beside the reference."""

    requirement: str = Field(min_length=1, max_length=1_000)
    """One thing that every correct plan does, in words that fit other correct plans too."""
    tools: tuple[str, ...] = ()
    """Tools of which a correct plan calls one for it; empty: code cannot tell."""


class PlanReference(Value):
    """One correct answer to a case; others may be as correct."""

    plan: tuple[str, ...] = ()
    """Steps in words; empty where only the next actions are asked for."""
    chain: tuple[PlannedAction, ...] = ()
    """Empty if the right answer is a refusal, or to end with the final answer."""
    rules: tuple[GradeRule, ...] = ()
    refusal: str = ""
    """Why the case must be refused; empty if it must not."""
    ends: bool = False
    """Whether the task is solved after the chain, so that the final answer is due."""


class CaseOrigin(Value):
    """Where a case came from, and what was done to it."""

    task_id: Slug
    task_hash: Sha256
    trial_id: str | None = None
    """The finished trial whose steps were used; None: the task's reference solution."""
    transformation: str = Field(min_length=1, max_length=200)
    """Name and version of the construction step: `holistic_extraction@1`."""
    model: str | None = None
    """The model that wrote distractors, substitutes or a rewritten query; None: none did."""
    base_case: Slug | None = None
    """The case that this one varies; None: it varies none."""
    position: int = Field(default=0, ge=0)
    """Steps of the trajectory that were taken before the case begins."""
    length: int = Field(default=0, ge=0)
    """Steps of the whole trajectory."""
    reviewer: str = ""
    """Who approved it."""


class PlanningCase(Value):
    """What a task of the tier `planning` holds beside query, files and provenance."""

    setting: Setting
    form: Form
    system_prompt: str = Field(default="", max_length=20_000)
    tools: tuple[CaseTool, ...]
    media: tuple[RelativePath, ...] = ()
    """Those of the task's files that are shown to the planner."""
    prefix: tuple[PrefixStep, ...] = ()
    horizon: int | None = Field(default=None, ge=1, le=3)
    """How many next actions are asked for; None in holistic form."""
    reference: PlanReference
    modality: Modality = Modality.TEXT
    origin: CaseOrigin
    broken_tool: str | None = None
    """The tool whose last call failed for good; of the setting `broken`."""
    infeasibility: Infeasibility | None = None
    proof: str = Field(default="", max_length=2_000)
    """Why nothing that the planner has can solve an unsolvable case: one sentence that a reviewer
    has confirmed."""
    optimum: int | None = Field(default=None, ge=1)
    """The least cost of a correct tool chain, as the solver proved it; of `efficiency`."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        names = [tool.name for tool in self.tools]
        if len(set(names)) < len(names):
            raise ValueError(
                f"tool names repeat: {sorted({n for n in names if names.count(n) > 1})}"
            )
        if (self.horizon is not None) != (self.form is Form.STEP_WISE):
            raise ValueError(
                f"form {self.form}: a horizon is for step_wise cases, and only for them"
            )
        for wanted, given, what in (
            (self.setting is Setting.BROKEN, self.broken_tool is not None, "a broken tool"),
            (
                self.setting is Setting.UNSOLVABLE,
                self.infeasibility is not None,
                "an infeasibility",
            ),
            (self.setting is Setting.UNSOLVABLE, bool(self.reference.refusal), "a refusal"),
            (self.setting is Setting.EFFICIENCY, self.optimum is not None, "an optimum"),
            (
                self.setting is Setting.EXTRANEOUS,
                bool(self.of_role(ToolRole.DISTRACTOR)),
                "distractors",
            ),
        ):
            if wanted != given:
                raise ValueError(
                    f"setting {self.setting}: {'needs' if wanted else 'has no place for'} {what}"
                )
        unknown = sorted({a.tool for a in self.reference.chain} - set(names))
        if unknown:
            raise ValueError(f"the reference calls {unknown}, which the case does not offer")
        return self

    def of_role(self, role: ToolRole) -> tuple[CaseTool, ...]:
        """Return the tools that are offered for that reason."""
        return tuple(tool for tool in self.tools if tool.role is role)

    @property
    def steps(self) -> int:
        """Length of the reference's tool chain, its difficulty (APB, appendix G)."""
        return len(self.reference.chain)
