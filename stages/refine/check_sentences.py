"""What feedback says about a leaf that a check scored: one sentence, without any value.

A check's finding says how many parts are right and what is not there. The sentence names the file
if the task does, and never an argument of the check, such as how many images are asked for.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from stages.diagnose.signals import LeafSignal, Signals
from stages.refine.policy import Policy
from taskdata.schema.checkpoint import Check, Judge, ToolResultCheck, checked_by_code
from taskdata.schema.scores import CheckFinding, Shortcoming


class Counted(StrEnum):
    """What the numbers of a finding mean."""

    ASKED = "asked"
    """Parts that the task asks for: their number is told only where the policy allows it."""
    DELIVERED = "delivered"
    """Parts that the agent delivered, so it knows their number."""
    ARGUMENT = "argument"
    """How many are asked for is an argument of the check, and is not told."""


@dataclass(frozen=True)
class Told:
    """The words for one check."""

    counted: Counted
    parts: str
    """Parts that are counted, as in `2 of 5 <parts>`."""
    fault: str = ""
    """What is said where the check counts nothing; empty: nothing more than the requirement."""
    few: str = ""
    many: str = ""


def _asked(parts: str, many: str = "") -> Told:
    return Told(Counted.ASKED, parts, many=many)


def _delivered(parts: str) -> Told:
    return Told(Counted.DELIVERED, parts)


def _argument(fault: str, few: str = "") -> Told:
    return Told(Counted.ARGUMENT, "", fault, few)


def _amount(few: str, many: str) -> Told:
    return Told(Counted.ARGUMENT, "", "", few, many)


_ROWS, _VALUES = "more rows than expected", "values looked at are right"
TOLD: Mapping[str, Told] = {
    "answer_contains": _argument("something that it should state is missing or wrong"),
    "answer_number": _argument("the number that it states is not right"),
    "text_contains": _asked("statements looked for are there"),
    "text_matches": _argument("only a part of what is looked for is there"),
    "text_length": _amount("the text is too short", "the text is too long"),
    "headings": _asked("headings looked for are there", "too many headings"),
    "table_contains": _asked(_VALUES, _ROWS),
    "table_shape": _asked("demands on columns and number of rows are met", "too many columns"),
    "xlsx_sheets": _asked("sheets are as asked", "too many sheets"),
    "xlsx_cells": _asked("cells looked at are right"),
    "xlsx_table": _asked(_VALUES, _ROWS),
    "xlsx_columns": _asked("demands on columns and number of rows are met", "too many columns"),
    "xlsx_formulas": _argument("too few cells have a formula of the kind asked for"),
    "xlsx_format": _delivered("cells looked at have the right format"),
    "xlsx_charts": _argument("charts are missing, or one of a kind that is asked for"),
    "xlsx_column_sum": _argument("a column does not add up to the right total"),
    "csv_columns": _asked("columns are there", "too many columns"),
    "csv_rows": _amount("it has too few rows", "it has too many rows"),
    "csv_table": _asked(_VALUES, _ROWS),
    "csv_unique": _argument("some rows repeat others that they should differ from"),
    "csv_no_missing": _argument("some cells are empty that should not be"),
    "csv_column_matches": _delivered("values in a column have the right form"),
    "csv_column_sum": _argument("a column does not add up to the right total"),
    "json_values": _asked(_VALUES),
    "json_length": _amount("a list has too few items", "a list has too many items"),
    "json_items": _asked(_VALUES, "more items than expected"),
    "json_schema": _argument("its structure is not the one asked for"),
    "pptx_slides": _amount("there are too few slides", "there are too many slides"),
    "pptx_titles": _asked("slide titles looked for are there", "too many slides"),
    "pptx_text_size": _delivered("texts on the slides are large enough"),
    "pptx_words_per_slide": _delivered("slides have few enough words"),
    "pptx_text_fits": _delivered("slides have text that fits where it stands"),
    "pptx_notes": _delivered("slides have notes that are long enough"),
    "pptx_charts": _argument("there are too few charts that can be edited"),
    "pptx_images": _argument("there are too few pictures"),
    "pptx_slide_contains": _asked("statements looked for are on the slide"),
    "pdf_pages": _amount("there are too few pages", "there are too many pages"),
    "pdf_page_contains": _asked("statements looked for are on the page"),
    "pdf_page_size": _delivered("pages have the right size"),
    "docx_images": _argument("there are too few pictures"),
    "docx_footer": _asked("statements looked for are in the footer"),
    "html_ids": _asked("elements looked for have their id", "too many ids"),
    "html_links": _asked("links looked for are there", "too many links"),
    "html_images": _argument("there are too few pictures"),
    "html_scripts": _amount("", "the page runs too many scripts"),
    "html_external": _amount("", "the page loads pictures from the network"),
    "html_lang": _argument("the page does not state the right language"),
    "image_size": _argument("its width or height is not right"),
    "image_format": _argument("it is not in the right format"),
    "image_colour": _argument("a colour covers too much or too little of it"),
    "image_region": _argument("a part of it has not the right colour"),
    "image_contrast": _argument("it has too little contrast"),
    "image_transparency": _argument("its transparency is not as asked"),
    "audio_duration": _amount("it is too short", "it is too long"),
    "audio_format": _argument("its sample rate or number of channels is not right"),
    "audio_level": _argument("it is too loud or too quiet"),
    "audio_silence": _argument("a part is not silent that should be", few="it is too short"),
    "audio_sound": _argument("a part is too quiet", few="it is too short"),
    "video_duration": _amount("it is too short", "it is too long"),
    "video_form": _argument("its size or its sound is not right"),
}
"""What is said about each check of the library that has a safe sentence."""

_SHORTCOMINGS: Mapping[Shortcoming, str] = {
    Shortcoming.NO_TABLE: "there is no table",
    Shortcoming.NO_COLUMN: "a column that is looked for is not there",
    Shortcoming.NO_ROWS: "there are no rows",
    Shortcoming.NO_VALUES: "the cells looked at are empty or have no numbers",
    Shortcoming.NO_LIST: "a list that is looked for is not there",
    Shortcoming.NO_TEXT: "there is no text",
    Shortcoming.NO_PAGE: "a page that is looked for is not there",
    Shortcoming.NO_SLIDE: "a slide that is looked for is not there",
    Shortcoming.NO_SOUND: "there is nothing to be heard",
    Shortcoming.NO_NUMBER: "it states no number",
    Shortcoming.HEAP: "the text is a heap of words without sentences",
    Shortcoming.FORBIDDEN: "it states something that is wrong or must not be there",
    Shortcoming.UNDECIDED: "it names so many candidates that it states none",
}


def check_sentence(leaf: LeafSignal, signals: Signals, policy: Policy) -> str:
    """Return what a user could say about a leaf that does not hold; empty if there is nothing."""
    verifier = leaf.checkpoint.verifier
    if isinstance(verifier, ToolResultCheck):
        return "No call of a tool gave what this needs."
    check = checked_by_code(verifier)
    names: tuple[str, ...] = verifier.deliverables if isinstance(verifier, Judge) else ()
    if check is not None and check.deliverable is not None:
        names = (check.deliverable,)
    if leaf.undelivered:
        return " ".join(_undelivered(names, signals)) or "There is no final answer."
    if check is None or leaf.finding is None:
        return ""
    said = _said(check, leaf.finding, policy)
    return f"{_where(check, policy)}: {said}." if said else ""


def _undelivered(names: tuple[str, ...], signals: Signals) -> Iterator[str]:
    for name in names:
        if name in signals.unreadable:
            yield f"{name} could not be opened."
        elif name in signals.missing:
            yield f"{name} is missing."


def _where(check: Check, policy: Policy) -> str:
    if check.deliverable is None:
        return "The final answer"
    return check.deliverable if policy.may_name(check.deliverable) else "The file"


def _said(check: Check, finding: CheckFinding, policy: Policy) -> str:
    told = TOLD.get(check.name)
    if told is None:
        return ""
    amounts = {Shortcoming.TOO_FEW: told.few, Shortcoming.TOO_MANY: told.many}
    faults = [amounts.get(one) or _SHORTCOMINGS.get(one, "") for one in finding.shortcomings]
    said = [_count(told, finding, policy), *faults]
    if not any(said):
        said = [told.fault]
    sheet = str(check.args.get("sheet") or "")
    if sheet and (any(said) or Shortcoming.NO_SHEET in finding.shortcomings):
        said = [*_on_sheet(sheet, finding, policy), *said]
    return "; ".join(filter(None, said))


def _on_sheet(sheet: str, finding: CheckFinding, policy: Policy) -> Iterator[str]:
    """Yield that a sheet is there or not; its name is told only where the task states it."""
    named = f"sheet {sheet}" if policy.may_name(sheet) else ""
    if Shortcoming.NO_SHEET not in finding.shortcomings:
        yield f"{named or 'the sheet'} is there"
    else:
        yield f"{named or 'a sheet that is looked for'} is not there"


def _count(told: Told, finding: CheckFinding, policy: Policy) -> str:
    if told.counted is Counted.ARGUMENT or finding.right is None or finding.asked is None:
        return ""
    if finding.right == finding.asked:
        return f"all {told.parts}"
    if told.counted is Counted.DELIVERED:
        return f"{finding.right or 'none'} of {finding.asked} {told.parts}"
    return f"{policy.count(finding.right, finding.asked)} {told.parts}"
