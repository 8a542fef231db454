"""The type of failure that a leaf stands for (GTA-2, appendix .4, table 9).

Data extraction is about getting facts out of sources, reasoning about recommendations and their
justification, content synthesis about analysis, computation and narrative, formatting about files,
names, layout and the like. A leaf about something that was not delivered under any name has none of
these types: it was not attempted. The type of a trial is the one that cost the most points.
"""

import re
from collections import defaultdict
from collections.abc import Iterable

from stages.diagnose.signals import LeafSignal
from taskdata.schema.checkpoint import Checkpoint, ToolResultCheck, checked_by_code
from taskdata.schema.diagnosis import FailureType
from taskdata.schema.self_verification import LOOKING_TOOLS

FORM_CHECKS = frozenset(
    [
        "file_exists",
        "headings",
        "table_shape",
        "xlsx_sheets",
        "xlsx_columns",
        "xlsx_format",
        "xlsx_charts",
        "csv_columns",
        "csv_rows",
        "csv_unique",
        "csv_no_missing",
        "csv_column_matches",
        "json_schema",
        "json_length",
        "pptx_slides",
        "pptx_titles",
        "pptx_text_fits",
        "pptx_text_size",
        "pptx_words_per_slide",
        "pptx_notes",
        "pptx_charts",
        "pptx_images",
        "pdf_pages",
        "pdf_page_size",
        "docx_images",
        "docx_footer",
        "html_ids",
        "html_links",
        "html_images",
        "html_scripts",
        "html_lang",
        "html_external",
        "image_size",
        "image_format",
        "image_colour",
        "image_region",
        "image_contrast",
        "image_transparency",
        "audio_duration",
        "audio_format",
        "audio_level",
        "audio_silence",
        "audio_sound",
        "video_duration",
        "video_form",
    ]
)
FACT_CHECKS = frozenset(
    [
        "answer_contains",
        "text_contains",
        "text_matches",
        "pdf_page_contains",
        "pptx_slide_contains",
        "json_values",
        "json_items",
    ]
)
_LOOKS = LOOKING_TOOLS | {"view_file"}
_REASONING = re.compile(r"\b(recommend|justif|rational|trade-?off|argue|reasons?\b)", re.IGNORECASE)
_SOURCES = re.compile(r"\b(cit(es?|ed|ation)|sources?|quot(es?|ed)|extracts?)\b", re.IGNORECASE)
_LAYOUT = re.compile(r"\b(layout|legible|readable|typograph|format|visual)", re.IGNORECASE)


def leaf_type(leaf: Checkpoint) -> FailureType:
    """Return the type of failure if this leaf does not hold.

    It follows from the name of the leaf's check, or from the words of the requirement if the name
    does not tell.
    """
    verifier = leaf.verifier
    if isinstance(verifier, ToolResultCheck):
        # What a look would have shown is how the work looks.
        is_a_look = bool(_LOOKS & set(verifier.tools))
        return FailureType.FORMATTING if is_a_look else FailureType.DATA_EXTRACTION
    check = checked_by_code(verifier)
    if check is not None and check.name in FORM_CHECKS:
        return FailureType.FORMATTING
    if _REASONING.search(leaf.requirement):
        return FailureType.REASONING
    if check is not None:
        facts = check.name in FACT_CHECKS
        return FailureType.DATA_EXTRACTION if facts else FailureType.CONTENT_SYNTHESIS
    if _SOURCES.search(leaf.requirement):
        return FailureType.DATA_EXTRACTION
    if _LAYOUT.search(leaf.requirement):
        return FailureType.FORMATTING
    return FailureType.CONTENT_SYNTHESIS


def costliest_type(leaves: Iterable[LeafSignal], is_handoff: bool) -> FailureType | None:
    """Return the type that cost the most points; None if nothing was lost.

    A deliverable that did not arrive under any name counts as not attempted. One that arrived and
    could not be examined (misnamed, unreadable, refused) counts as formatting in a handoff failure;
    otherwise it counts as the type of the leaf, since the work behind it is missing too.
    """
    lost: dict[FailureType, float] = defaultdict(float)
    for leaf in leaves:
        lost[_type_of(leaf, is_handoff)] += leaf.lost
    worst = max(lost, key=lambda kind: lost[kind], default=None)
    return worst if worst is not None and lost[worst] > 0 else None


def _type_of(leaf: LeafSignal, is_handoff: bool) -> FailureType:
    if leaf.absent:
        return FailureType.NOT_ATTEMPTED
    if is_handoff and leaf.undelivered:
        return FailureType.FORMATTING
    return leaf_type(leaf.checkpoint)
