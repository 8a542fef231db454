"""What notices say, and what they make of what others have written."""

import pytest

from flows.notices.settings import Kind
from flows.notices.wording import (
    QUOTED_CHARACTERS,
    confirmed_regression,
    failed_gate,
    failed_night,
    quoted,
    waiting_review,
)
from taskdata.schema.estimate import Estimate
from taskdata.schema.night import ScoreChange

LINK = "http://127.0.0.1:4711/v2/runs/flow-run/1"


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("<!channel> look", "`‹!channel› look`"),
        ("<https://evil.example|your login>", "`‹https: //evil.example|your login›`"),
        ("see www.evil.example", "`see www .evil.example`"),
        ("@all now", "`＠all now`"),
        ("![x](http://evil.example/p.png)", "`![x](http: //evil.example/p.png)`"),
        ("out of `code` *bold*", "`out of 'code' *bold*`"),
        ("&lt;!here&gt;", "`＆lt;!here＆gt;`"),
        ("two\nlines\x1b[2J \u202edna", "`two lines⟨U+001B⟩[2J ⟨U+202E⟩dna`"),
        ("{{ event.id }}", "`{{ event.id }}`"),
    ],
)
def test_what_others_wrote_is_text_and_nothing_else(written, said):
    assert quoted(written) == said


def test_what_others_wrote_is_capped():
    said = quoted("x" * 10_000_000)
    assert len(said) == QUOTED_CHARACTERS + 2
    assert said.endswith(" …`")


def test_a_failed_night_is_a_sentence_with_its_cause_and_a_link():
    notice = failed_night("20261122-020000-abc", "no <worker>", LINK)
    assert notice.text == (
        "Night 20261122-020000-abc has failed: `no ‹worker›`. "
        f"Retry in the Prefect UI goes on.\n{LINK}"
    )
    assert notice.event == "nightshift.night.failed"


def worse(agent, scope="category planning_decision", interval=(-5.0, -1.5)):
    return ScoreChange(
        agent=agent,
        scope=scope,
        tasks=3,
        before=8.04,
        after=4.76,
        difference=Estimate(mean=-3.28, ci95=interval),
        p_value=0.01,
        verdict="confirmed",
    )


def test_regressions_are_told_with_their_intervals_and_the_first_ones_by_name():
    found = [worse(f"react:x/{n}") for n in range(7)]
    notice = confirmed_regression("tonight", ("monday", "tuesday"), found, None)
    assert "7 confirmed regressions" in notice.subject
    assert "worse than the nights before (monday, tuesday)" in notice.text
    told = "8.0 before, 4.8 now (-3.3, 95 % interval -5.0 to -1.5)"
    assert f"`react:x/0` on `category planning_decision`: {told}." in notice.text
    assert "react:x/5" not in notice.text
    assert "There are 2 more." in notice.text


def test_a_single_task_that_got_worse_has_no_interval():
    notice = confirmed_regression("tonight", ("monday",), [worse("nop", "task pie", None)], None)
    assert "1 confirmed regression in" in notice.subject
    assert "`nop` on `task pie`: 8.0 before, 4.8 now (-3.3)." in notice.text


def test_every_kind_of_notice_has_an_event_of_its_own():
    notices = [
        failed_night("r", "c", None),
        failed_gate("r", "c", None),
        waiting_review("r", "office", 2, None),
    ]
    assert len({notice.event for notice in notices}) == len(notices)
    assert [notice.kind for notice in notices] == [
        Kind.FAILED_NIGHT,
        Kind.FAILED_GATE,
        Kind.REVIEW,
    ]
