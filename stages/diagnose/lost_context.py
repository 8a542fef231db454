"""Lost context: what an agent does again, or asks for, after earlier turns were left out.

The harness leaves out turns that do not fit the model's context, and tells the agent so.
An agent may look at one thing again; who repeats more, or asks for what it was given, has lost it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from stages.diagnose.arguments import ASKS
from stages.diagnose.record import Call, Record, of_call
from stages.diagnose.signals import one_line
from taskdata.schema.diagnosis import Evidence
from taskdata.schema.transcript import MessageEvent, ModelEvent

_LEAST_REPEATED = 2
_CUT = re.compile(r"^To fit the context, all (turns )?but the last (?P<kept>\d+)( turns)?")
_ALSO_SHORTENED = "the middle of long texts"
_READ_CHARS = 20_000


@dataclass(frozen=True)
class _Cut:
    """A place where turns were left out of the agent's context."""

    turn: int
    """Number of the model call before it."""
    forgotten: int
    """Number of the last turn that was left out of the context, wholly or in part."""


def lost_context(record: Record) -> list[Evidence]:
    """Return what the agent repeated or asked for after its context was cut; empty: nothing."""
    cuts = list(_cuts(record))
    if not cuts:
        return []
    repeated = list(_repeated(record, cuts))
    found = [
        of_call(call, "the same call as before earlier turns were left out of the context")
        for call in repeated
        if len(repeated) >= _LEAST_REPEATED
    ]
    return [*found, *_asked(record, cuts[0])]


def _cuts(record: Record) -> Iterator[_Cut]:
    turn = 0
    for event in record.transcript.events:
        turn += isinstance(event, ModelEvent)
        if isinstance(event, MessageEvent) and event.role == "system":
            match = _CUT.match(event.text)
            if match is not None:
                kept = 0 if _ALSO_SHORTENED in event.text else int(match["kept"])
                yield _Cut(turn, turn - kept)


def _repeated(record: Record, cuts: list[_Cut]) -> Iterator[Call]:
    """Yield the first repetition of each successful call that had been forgotten."""
    seen: set[tuple[str, str]] = set()
    for call in record.calls:
        key = call.event.call.tool, call.written
        if call.event.error is not None or key in seen or call.turn is None:
            continue
        before = [cut for cut in cuts if cut.turn < call.turn]
        if before and key in _forgotten(record, before[-1]):
            seen.add(key)
            yield call


def _forgotten(record: Record, cut: _Cut) -> set[tuple[str, str]]:
    return {
        (call.event.call.tool, call.written)
        for call in record.calls
        if call.event.error is None and call.turn is not None and call.turn <= cut.forgotten
    }


def _asked(record: Record, cut: _Cut) -> Iterator[Evidence]:
    """Yield the replies without a call after the cut in which the agent asks for something."""
    for turn in record.turns[cut.turn :]:
        asks = ASKS.search(turn.reply.text[:_READ_CHARS]) if not turn.calls else None
        if asks is not None:
            yield Evidence(says=one_line(turn.reply.text[asks.start() :]), turn=turn.number)
