"""What a trial's record knows of its model while the trial runs."""

from datetime import UTC, datetime

import pytest

from environments.models.faults import NoAnswerInTime
from environments.models.money.run_budget import MoneyHeld
from environments.models.retry import is_hung, is_silence
from environments.ports import ModelReply
from stages.execute.dialogue.journal import Journal
from taskdata.errors import BudgetExhausted, ModelRejected, ModelUnavailable


def reply(journal: Journal, seconds: float, *, is_kept: bool = False) -> None:
    answer = ModelReply(text="", model="m", seconds=seconds, is_kept=is_kept)
    journal.model_call(answer, datetime.now(UTC))


def test_kept_replies_are_no_news_of_the_provider_but_of_how_long_it_takes():
    told: list[str] = []
    journal = Journal(lambda: told.append("answered"))
    assert journal.slowest_reply_seconds is None
    reply(journal, 7, is_kept=True)
    assert (journal.slowest_reply_seconds, told) == (7, [])
    reply(journal, 2)
    assert (journal.slowest_reply_seconds, told) == (7, ["answered"])


@pytest.mark.parametrize(
    ("waited", "longest", "hung"),
    [
        (1, None, True),
        (119, 12, False),
        (121, 12, True),
        pytest.param(30, 2, False, id="what is left of its time is short"),
        (61, 2, True),
    ],
)
def test_a_provider_hangs_if_it_takes_many_times_as_long_as_before(waited, longest, hung):
    assert is_hung(waited, longest) is hung


@pytest.mark.parametrize(
    ("fault", "silent"),
    [
        (ModelUnavailable("down"), True),
        (NoAnswerInTime("late"), True),
        (MoneyHeld("by others"), False),
        (BudgetExhausted("all spent"), False),
        (ModelRejected("no such model"), False),
    ],
)
def test_only_a_provider_that_cannot_be_brought_to_answer_is_silent(fault, silent):
    assert is_silence(fault) is silent
