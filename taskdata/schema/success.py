"""When a trial has succeeded, and when that cannot be said."""

from enum import StrEnum

from pydantic import Field

from taskdata.schema.base import Value
from taskdata.schema.planning_score import PlanningScore
from taskdata.schema.scores import NodeScore

_ROUNDING = 1e-9


class TrialVerdict(StrEnum):
    """What a scored trial counts for."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    """Not even the upper bound of its root score is above the threshold."""
    OPEN = "open"
    """It depends on what a verifier was asked about and gave no score on.

    The agent's own work may be why there is none, so that it counts as not succeeded.
    """
    UNDECIDED = "undecided"
    """The run has no verifiers for most of the task; this says nothing of the agent, and it counts
    neither way."""


class SuccessRule(Value):
    """What a run asks of a trial that succeeds."""

    threshold: float = Field(ge=0, lt=10)
    """The lower bound of the root score must be above this (GTA-2, section 6.4.1)."""
    min_coverage: float = Field(ge=0, le=1)
    """At least this share of the tree's weight must have been scored."""

    def verdict(self, root: NodeScore) -> TrialVerdict:
        """Return what a trial with this score tree counts for.

        A plan succeeds if it is correct, whatever the threshold (APB, section 3.3).
        """
        if root.planning is not None:
            return _of_plan(root.planning)
        lower, upper = root.lower, root.upper
        least = self.min_coverage - _ROUNDING
        if lower is None or upper is None or root.coverage + root.unanswered < least:
            return TrialVerdict.UNDECIDED
        if lower > self.threshold and root.coverage >= least:
            return TrialVerdict.SUCCEEDED
        return TrialVerdict.OPEN if upper > self.threshold else TrialVerdict.FAILED

    def at(self, threshold: float) -> "SuccessRule":
        """Return the same rule with another threshold."""
        return SuccessRule(threshold=threshold, min_coverage=self.min_coverage)


def _of_plan(plan: PlanningScore) -> TrialVerdict:
    if plan.correct is None:
        undecided = plan.undecided == "no_judge"
        return TrialVerdict.UNDECIDED if undecided else TrialVerdict.OPEN
    return TrialVerdict.SUCCEEDED if plan.correct else TrialVerdict.FAILED
