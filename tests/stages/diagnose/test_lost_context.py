from collections.abc import Callable

import pytest

from stages.diagnose.long_runs import long_run_labels
from stages.diagnose.record import Record
from taskdata.schema.transcript import Event, MessageEvent
from tests.stages.diagnose.played import REFUSED, called, named, replied, told

Failed = Callable[..., Record]
RULES = called("read_file", {"path": "rules.md"}, text="rules")
LOG = called("read_file", {"path": "log.txt"}, text="log")
PLAN = called("ReadXLSX", {"path": "plan.xlsx"}, text="plan")
GONE = called("read_file", {"path": "gone.txt"}, text="no", error=REFUSED)


def left_out(kept: int, is_shortened: bool = False) -> MessageEvent:
    what = f"all turns but the last {kept} were left out"
    if is_shortened:
        what = f"all but the last {kept} turns, and the middle of long texts, were left out"
    return told(
        f"To fit the context, {what}. search_history finds what happened in them.", "system"
    )


@pytest.mark.parametrize(
    ("before", "cut", "after", "calls"),
    [
        ([RULES, LOG, PLAN], left_out(1), [RULES, LOG], 2),
        # The second is still there.
        ([RULES, LOG, PLAN], left_out(2), [RULES, LOG], 0),
        ([RULES, LOG, PLAN], left_out(2, is_shortened=True), [RULES, LOG], 2),
        # Who looks at one thing again may need it.
        ([RULES, LOG, PLAN], left_out(1), [RULES, RULES], 0),
        # What failed before has given nothing that could be lost.
        ([RULES, GONE, PLAN], left_out(1), [RULES, GONE], 0),
        ([RULES, LOG, PLAN], told("Go on.", "system"), [RULES, LOG], 0),
    ],
)
def test_an_agent_that_repeats_forgotten_calls_has_lost_its_context(
    failed: Failed, before: list[Event], cut: Event, after: list[Event], calls: int
):
    spread = [event for call in (*before, cut, *after) for event in _with_reply(call)]
    labels = named(long_run_labels(failed(*spread)))
    found = labels["lost_context"].evidence if "lost_context" in labels else ()
    assert len(found) == calls
    assert all(one.turn > len(before) for one in found)


def _with_reply(event: Event) -> list[Event]:
    return [event] if isinstance(event, MessageEvent) else [replied(), event]


def test_an_agent_that_asks_for_what_it_was_given_has_lost_its_context(failed: Failed):
    asks = replied("Could you please send me the rules?")
    cut = [replied(), RULES, left_out(0)]
    lost = named(long_run_labels(failed(*cut, asks)))
    assert lost["lost_context"].evidence[0].turn == 2
    assert lost["lost_context"].evidence[0].says == "Could you please send me the rules?"
    assert "lost_context" not in named(long_run_labels(failed(asks, *cut)))
