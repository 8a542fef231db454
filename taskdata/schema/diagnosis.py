"""Failure labels of a trial (GTA-2, sections 5.3 and appendix .4)."""

from enum import StrEnum

from taskdata.schema.base import Value


class FailureStage(StrEnum):
    """Stage of the workflow in which the trial failed (GTA-2, table 8)."""

    NOT_ATTEMPTED = "not_attempted"
    """None of them was entered: nothing was called, left or answered. Not one of GTA-2's stages."""
    PLAN = "plan"
    EXECUTE = "execute"
    REASON = "reason"
    REFINE = "refine"
    HANDOFF = "handoff"


class FailureType(StrEnum):
    """Type of failure (GTA-2, table 9)."""

    NOT_ATTEMPTED = "not_attempted"
    """What was asked for is not there under any name, so that nothing in it can be wrong. Not one
    of GTA-2's types."""
    DATA_EXTRACTION = "data_extraction"
    REASONING = "reasoning"
    CONTENT_SYNTHESIS = "content_synthesis"
    FORMATTING = "formatting"


class FailureLevels(Value):
    """Three-level decomposition, each yes or no (GTA-2, section 5.3.3)."""

    leaf: bool
    """A: a local sub-goal is violated."""
    composition: bool
    """B: sub-goals hold, their combination does not."""
    deliverable: bool
    """C: the final deliverable is missing, misnamed, unreadable or of the wrong form."""


class Diagnosis(Value):
    """Why a trial failed; stage None means it did not fail."""

    trial_id: str
    stage: FailureStage | None
    type: FailureType | None = None
    levels: FailureLevels
    evidence: tuple[str, ...]
    """One sentence per signal that led to the labels."""
    labeller: str
    """Who labelled: `rules@1`."""
