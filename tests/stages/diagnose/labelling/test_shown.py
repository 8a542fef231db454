"""What a labeller is shown: compact, capped, and every place under the name that it can cite."""

import re
from collections.abc import Callable

import pytest

from stages.diagnose.labelling.offer import offer_of
from stages.diagnose.labelling.places import Places
from stages.diagnose.labelling.shown import MOST_TOKENS, REPLY_TOKENS, largest_request, show
from stages.diagnose.record import Record
from stages.diagnose.stored import diagnosed
from stages.score.judging.tokens import tokens_of
from taskdata.schema.views import RenderedDeliverable, TextView
from tests.stages.diagnose.played import called, replied

LONG = "word " * 20_000


@pytest.fixture
def shown(failed: Callable[..., Record]) -> Callable[..., str]:
    """The evidence about a trial with these events, as one text."""

    def make(*events, most: int = MOST_TOKENS, memo: str = "Dear all", **more) -> str:
        record = failed(*events, files=["memo.docx"], **more)
        file = RenderedDeliverable(name="memo.docx", sha256="a" * 64, view=TextView(text=memo))
        by_rules = diagnosed(record)
        found = show(Places(record, [file]), by_rules, offer_of(by_rules), most)
        text = "".join(map(str, found.opening.pieces))
        asked = tokens_of(found.system.text) + tokens_of(text) + tokens_of(found.question)
        assert asked + REPLY_TOKENS <= most
        return text

    return make


def headings(text: str) -> list[str]:
    mark = text.split()[2]
    return [line.removeprefix(f"{mark} ") for line in text.splitlines() if line.startswith(mark)]


def turns(count: int) -> list:
    pairs = (
        (replied(f"Step {n}."), called("ReadPDF", {"page": n}, text=f"Page {n}: {LONG}"))
        for n in range(1, count + 1)
    )
    return [event for pair in pairs for event in pair]


@pytest.mark.parametrize("most", [4096, MOST_TOKENS])
def test_of_a_long_run_the_first_and_the_last_turns_are_shown(shown, most):
    text = shown(*turns(150), most=most, memo=LONG)
    told = headings(text)
    assert "turn 1: the agent wrote" in told
    assert "turn 150: the agent wrote" in told
    assert 'call 150: tool "ReadPDF"' in told
    (gap,) = [line for line in told if line.endswith("turns are left out here")]
    numbers = {int(n) for n in re.findall(r"^turn (\d+)", "\n".join(told), re.MULTILINE)}
    assert len(numbers) == 150 - int(gap.split()[0])
    assert "Page 150: word" in text


def test_a_short_run_is_shown_whole_and_its_long_texts_by_head_and_tail(shown):
    text = shown(*turns(3), reasons={"totals": "9 rows; expected 12"})
    told = headings(text)
    assert [n for n in range(1, 4) if f"turn {n}: the agent wrote" in told] == [1, 2, 3]
    assert any(line.endswith("characters are left out here") for line in told)
    assert "leaf 1: score 0 of 10" in told
    assert "9 rows; expected 12" in text
    assert 'deliverable 1: file "plan.xlsx", missing' in told
    assert 'deliverable 2: file "memo.docx"' in told


def test_calls_that_nobody_saw_are_not_passed_over_in_silence(shown):
    text = shown(replied("I am a program."), has_unseen_calls=True)
    assert "the agent made calls of its own that are not on record" in headings(text)
    assert "I am a program." in text


def test_no_question_costs_more_than_the_estimate_counts(shown):
    largest = largest_request()
    most = sum(len(str(piece)) for piece in largest.messages[1].opening.pieces)
    assert len(shown(*turns(50), memo=LONG)) < most
