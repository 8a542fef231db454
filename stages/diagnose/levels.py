"""The level of a requirement (GTA-2, section 5.3.3): A leaf, B composition, C deliverable.

The paper classifies requirements with a model; here the check's name and the requirement's words
decide. Level C is about the final file: its form, its parts, its name. Level B is about parts that
have to fit together, in one file or across several. Level A is any other, local requirement.
"""

import re

from stages.diagnose.failure_types import leaf_type
from taskdata.schema.checkpoint import Checkpoint, Judge
from taskdata.schema.diagnosis import FailureType
from taskdata.schema.failures import RequirementLevel

_TOGETHER = re.compile(
    r"\b(consisten(t|cy)|coheren(t|ce|tly)|integrat\w+|combine[sd]?|combining|across|cross-check\w*|"
    r"reconcil\w+|agrees? with|overall|as a whole|fit together|the same .{1,60} as in|both files|"
    r"adds? up to|follows? from)\b",
    re.IGNORECASE,
)


def requirement_level(leaf: Checkpoint) -> RequirementLevel:
    """Return the level of the leaf's requirement."""
    if leaf_type(leaf) is FailureType.FORMATTING:
        return RequirementLevel.DELIVERABLE
    verifier = leaf.verifier
    is_about_several = isinstance(verifier, Judge) and len(verifier.deliverables) > 1
    if is_about_several or _TOGETHER.search(leaf.requirement):
        return RequirementLevel.COMPOSITION
    return RequirementLevel.LEAF
