"""What causes of failures are called: sentences that are understood without the code."""

from collections.abc import Mapping

NOT_ATTEMPTED = "Nothing was tried: no tool was called, no file was left and no answer was given"
NO_FILE = "No file was delivered"
SOME_MISSING = "Only some of the files were delivered"
MISNAMED = "A file was delivered under another name than the one asked for"
UNREADABLE = "A file was delivered that cannot be opened as what its name says"
PROGRAM_REFUSED = "The task's own program did not accept the result"
PROGRAM_MISSES_FILE = "A file that the task's own program looks for is not there"
UNKNOWN = "No single cause stands out"
NO_CALL = "no tool was called"
STUCK = "no reply could be read as a tool call"

CHECKS: Mapping[str, str] = {
    "answer_contains": "does not state what was asked for",
    "answer_number": "does not state what was asked for",
    "text_contains": "lacks facts that were asked for",
    "text_matches": "lacks wording that was asked for",
    "text_length": "is too long or too short",
    "headings": "lacks headings that were asked for",
    "table_contains": "has wrong or missing values in its table",
    "table_shape": "has a table of another size than was asked for",
    "xlsx_sheets": "lacks sheets that were asked for",
    "xlsx_cells": "has wrong values in its cells",
    "xlsx_table": "has wrong or missing values in its table",
    "xlsx_columns": "lacks columns that were asked for",
    "xlsx_formulas": "was written without the formulas that were asked for",
    "xlsx_format": "has cells without the format that was asked for",
    "xlsx_charts": "lacks charts that were asked for",
    "xlsx_column_sum": "has a column that does not add up",
    "csv_columns": "lacks columns that were asked for",
    "csv_rows": "has another number of rows than was asked for",
    "csv_table": "has wrong or missing values in its table",
    "csv_unique": "repeats values that must be unique",
    "csv_no_missing": "has empty fields where values were asked for",
    "csv_column_matches": "has values of another form than was asked for",
    "csv_column_sum": "has a column that does not add up",
    "json_values": "has wrong or missing values",
    "json_length": "has another number of entries than was asked for",
    "json_items": "has wrong or missing entries",
    "json_schema": "does not have the structure that was asked for",
    "pptx_slides": "has another number of slides than was asked for",
    "pptx_titles": "lacks slide titles that were asked for",
    "pptx_text_size": "has text that is too small",
    "pptx_words_per_slide": "has too many words on a slide",
    "pptx_text_fits": "has text that runs off its slide",
    "pptx_notes": "lacks speaker notes",
    "pptx_charts": "lacks charts that were asked for",
    "pptx_images": "lacks pictures that were asked for",
    "pptx_slide_contains": "lacks facts on the slide that should have them",
    "file_exists": "is empty, or not of its type",
    "pdf_pages": "has another number of pages than was asked for",
    "pdf_page_contains": "lacks facts on the page that should have them",
    "pdf_page_size": "has pages of another size than was asked for",
    "docx_images": "lacks pictures that were asked for",
    "docx_footer": "lacks the footer that was asked for",
    "html_ids": "lacks elements with the ids that were asked for",
    "html_links": "lacks links that were asked for",
    "html_images": "lacks pictures that were asked for",
    "html_scripts": "has scripts, which were ruled out",
    "html_external": "loads pictures from the network, which was ruled out",
    "html_lang": "does not name its language",
    "image_size": "has another size than was asked for",
    "image_format": "has another format than was asked for",
    "image_colour": "lacks colours that were asked for",
    "image_region": "lacks a colour in the place where it was asked for",
    "image_contrast": "has too little contrast",
    "image_transparency": "lacks transparency, or has it where it was ruled out",
    "audio_duration": "is longer or shorter than was asked for",
    "audio_format": "has another sample rate or number of channels than was asked for",
    "audio_level": "is louder or quieter than was asked for",
    "audio_silence": "has sound where silence was asked for",
    "audio_sound": "is silent where sound was asked for",
    "video_duration": "is longer or shorter than was asked for",
    "video_form": "has another frame size than was asked for, or lacks sound",
}
"""What a file or answer is like that fails a check, by the check's name."""

WHY: Mapping[str, str] = {
    "hallucinated_tool": "a tool was called that does not exist",
    "wrong_tool_selection": "{tool} was used on a kind of file that it does not handle",
    "missing_parameter": "{tool} was called without a required argument",
    "parameter_type_error": "{tool} was called with an argument of the wrong type",
    "hallucinated_parameter": "{tool} was called with an argument that was made up",
    "parameter_object_selection_error": "{tool} was called for something that does not exist",
    "parameter_range_error": "{tool} was called with a value out of range",
    "tool_planning_error": "the same failing call of {tool} was repeated",
    "missing_essential_tool": "a tool that the task needs was never called",
    "malformed_json": "arguments of a call were not valid JSON",
    "loop": "the agent repeated itself without a change",
    "cut_off_reply": "a reply was cut at its length limit",
    "overlong_output": "a tool's result was too long to work with",
    "lost_context": "the agent began again after its context was cut",
    "budget_spent_on_retries": "the budget went into calls that failed",
    "handed_back": "the agent left the rest of the work to the user",
    "premature_stop": "the agent ended its work early",
}
"""Why nothing came of a trial, by the label that says so; the first one that a trial has counts."""

ENDINGS: Mapping[str, str] = {
    "out_of_turns": "the agent ran out of turns",
    "out_of_tokens": "the agent ran out of tokens",
    "out_of_time": "the agent ran out of time",
    "out_of_money": "the agent ran out of money",
    "refused": "the provider refused the conversation",
    "out_of_exchanges": "the talk with the user was not over at its limit",
    "stuck": STUCK,
    "in_error": "the agent's own program failed",
}
"""Why nothing came of a trial that its agent did not end."""
MOST_CALLS_FAILED = "most tool calls failed"


STATE = "state"
"""The type of what a service of the task holds in the end."""


def subject(kind: str | None) -> str:
    """Return what a sentence is about: a file of that type; None: the final answer."""
    if kind == STATE:
        return "The final state of a service"
    return "The answer" if kind is None else f"The {kind.upper()} file"
