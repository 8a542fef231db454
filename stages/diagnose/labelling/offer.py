"""What rules leave open in a diagnosis, and what the labels mean that a model may give.

A model is never offered what a rule has decided. Labels that code decides whenever they fit, such
as a call of a tool that does not exist, are not on offer at all.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from taskdata.schema.diagnosis import (
    LABELS,
    TOOL_USE,
    Diagnosis,
    FailureStage,
    FailureType,
    Taxonomy,
)

STAGES: Mapping[FailureStage, str] = {
    FailureStage.PLAN: "the approach could not work, or the agent took no step toward the result",
    FailureStage.EXECUTE: "the approach was sound, and the work with the tools broke down",
    FailureStage.REASON: "the tools worked, and wrong conclusions or calculations spoiled it",
    FailureStage.REFINE: "the result is nearly right, and finer requirements were not met",
    FailureStage.HANDOFF: "the work was done, and its result is missing, misnamed or unusable",
    FailureStage.UNDETERMINED: "the evidence decides for none of these",
}
TYPES: Mapping[FailureType, str] = {
    FailureType.DATA_EXTRACTION: "facts were not found in the sources, or were read wrongly",
    FailureType.REASONING: "a recommendation or its justification does not hold",
    FailureType.CONTENT_SYNTHESIS: "analysis, calculation, summary or narrative is wrong or thin",
    FailureType.FORMATTING: "file format, file name, layout or packaging is wrong",
}
MEANINGS: Mapping[str, str] = {
    "wrong_tool_selection": "a tool was used that cannot do what the step needed",
    "missing_essential_tool": "a call that the task cannot do without was never made",
    "tool_planning_error": "calls were wasted, in a senseless order, or went on after the plan "
    "had failed",
    "parameter_object_selection_error": "a call was aimed at the wrong file, sheet, slide, page, "
    "region or URL",
    "fine_grained_perception": "the agent had a picture, page or recording before it and misread "
    "a detail",
    "visual_spatial_understanding": "places, sizes, overlaps or the geometry of a layout were "
    "misjudged",
    "video_temporal_understanding": "the wrong moment or order of events in a video or recording",
    "cross_modal_fusion": "text, picture and sound that belong together were not brought together",
    "multimodal_hallucination": "content of a picture, page or recording was made up",
    "incomplete_verification": "the agent checked an early or partial state and never the finished "
    "result",
    "handed_back": "the final answer leaves to the user what the agent was to do",
    "dropped_items": "some of the items that the task asks for were left out",
    "lost_context": "the agent forgot or contradicted what it had been told or had found earlier",
}
"""Labels on offer, each with its meaning; docs/failures.md defines them all."""
_VERIFICATION = frozenset(TOOL_USE["self_verification"])
_TAXONOMY = {name: taxonomy for taxonomy, names in LABELS.items() for name in names}


@dataclass(frozen=True)
class Offer:
    """What a model may decide about one trial."""

    stages: tuple[FailureStage, ...]
    """Empty: a rule has decided the stage."""
    types: tuple[FailureType, ...]
    """Empty: a rule has decided the type."""
    labels: tuple[str, ...]

    def meanings(self) -> dict[str, str]:
        """Return the labels on offer with their meanings."""
        return {name: MEANINGS[name] for name in self.labels}


def leaves_open(diagnosis: Diagnosis) -> bool:
    """Return whether a model is asked about the trial: it failed, and something was tried."""
    return diagnosis.stage not in (None, FailureStage.NOT_ATTEMPTED)


def offer_of(diagnosis: Diagnosis) -> Offer:
    """Return what the rules leave open in the diagnosis of a failed trial."""
    given = {label.name for label in diagnosis.labels}
    # Rules have looked at the last state of each file.
    taken = given | (_VERIFICATION if given & _VERIFICATION else set())
    return Offer(
        stages=tuple(STAGES) if diagnosis.stage is FailureStage.UNDETERMINED else (),
        types=tuple(TYPES) if diagnosis.type is None else (),
        labels=tuple(name for name in MEANINGS if name not in taken),
    )


def taxonomy_of(name: str) -> Taxonomy:
    """Return the taxonomy of a label on offer."""
    return _TAXONOMY[name]
