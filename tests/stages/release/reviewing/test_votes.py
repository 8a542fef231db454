"""As many different people as asked for decide; none of them knows what the others said."""

from datetime import UTC, datetime, timedelta

import pytest

from stages.release.reviewing.votes import blind_pairs, standing, visible
from taskdata.schema.construct import ReviewDecision

BEGAN = datetime(2026, 3, 1, tzinfo=UTC)


def decisions(*given: str) -> list[ReviewDecision]:
    """Return decisions such as `ada approve`, a minute apart."""
    return [
        ReviewDecision(
            candidate_id="c",
            reviewer=one.split()[0],
            decision=one.split()[1],
            at=BEGAN + timedelta(minutes=number),
        )
        for number, one in enumerate(given)
    ]


@pytest.mark.parametrize(
    ("given", "needed", "verdict"),
    [
        ((), 1, None),
        (("ada approve",), 1, "approve"),
        (("ada approve",), 2, None),
        (("ada approve", "ADA approve"), 2, None),
        (("ada approve", "bob approve"), 2, "approve"),
        (("ada reject", "bob reject"), 2, "reject"),
        (("ada approve", "bob reject"), 2, None),
        (("ada approve", "bob reject", "cleo approve"), 2, "approve"),
        (("ada approve", "bob reject", "ada reject"), 2, "reject"),
        (("ada approve", "ada edit", "bob approve"), 2, None),
        (("ada send_back", "bob send_back"), 2, None),
        (("ada send_back", "bob send_back", "ada approve"), 2, None),
        (("ada send_back", "ada approve"), 1, "approve"),
    ],
)
def test_a_verdict_counts_once_enough_people_gave_it(given, needed, verdict):
    assert standing(decisions(*given), needed).verdict == verdict


def test_people_who_disagree_are_a_dispute():
    assert standing(decisions("ada approve", "bob reject"), 2).is_disputed
    assert not standing(decisions("ada approve", "ada reject"), 2).is_disputed
    assert not standing(decisions("ada send_back", "bob send_back"), 2).is_disputed


def seen(viewer: str, needed: int, *given: str) -> list[str]:
    return [one.reviewer for one in visible(decisions(*given), needed, viewer)]


def test_what_others_decided_is_hidden_until_enough_have():
    assert seen("bob", 2, "ada approve") == []
    assert seen(" Ada", 2, "ada approve") == ["ada"]
    assert seen("bob", 2, "ada edit", "ada approve") == ["ada"]
    assert seen("cleo", 2, "ada approve", "bob reject") == ["ada", "bob"]
    assert seen("bob", 1, "ada approve") == ["ada"]


def test_only_verdicts_that_were_given_blind_are_compared():
    def pairs(*given):
        found = blind_pairs(decisions(*given), 2)
        return [(one.decision, other.decision) for one, other in found]

    assert pairs("ada approve") == []
    assert pairs("ada approve", "ada reject", "bob approve") == [("reject", "approve")]
    assert pairs("ada approve", "bob reject", "bob approve", "cleo reject") == [
        ("approve", "reject")
    ]
    back = ("ada send_back", "bob send_back", "ada approve", "bob approve")
    assert pairs(*back) == [("send_back", "send_back"), ("approve", "approve")]
