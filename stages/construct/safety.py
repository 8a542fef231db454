"""Keeps personal data out of what a model writes, where the policy is to mask it.

Where the policy is quarantine, such data breaks a rule of `rules.wording` instead: the model mends
the draft, or the candidate goes.
"""

from quality.safety.personal import masked
from taskdata.schema.checkpoint import Checkpoint, Judge
from taskdata.schema.construct import TaskDraft
from taskdata.schema.safety import SafetyRules


def masked_draft(draft: TaskDraft, rules: SafetyRules) -> TaskDraft:
    """Return the draft with personal data masked in its texts, where that is the policy.

    Arguments of checks stay as they are: they are compared with deliverables. What the model wrote
    was masked as a whole before (`asking.masking`); this finds what older recorded replies hold.
    """
    if rules.personal_data != "mask":
        return draft

    def mask(text: str) -> str:
        return masked(text, rules.allowed_personal_data)

    specs = tuple(
        spec.model_copy(update={"description": mask(spec.description)})
        for spec in draft.deliverables
    )
    return draft.model_copy(
        update={
            "title": mask(draft.title),
            "query": mask(draft.query),
            "deliverables": specs,
            "checkpoints": _masked_tree(draft.checkpoints, rules),
        }
    )


def _masked_tree(node: Checkpoint, rules: SafetyRules) -> Checkpoint:
    allowed, verifier = rules.allowed_personal_data, node.verifier
    if isinstance(verifier, Judge):
        verifier = verifier.model_copy(update={"rubric": masked(verifier.rubric, allowed)})
    return node.model_copy(
        update={
            "requirement": masked(node.requirement, allowed),
            "verifier": verifier,
            "children": tuple(_masked_tree(child, rules) for child in node.children),
        }
    )
