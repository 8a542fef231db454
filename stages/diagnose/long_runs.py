"""Faults of long runs that are visible in the record: loops, an early end, wasted effort."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import groupby

from stages.diagnose.lost_context import lost_context
from stages.diagnose.parameters import CUT_OFF
from stages.diagnose.record import Call, Record, Turn, label, of_call
from stages.diagnose.signals import ANSWER, ANY_FILE, one_line
from taskdata.schema.diagnosis import Evidence, Label, Taxonomy
from taskdata.schema.tool_use import ENDING_TOOLS, OVERLONG_CHARS, result_chars
from taskdata.schema.transcript import Ending

_REPEATS = 3
_LEAST_WASTED = 3
_FACT, _LIKELY, _CONCLUDED = 1.0, 0.9, 0.7
_BUDGETS = {
    Ending.OUT_OF_TURNS,
    Ending.OUT_OF_TOKENS,
    Ending.OUT_OF_TIME,
    Ending.OUT_OF_MONEY,
    Ending.OUT_OF_EXCHANGES,
}
_VERBS = (
    "(add|build|calculate|compile|complete|continue|copy|create|extend|fill|finish|generate|insert|"
    "paste|repeat|save|write)"
)
_HANDS_BACK = re.compile(
    r"\b(you|the user) ((can|could|may) (then|now|still|also|manually|simply)|should|need to|"
    rf"will need to|would need to|must|have to) (then |now |still |also |manually )?{_VERBS}\b|"
    r"\b(would|do) you (like|want) me to\b|\bshall i\b|\bshould i (go on|continue|proceed)\b",
    re.IGNORECASE,
)
"""Counts only if a deliverable is missing; otherwise it may be advice or an offer."""
_LEAVES_THE_REST = re.compile(
    r"\b(the )?(rest|remaining) .{0,40}(left|up) (to|for) you\b|"
    r"\bfollow the same (pattern|steps|approach) for\b",
    re.IGNORECASE,
)
_TOO_FEW = re.compile(
    r"\b(?P<found>\d+) (?P<what>[a-z]+(?: [a-z]+)?)[;,] expected "
    r"(?P<least>at least )?(?P<asked>\d+)(?![\d.%]| %)"
)
_ANSWER_CHARS = 20_000


def long_run_labels(record: Record) -> tuple[Label, ...]:
    """Return the labels of long runs that fit a failed trial, each at most once."""
    dropped = _label("dropped_items", _LIKELY, _too_few(record))
    if not record.transcript.calls_are_known:
        return (*_early_end(record), *dropped)
    return (
        *_loops(record),
        *_early_end(record),
        *dropped,
        *_label("overlong_output", _FACT, _overlong(record.calls)),
        *_label("cut_off_reply", _FACT, _cut_off(record)),
        *_label("lost_context", _CONCLUDED, lost_context(record)),
        *_wasted_budget(record),
    )


def _loops(record: Record) -> tuple[Label, ...]:
    sure = (*_repeated_calls(record), *_repeated_replies(record))
    return _label("loop", _FACT, sure) or _label("loop", _CONCLUDED, _repeats_at_the_end(record))


def _repeats_at_the_end(record: Record) -> list[Evidence]:
    """Return the last call if the last turn had just repeated it when a limit ended the run."""
    calls = record.calls[-2:]
    if (
        record.transcript.ending not in _BUDGETS
        or len(calls) < 2
        or _key(calls[0]) != _key(calls[1])
        or calls[1].turn != (len(record.turns) or None)
    ):
        return []
    told = "called again with the same arguments and result, then a limit was reached"
    return [of_call(calls[1], told)]


def _key(call: Call) -> tuple[str, str, str]:
    """Return a key that is equal for calls with the same tool, arguments and result."""
    return call.event.call.tool, call.written, call.event.text


def _repeated_calls(record: Record) -> list[Evidence]:
    """Return the last of each group of equal calls with the same result.

    A call that follows on a change of a file by another call is no repetition.
    """
    seen: Counter[tuple[str, str, str]] = Counter()
    looping: dict[tuple[str, str, str], tuple[Call, int]] = {}
    for call in record.calls:
        key = _key(call)
        if call.event.files and not seen[key]:
            seen.clear()
        seen[key] += 1
        if seen[key] >= _REPEATS and seen[key] > looping.get(key, (call, 0))[1]:
            looping[key] = (call, seen[key])
    return [
        of_call(call, f"called {times} times with the same arguments and the same result")
        for call, times in looping.values()
    ]


def _repeated_replies(record: Record) -> Iterator[Evidence]:
    """Yield the last of several equal, consecutive replies without a tool call."""
    for said, group in groupby(record.turns, key=_idle_text):
        same = list(group)
        if said is not None and len(same) >= _REPEATS:
            yield Evidence(says=f"the same reply {len(same)} times in a row", turn=same[-1].number)


def _idle_text(turn: Turn) -> str | None:
    return None if turn.calls else turn.reply.text.strip() or None


def _early_end(record: Record) -> tuple[Label, ...]:
    """Return the label if the agent itself ended its work too early."""
    if record.transcript.ending is not Ending.FINISHED or record.signals.tried_nothing:
        return ()
    last = len(record.turns) or None
    answer = record.transcript.final_answer[:_ANSWER_CHARS]
    match = _LEAVES_THE_REST.search(answer)
    if match is None and (record.signals.undelivered or not record.task.deliverables):
        match = _HANDS_BACK.search(answer)
    if match is not None:
        said = Evidence(says=one_line(_around(match)), turn=last)
        return _label("handed_back", _CONCLUDED, [said])
    missing = [
        Evidence(
            says=f"the agent ended its work without {name}",
            turn=last,
            deliverable=None if name in (ANSWER, ANY_FILE) else name,
        )
        for name in record.signals.missing
        if not record.signals.misnamed
    ]
    return _label("premature_stop", _LIKELY, missing)


def _too_few(record: Record) -> Iterator[Evidence]:
    """Yield the failed leaves whose check counted fewer items than the task asks for."""
    for leaf_id, leaf in record.failed_leaves.items():
        match = _TOO_FEW.search(leaf.reason) if leaf.verifier.startswith("check:") else None
        if match is not None and 0 < int(match["found"]) < int(match["asked"]):
            asked = f"{match['least'] or ''}{match['asked']}"
            told = f"{asked} {match['what']} asked for, {match['found']} delivered"
            yield Evidence(says=told, leaf=leaf_id)


def _overlong(calls: Iterable[Call]) -> Iterator[Evidence]:
    for call in calls:
        length = result_chars(call.event)
        if length > OVERLONG_CHARS:
            yield of_call(call, f"a result of {length} characters")


def _cut_off(record: Record) -> Iterator[Evidence]:
    for turn in record.turns:
        cut = [call for call in turn.calls if CUT_OFF in call.event.text]
        if cut:
            yield of_call(cut[0])
        elif turn.reply.stop_reason == "length":
            yield Evidence(says="the reply was cut at its length limit", turn=turn.number)


def _wasted_budget(record: Record) -> tuple[Label, ...]:
    """Return the label if at least half of a spent budget's turns had no successful call."""
    if record.transcript.ending not in _BUDGETS:
        return ()
    wasted = [turn for turn in record.turns if _brought_nothing(turn)]
    if len(wasted) < _LEAST_WASTED or 2 * len(wasted) < len(record.turns):
        return ()
    told = f"{len(wasted)} of {len(record.turns)} turns had no call that succeeded"
    return _label("budget_spent_on_retries", _LIKELY, [Evidence(says=told, turn=wasted[0].number)])


def _brought_nothing(turn: Turn) -> bool:
    own = [call.event for call in turn.calls if call.event.call.tool not in ENDING_TOOLS]
    return all(event.error is not None for event in own)


def _around(match: re.Match[str]) -> str:
    start = max(0, match.start() - 40)
    return match.string[start : match.end() + 80]


def _label(name: str, confidence: float, evidence: Iterable[Evidence]) -> tuple[Label, ...]:
    return label(Taxonomy.LONG_RUN, name, confidence, evidence)
