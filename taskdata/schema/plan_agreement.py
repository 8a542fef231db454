"""Marks that people and judges gave to the same plans, and how far they agree (APB, appendix D)."""

import re
from datetime import datetime
from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator

from taskdata.schema.base import Value
from taskdata.schema.estimate import Estimate
from taskdata.schema.label_agreement import Note
from taskdata.schema.planning_score import PlanError

GRADES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
"""The scale of plan grades (APB, appendix C.1.1)."""
WITH_REFERENCE, BLIND = "with reference", "blind"
"""What the modes of a judge are called."""
_BLIND = re.compile(r"\[(?:(?P<before>[^\[\]]*), )?blind\]")

Trial = tuple[str, str, int]
"""Task, agent and repetition."""


def judge_of(rater: str) -> tuple[str, bool]:
    """Return the judge that a rater is, without its mode, and whether it judged blind."""
    name = _BLIND.sub(lambda m: f"[{m['before']}]" if m["before"] else "", rater)
    return name, name != rater


def _on_scale(grade: float) -> float:
    nearest = min(GRADES, key=lambda one: abs(one - grade))
    if not abs(nearest - grade) < 1e-9:
        scale = ", ".join(f"{one:g}" for one in GRADES)
        raise ValueError(f"{grade:g} is not on the scale; write one of {scale}")
    return nearest


def _in_order(errors: tuple[PlanError, ...]) -> tuple[PlanError, ...]:
    return tuple(sorted(set(errors)))


class GivenMarks(Value):
    """What one rater thinks of a plan: its errors, and from them its grade."""

    grade: Annotated[float, AfterValidator(_on_scale)]
    """0, 0.2, 0.4, 0.6, 0.8 or 1."""
    errors: Annotated[tuple[PlanError, ...], AfterValidator(_in_order)] = ()
    """Each kind once, in their order."""

    @model_validator(mode="after")
    def _grade_fits_errors(self) -> Self:
        if not self.errors and self.grade < 1:
            raise ValueError(
                f"grade {self.grade:g} without an error: name what is wrong (E1 to E6), or grade 1"
            )
        if self.errors and self.grade == 1:
            raise ValueError(
                f"grade 1 with {' '.join(self.errors)}: a plan with an error has at most 0.8"
            )
        return self

    @property
    def correct(self) -> bool:
        """Whether the plan has no error."""
        return not self.errors


class PlanAnnotation(Value):
    """A person's marks of one stored trial on a planning case."""

    trial_id: str
    annotator: str = Field(min_length=1, max_length=80, pattern=r"^[^\x00-\x1f\x7f]+$")
    marks: GivenMarks
    note: Note = ""


class PlanRating(Value):
    """One rater's marks of one plan."""

    task: str
    rater: str = Field(min_length=1)
    marks: GivenMarks
    is_judge: bool = False
    agent: str = ""
    """Whose plan it is; empty: unknown, then a task has one plan."""
    repetition: int = Field(default=0, ge=0)
    source: str = ""
    """The task that the case was made from; empty: unknown, then each case stands for itself."""
    same_as_reference: bool = False
    """Whether the plan's tool chain is that of the reference."""
    by_code: bool = False
    """Of a judge: whether code alone decided, so that the judge was not asked."""
    note: Note = ""

    @property
    def trial(self) -> Trial:
        """Task, agent and repetition."""
        return self.task, self.agent, self.repetition


class PlanCloseness(Value):
    """How close two sides are on some plans; `n` of each: pairs of a plan and a person."""

    agreement: Estimate
    """Share (0-1) where both say correct, or both say incorrect."""
    grade_mae: Estimate
    """Mean absolute difference of the grades, 0-1."""


class PeopleCloseness(PlanCloseness):
    """How close people are among themselves; `n` of each: pairs of two people."""

    error_types: Estimate
    """Share (0-1) of the six flags E1 to E6 that both raise or both leave, over plans in which
    one of both sees an error."""


class PlanAgreement(PlanCloseness):
    """How far a judge's marks are those of people; a correct plan is the positive class."""

    precision: Estimate
    """Of the plans that the judge calls correct, the share (0-1) that people do."""
    recall: Estimate
    """Of the plans that people call correct, the share (0-1) that the judge does."""
    f1: Estimate
    """Harmonic mean of precision and recall."""
    error_types: Estimate
    """Share (0-1) of the six flags E1 to E6 that both raise or both leave, over plans that people
    call incorrect: to leave all flags of correct plans would be agreement without effort."""
    by_error: dict[str, Estimate]
    """The same for each of E1 to E6."""


class PlanBias(Value):
    """What a judge gives to one agent's plans above what people give (APB, table 9)."""

    agent: str
    own: bool
    """Whether the agent's model is the judge's."""
    people_correct: Estimate
    judge_correct: Estimate
    correct: Estimate
    """The judge's rate of correct plans minus that of people, -1 to 1."""
    people_grade: Estimate
    judge_grade: Estimate
    grade: Estimate
    """The judge's mean grade minus that of people, -1 to 1."""


class SelfPreference(Value):
    """A judge's bias on plans of its own model minus that on plans of others."""

    correct: Estimate
    grade: Estimate


class PlanMode(Value):
    """A judge in one mode, against people."""

    rater: str
    """The judge, as its verdicts name it."""
    plans: int
    """That people and the judge have marked."""
    by_code: int
    """Of these, the ones that code alone decided, so that the judge was not asked."""
    unmarked: int
    """Plans that people have marked and that have no marks of the judge: it gave no verdict."""
    whole: PlanAgreement
    """Marks as they count: of code and judge together."""
    asked: PlanAgreement
    """Only plans about which the judge was asked."""
    standard: PlanCloseness
    """Plans that people call correct and whose tool chain is the reference's (APB, table 8)."""
    different: PlanCloseness
    """Plans that people call correct though their tool chain is another."""
    bias: tuple[PlanBias, ...]
    self_preference: SelfPreference | None
    """None: there are no plans of the judge's own model, or no others."""


class PlanJudgeCard(Value):
    """The evidence that a judge of plans agrees with people."""

    judge: str
    """Its name without the mode."""
    made_at: datetime
    code_version: str
    evidence: str
    """Where the marks are from: a file, or run ids."""
    cases: int
    plans: int
    """That people and the judge, in one of its modes, have marked."""
    annotators: tuple[str, ...]
    with_reference: PlanMode | None
    blind: PlanMode | None
    """Without reference and grade rules."""
    difference: dict[str, Estimate]
    """Blind minus with the reference, by measure, on the plans that both modes marked."""
    between_people: PeopleCloseness | None
    """None: no plan was marked by two people."""

    @property
    def modes(self) -> dict[str, PlanMode]:
        """The modes that there are, by what they are called."""
        both = {WITH_REFERENCE: self.with_reference, BLIND: self.blind}
        return {name: mode for name, mode in both.items() if mode is not None}
