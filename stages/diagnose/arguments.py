"""Errors of predicted arguments that are visible in the record (GTA, table 6), atomic tier only.

Each reply counts once: either it had no action, or its action had a fault of form. A reply that the
harness could read has no error, because agents are asked for the harness's format, not the paper's.
"""

import json
import re
from collections import defaultdict

from stages.diagnose.parameters import CUT_OFF
from stages.diagnose.record import Record, Turn, label, of_call
from stages.diagnose.signals import one_line
from taskdata.schema.diagnosis import Evidence, Label, Taxonomy
from taskdata.schema.task import Tier
from taskdata.schema.tool import ToolErrorKind
from taskdata.schema.transcript import Ending

ASKS_USER, NO_ACTION = "asks_user", "no_action"
MALFORMED, SEVERAL, REDUNDANT = "malformed_json", "several_tools", "redundant_text"
REPEATS_PROMPT, WRONG_FORMAT = "repeated_prompt", "wrong_final_format"

_FACT, _LIKELY, _CONCLUDED = 1.0, 0.9, 0.7
_CONFIDENCE = {
    ASKS_USER: _CONCLUDED,
    NO_ACTION: _LIKELY,
    MALFORMED: _FACT,
    SEVERAL: _FACT,
    REDUNDANT: _FACT,
    REPEATS_PROMPT: _LIKELY,
    WRONG_FORMAT: _LIKELY,
}
ASKS = re.compile(
    r"\b(please|could you|can you|would you)( please)? (provide|share|upload|specify|clarify|send|"
    r"tell me|give me|confirm|attach|ensure|make sure)\b|"
    r"\bi need (more|further|additional) (information|details)\b|"
    r"\bwhich .{1,80} (do|would) you (want|mean|prefer)\b",
    re.IGNORECASE,
)
"""Words with which the user is asked for more."""
_SEVERAL = re.compile(r"\bhas \d+ actions\b")
_BROKEN_ACTION = re.compile(
    r"\bAction Input\b.{0,40}\bwithout\b|\bno Action Input\b|names no tool|"
    r"\bdoes not name its arguments\b"
)
_NO_STEP = re.compile(r"\bhas no Action and no Final Answer\b|\bObservation of your own\b")
_FINAL = re.compile(
    r"^[\s*_#>]{0,20}(the )?final[ _]?answer\b|\bfinal[ _]?answer\b[\"'*_ ]{0,4}(:|=|is\b)|"
    r"^\s*(the )?answer( is)?\s*[:=]",
    re.IGNORECASE | re.MULTILINE,
)
_PROTOCOL = re.compile(
    r"^[ \t>*_#]{0,20}(thought|action|action input|observation)[ \t*_]{0,8}:", re.I | re.M
)
_LINE_CHARS = 25
_LINES = 2
_READ_CHARS = 20_000
_TOLD_CHARS = 500


def argument_labels(record: Record) -> tuple[Label, ...]:
    """Return the labels of replies that could not be used, each at most once."""
    if record.task.tier is not Tier.ATOMIC or not record.transcript.calls_are_known:
        return ()
    lines = _long_lines("\n".join(record.prompt))
    found: dict[str, list[Evidence]] = defaultdict(list)
    for turn in record.turns:
        fault = _fault_of_calls(turn) if turn.calls else _fault_of_text(turn, record, lines)
        if fault is not None:
            name, says, call = fault
            found[name].append(Evidence(says=one_line(says), turn=turn.number, call=call))
    return tuple(
        one
        for name, evidence in found.items()
        for one in label(Taxonomy.ARGUMENTS, name, _CONFIDENCE[name], evidence)
    )


def _fault_of_calls(turn: Turn) -> tuple[str, str, str | None] | None:
    """Return label, quoted words and id of the first call whose arguments could not be read."""
    for call in turn.calls:
        event = call.event
        is_unread = event.error is ToolErrorKind.BAD_ARGUMENTS and event.call.arguments is None
        if is_unread and CUT_OFF not in event.text:
            name = REDUNDANT if _begins_with_json(event.call.raw) else MALFORMED
            return name, f"{event.call.tool}: {event.call.raw or event.text}", of_call(call).call
    return None


def _begins_with_json(raw: str) -> bool:
    """Return whether the text begins with valid arguments and has more text after them."""
    written = raw.strip()
    try:
        value, end = json.JSONDecoder().raw_decode(written)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and end < len(written)


def _fault_of_text(
    turn: Turn, record: Record, prompt: frozenset[str]
) -> tuple[str, str, None] | None:
    """Return label and quoted words for a reply without a call; None: it is a valid answer."""
    text = turn.reply.text[:_READ_CHARS]
    is_last = turn.number == len(record.turns)
    if is_last and record.transcript.ending is Ending.FINISHED:
        answer = record.transcript.final_answer
        if _PROTOCOL.search(answer[:_READ_CHARS]):
            return WRONG_FORMAT, f"the final answer holds a step: {answer}", None
        asks = ASKS.search(answer[:_READ_CHARS])
        return (ASKS_USER, answer[asks.start() :], None) if asks else None
    if turn.reply.stop_reason == "length" or not text.strip():
        return None  # a fault of length, not of form
    correction = " ".join(message.text[:_TOLD_CHARS] for message in turn.told)
    if _repeats(text, prompt):
        return REPEATS_PROMPT, text, None
    if _SEVERAL.search(correction):
        return SEVERAL, text, None
    if _BROKEN_ACTION.search(correction):
        return MALFORMED, text, None
    if turn.told and not _NO_STEP.search(correction):
        return None  # a turn in a talk, or an answer after which more was asked for
    if _FINAL.search(text):
        return WRONG_FORMAT, text, None
    asks = ASKS.search(text)
    return (ASKS_USER, text[asks.start() :], None) if asks else (NO_ACTION, text, None)


def _repeats(text: str, prompt: frozenset[str]) -> bool:
    """Return whether most of the reply's long lines, and at least two, are in the prompt."""
    own = _long_lines(text)
    same = own & prompt
    return len(same) >= _LINES and 2 * len(same) >= len(own)


def _long_lines(text: str) -> frozenset[str]:
    lines = (" ".join(line.split()) for line in text.splitlines())
    return frozenset(line for line in lines if len(line) >= _LINE_CHARS)
