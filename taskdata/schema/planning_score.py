"""What a planner answered to a planning case, and what scoring made of it (APB, section 3.3)."""

from enum import StrEnum
from typing import Literal, Self

from pydantic import Field, model_validator

from taskdata.schema.base import Value
from taskdata.schema.planning import PlannedAction


class PlanError(StrEnum):
    """The six kinds of error of a plan (APB, section 3.3 and appendix C.1)."""

    GOAL = "E1"
    """The goal is misunderstood."""
    UNFINISHED = "E2"
    """It concludes too early (step-wise), or leaves parts of the task out (holistic)."""
    CONSTRAINT = "E3"
    LOGIC = "E4"
    TOOL_USE = "E5"
    HALLUCINATION = "E6"


class Severity(StrEnum):
    """How much an error matters to the grade (APB, appendix C.1.1)."""

    TRIVIAL = "trivial"
    """Of E5 alone: it changes nothing about the outcome."""
    MINOR = "minor"
    MODERATE = "moderate"
    MAJOR = "major"
    TOTAL = "total"
    """Nothing of the plan is left, whatever else is in it."""


class ErrorFlag(Value):
    """One error of a plan, with what shows it."""

    error: PlanError
    severity: Severity
    subtype: Literal["premature_conclusion", "task_incompleteness"] | None = None
    """Of E2, and only of it."""
    step: int | None = Field(default=None, ge=1)
    """Place in the tool chain; None: the plan as a whole."""
    evidence: str = Field(min_length=1, max_length=2_000)
    decided_by: str = Field(min_length=1)
    """`code`, or the judge's label."""

    @model_validator(mode="after")
    def _subtype_of_e2(self) -> Self:
        if (self.subtype is not None) != (self.error is PlanError.UNFINISHED):
            raise ValueError(f"{self.error}: a subtype is for E2, and only for it")
        return self


class Behaviour(StrEnum):
    """What a planner does after a tool has failed for good (APB, appendix C.4)."""

    REPLACE = "replace"
    ALTER = "alter"
    RETRY = "retry"
    REFUSE = "refuse"
    OTHER = "other"


class PredictedPlan(Value):
    """A planner's answer as it was read; `fault` says why nothing could be read."""

    plan: tuple[str, ...] = ()
    chain: tuple[PlannedAction, ...] = ()
    refusal: str = ""
    """Why the planner refuses, in its words; empty if it does not."""
    final_answer: str | None = None
    """Given in place of an action, where the planner takes the task as solved."""
    fault: str = ""
    left_out: int = Field(default=0, ge=0)
    """Actions beyond the longest tool chain that is stored."""


class PlanningScore(Value):
    """The marks of one answer to one planning case.

    An answer that could not be read is not correct, has grade 0 and no error. One that only a
    judge could decide has neither correctness nor grade, where there is no verdict.
    """

    correct: bool | None
    """Whether it has no error; None: undecided, and `undecided` says why."""
    grade: float | None = Field(ge=0, le=1)
    """0, 0.2, 0.4, 0.6, 0.8 or 1; None: undecided."""
    flags: tuple[ErrorFlag, ...] = ()
    undecided: Literal["", "no_judge", "no_verdict"] = ""
    unreadable: bool = False
    """Whether the answer could not be read, not even when it was asked for again."""
    same_as_reference: bool = False
    """Whether its tool chain is that of the reference, so that code alone could decide."""
    refused: bool = False
    extraneous: tuple[str, ...] = ()
    """Distractors that it calls, each as often as it is called."""
    behaviour: Behaviour | None = None
    """Of the setting `broken`; None: undecided, or another setting."""
    cost: int | None = Field(default=None, ge=0)
    """Of its tool chain, of the setting `efficiency`; None: a tool has no known cost."""
    traps: tuple[str, ...] = ()
    """Traps that it calls."""

    @property
    def errors(self) -> frozenset[PlanError]:
        """Kinds of error that occur in it."""
        return frozenset(flag.error for flag in self.flags)
