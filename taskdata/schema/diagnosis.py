"""Failure labels of a trial (GTA-2, sections 5.3 and appendix .4)."""

from collections.abc import Mapping
from enum import StrEnum
from typing import ClassVar, Literal

from pydantic import Field

from taskdata.schema.base import GrowingValue, Value


class FailureStage(StrEnum):
    """Stage of the workflow in which the trial failed (GTA-2, table 8)."""

    NOT_ATTEMPTED = "not_attempted"
    """None of them was entered: nothing was called, left or answered. Not one of GTA-2's stages."""
    PLAN = "plan"
    EXECUTE = "execute"
    REASON = "reason"
    REFINE = "refine"
    HANDOFF = "handoff"
    UNDETERMINED = "undetermined"
    """The trial failed, and its signals decide for none of the stages."""


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


class Taxonomy(StrEnum):
    """The source of a label; docs/failures.md defines the labels of each taxonomy."""

    TOOL_USE = "tool_use"
    """TOBench, table 4."""
    LONG_RUN = "long_run"
    """Faults of long runs: loops, unfinished work, wasted effort."""
    ARGUMENTS = "arguments"
    """Errors of predicted arguments, atomic tier (GTA, table 6)."""
    INFRASTRUCTURE = "infrastructure"
    """Losses outside the agent; a trial with such a label has no label of another taxonomy."""


TOOL_USE: Mapping[str, tuple[str, ...]] = {
    "tool_call": (
        "wrong_tool_selection",
        "missing_essential_tool",
        "tool_planning_error",
        "hallucinated_tool",
    ),
    "parameter": (
        "parameter_type_error",
        "parameter_range_error",
        "parameter_object_selection_error",
        "missing_parameter",
        "hallucinated_parameter",
    ),
    "multimodal_capability": (
        "fine_grained_perception",
        "visual_spatial_understanding",
        "video_temporal_understanding",
        "cross_modal_fusion",
        "multimodal_hallucination",
    ),
    "self_verification": ("no_verification", "pseudo_verification", "incomplete_verification"),
    "non_agent": ("false_positive", "mcp_issue", "agent_base_model_issue"),
}
"""The subcategories of each category of TOBench's table 4."""
LABELS: Mapping[Taxonomy, tuple[str, ...]] = {
    Taxonomy.TOOL_USE: tuple(name for names in TOOL_USE.values() for name in names),
    Taxonomy.LONG_RUN: (
        "loop",
        "premature_stop",
        "handed_back",
        "dropped_items",
        "overlong_output",
        "cut_off_reply",
        "lost_context",
        "budget_spent_on_retries",
    ),
    Taxonomy.ARGUMENTS: (
        "asks_user",
        "no_action",
        "malformed_json",
        "several_tools",
        "redundant_text",
        "repeated_prompt",
        "wrong_final_format",
    ),
    Taxonomy.INFRASTRUCTURE: (
        "provider",
        "sandbox",
        "tool_backend",
        "broken_task",
        "our_bug",
        "run_limit",
        "undetermined",
    ),
}
"""The names of each taxonomy; docs/failures.md defines them."""


class Evidence(GrowingValue):
    """A place in the record that led to a label."""

    added_later: ClassVar[frozenset[str]] = frozenset({"turn", "call", "leaf", "deliverable"})

    says: str
    """One line."""
    turn: int | None = Field(default=None, ge=1)
    """Number of the model call in the transcript; None: before the first call, or no turn."""
    call: str | None = None
    """Id of the tool call in the transcript."""
    leaf: str | None = None
    """Id of the leaf in the task's checkpoint tree."""
    deliverable: str | None = None
    """Its name in the task."""


def placed(evidence: Evidence) -> str:
    """Return a piece of evidence as readable text: its place in the record and its words."""
    places = {
        "turn": evidence.turn,
        "call": evidence.call,
        "leaf": evidence.leaf,
        "deliverable": evidence.deliverable,
    }
    named = ", ".join(f"{name} {value}" for name, value in places.items() if value is not None)
    return f"{named}: {evidence.says}" if named else evidence.says


class Label(GrowingValue):
    """A label of a taxonomy that fits a trial, with its evidence."""

    added_later: ClassVar[frozenset[str]] = frozenset({"by"})

    taxonomy: Taxonomy
    name: str = Field(pattern=r"^[a-z][a-z_]{0,60}$")
    confidence: float = Field(ge=0, le=1)
    """1 if the record states the fault; less if a rule or a model concludes it from the record."""
    evidence: tuple[Evidence, ...] = Field(min_length=1)
    by: str | None = None
    """The model that gave the label, as `provider/model`; None: a rule did."""


class ModelLabelling(Value):
    """What came of asking a model about what the rules left open in a trial."""

    model: str
    """As its provider reported it; as it was asked for, if it did not reply."""
    decided: tuple[Literal["stage", "type"], ...] = ()
    """Which of the two the model decided, because the rules had not."""
    rejected: str | None = None
    """Why its replies were rejected; the trial has the labels of the rules alone."""
    error: str | None = None
    """Why it could not be asked; the trial has the labels of the rules alone, and is still due."""


class Diagnosis(GrowingValue):
    """Why a trial failed; stage None means it did not fail."""

    added_later: ClassVar[frozenset[str]] = frozenset({"labels", "by_model"})

    trial_id: str
    stage: FailureStage | None
    type: FailureType | None = None
    levels: FailureLevels
    evidence: tuple[str, ...]
    """One sentence per signal that led to stage, type and levels."""
    labels: tuple[Label, ...] = ()
    """The labels of the other taxonomies, each at most once."""
    labeller: str
    """Who labelled: `rules@3`, or `rules@3+openai/gpt-5.2@1` if that model takes what rules leave
    open."""
    by_model: ModelLabelling | None = None
    """None: no model was asked about this trial."""

    def is_by_model(self, kind: Literal["stage", "type"]) -> bool:
        """Return whether a model decided the stage or the type, because the rules had not."""
        return self.by_model is not None and kind in self.by_model.decided
