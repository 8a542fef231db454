"""What feedback says about a diagnosis: a plain sentence for its stage, type and each label."""

import re
from collections.abc import Iterable, Iterator, Mapping

from stages.diagnose.signals import Signals, one_line
from stages.refine.policy import Policy
from taskdata.schema.diagnosis import (
    Diagnosis,
    Evidence,
    FailureStage,
    FailureType,
    Label,
    Taxonomy,
)

EVIDENCE_NAMED = 2
"""Pieces of evidence that are told for one label."""
_QUOTE_LENGTH = 120
_BY_RULES = re.compile(r"rules@\d+(\+.+)?")

STAGES: Mapping[FailureStage, str] = {
    FailureStage.NOT_ATTEMPTED: (
        "You tried nothing: you called no tool, left no file and gave no answer."
    ),
    FailureStage.PLAN: "You did not begin the work: no step led toward what was asked for.",
    FailureStage.EXECUTE: "The work broke down while you carried it out",
    FailureStage.HANDOFF: (
        "Most of what is wrong is that files did not arrive as asked: they are missing, have "
        "another name or cannot be opened."
    ),
    FailureStage.REFINE: "Most of it is right, but finer points are not.",
    FailureStage.REASON: "The work was delivered, but most of what is wrong is its content.",
    FailureStage.UNDETERMINED: "It is not clear at which stage the work broke down.",
}
TYPES: Mapping[FailureType, str] = {
    FailureType.NOT_ATTEMPTED: "What was asked for is not there.",
    FailureType.DATA_EXTRACTION: "Most was lost on facts that had to be taken from the sources.",
    FailureType.REASONING: "Most was lost on recommendations and the reasons for them.",
    FailureType.CONTENT_SYNTHESIS: "Most was lost on analysis, computation and what is written.",
    FailureType.FORMATTING: "Most was lost on form: files, names, parts and layout.",
}
LABELS: Mapping[Taxonomy, Mapping[str, str]] = {
    Taxonomy.TOOL_USE: {
        "wrong_tool_selection": "You used a tool that cannot do this",
        "missing_essential_tool": "You did not call a tool that the work needs",
        "tool_planning_error": "You repeated a call that had failed, without a change",
        "hallucinated_tool": "You called a tool that does not exist",
        "parameter_type_error": "You called a tool with arguments of the wrong type",
        "parameter_range_error": "You asked for a place that is beyond the end of the file",
        "parameter_object_selection_error": "You asked for a file, sheet or page that is not there",
        "missing_parameter": "You left out an argument that the tool requires",
        "hallucinated_parameter": "You used an argument or a value that you made up",
        "fine_grained_perception": "You misread details that you looked at",
        "visual_spatial_understanding": "You misjudged places, sizes or overlaps in a picture",
        "video_temporal_understanding": "You misjudged the moments of a video",
        "cross_modal_fusion": "You did not bring together what different sources say",
        "multimodal_hallucination": "You described something that the sources do not show",
        "no_verification": "You did not look at the file after you changed it last",
        "pseudo_verification": "You listed or read the file, and never looked at what it shows",
        "incomplete_verification": "You did not look again at a file that you had changed",
        "false_positive": "You took a step for failed that had not failed",
        "mcp_issue": "A server that you used failed",
        "agent_base_model_issue": "The conversation was refused",
    },
    Taxonomy.LONG_RUN: {
        "loop": "You did the same again and again, with the same result",
        "premature_stop": "You stopped before everything was delivered",
        "handed_back": "You left a part of the work to the user",
        "dropped_items": "You delivered fewer items than were asked for",
        "overlong_output": "A tool gave you far more text than you can use",
        "cut_off_reply": "A reply of yours was too long and was cut off",
        "lost_context": "You did again, or asked for, what you had had before",
        "budget_spent_on_retries": "You spent most of your turns on calls that did not succeed",
    },
    Taxonomy.ARGUMENTS: {
        "asks_user": "You asked the user for more instead of going on",
        "no_action": "You thought aloud without taking a step",
        "malformed_json": "The arguments of a call could not be read",
        "several_tools": "You called several tools where one was asked for",
        "redundant_text": "Text after the arguments of a call made them unreadable",
        "repeated_prompt": "You repeated your instructions",
        "wrong_final_format": "Your final answer is not in the required form",
    },
}
"""By label; a trial that was lost for a reason outside its agent gets no feedback."""
BY_MODEL: Mapping[str, str] = {
    "tool_planning_error": "Some of your calls led nowhere, or followed a plan that had failed",
    "parameter_object_selection_error": "You worked on the wrong file, sheet, page or region",
}
"""Labels that mean more where a model gave them than what rules recognise."""
QUOTED = frozenset(
    {
        "wrong_tool_selection",
        "tool_planning_error",
        "hallucinated_tool",
        "parameter_type_error",
        "parameter_range_error",
        "parameter_object_selection_error",
        "missing_parameter",
        "hallucinated_parameter",
        "loop",
        "handed_back",
        "overlong_output",
        "cut_off_reply",
        "lost_context",
        "budget_spent_on_retries",
        *LABELS[Taxonomy.ARGUMENTS],
    }
)
"""Labels whose evidence by rules consists of what the agent said or a tool told it.

The evidence of the others may say what a verifier expects, so only its place is told.
"""


def stage_sentences(diagnosis: Diagnosis, signals: Signals) -> Iterator[str]:
    """Yield what can be said about stage and type."""
    # Signals say how the work broke down only where a rule concluded from them that it did.
    if diagnosis.stage is FailureStage.EXECUTE and not diagnosis.is_by_model("stage"):
        yield f"{STAGES[diagnosis.stage]}: {_breakdown(signals)}."
    elif diagnosis.stage is not None:
        yield f"{STAGES[diagnosis.stage].removesuffix('.')}."
    tried = diagnosis.stage is not FailureStage.NOT_ATTEMPTED
    if diagnosis.type is not None and tried:
        yield TYPES[diagnosis.type]


def _breakdown(signals: Signals) -> str:
    if 2 * signals.failed_calls > signals.calls:
        return f"{signals.failed_calls} of {signals.calls} calls of tools failed"
    if signals.failures_at_end:
        return "it ended on calls that failed"
    return "it ended before everything was delivered"


def label_sentence(label: Label, diagnosis: Diagnosis, signals: Signals, policy: Policy) -> str:
    """Return a sentence for a label with the places of its evidence; empty if it has none."""
    sentence = LABELS.get(label.taxonomy, {}).get(label.name, "")
    if not sentence:
        return ""
    if label.by is not None:
        sentence = BY_MODEL.get(label.name, sentence)
    by_rules = label.by is None and _BY_RULES.fullmatch(diagnosis.labeller) is not None
    may_quote = label.name in QUOTED and by_rules
    places: dict[str, list[str]] = {}
    for evidence in label.evidence[:EVIDENCE_NAMED]:
        words = one_line(policy.quote(evidence.says), _QUOTE_LENGTH) if may_quote else ""
        places.setdefault(words, []).append(_place(evidence, signals, policy))
    told = (": ".join(filter(None, (_joined(where), words))) for words, where in places.items())
    shown = "; ".join(filter(None, told))
    return f"{sentence} ({shown})." if shown else f"{sentence}."


def _joined(places: Iterable[str]) -> str:
    return " and ".join(dict.fromkeys(filter(None, places)))


def _place(evidence: Evidence, signals: Signals, policy: Policy) -> str:
    leaves = {leaf.checkpoint.id: leaf.checkpoint for leaf in signals.leaves}
    place = []
    if evidence.turn is not None:
        place.append(f"turn {evidence.turn}")
    if evidence.deliverable is not None and policy.may_name(evidence.deliverable):
        place.append(evidence.deliverable)
    if evidence.leaf in leaves:
        place.append(f"for: {one_line(policy.requirement(leaves[evidence.leaf]))}")
    return ", ".join(place)
