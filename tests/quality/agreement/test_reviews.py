"""Agreement of reviewers: Cohen's kappa of the answers as categories, by pair of people."""

from datetime import UTC, datetime

import pytest

from quality.agreement.reviews import ReviewPair, review_agreement
from taskdata.schema.construct import ReviewDecision
from taskdata.schema.review import ItemAnswer

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def decision(who, realistic, verdict="approve"):
    answers = () if realistic is None else (ItemAnswer(item="realistic", answer=realistic),)
    return ReviewDecision(
        candidate_id="c", reviewer=who, decision=verdict, checklist=answers, at=NOW
    )


def agreement(*answers, people=("ada", "bob")):
    pairs = [
        ReviewPair(f"task-{number}", decision(people[0], one), decision(people[1], other))
        for number, (one, other) in enumerate(answers)
    ]
    found = review_agreement(pairs)
    return {one.item: one for one in found.items}


def test_kappa_is_cohens_over_yes_no_and_unsure():
    # Agreed 4 of 6; by chance (3 * 3 + 2 * 2 + 1 * 1) / 36 = 14/36.
    found = agreement(
        ("yes", "yes"),
        ("yes", "yes"),
        ("yes", "no"),
        ("no", "no"),
        ("no", "yes"),
        ("unsure", "unsure"),
    )["realistic"]
    assert (found.tasks, found.pairs, found.agreed) == (6, 6, 4)
    assert found.kappa.mean == pytest.approx((4 / 6 - 14 / 36) / (1 - 14 / 36))
    low, high = found.kappa.ci95
    assert low < found.kappa.mean < high


def test_an_answer_that_is_always_the_same_leaves_kappa_undefined():
    found = agreement(("yes", "yes"), ("yes", "yes"))
    assert (found["realistic"].agreed, found["realistic"].kappa.mean) == (2, None)
    assert found["verdict"].kappa.mean is None


def test_items_that_one_of_the_two_left_open_do_not_count():
    found = agreement(("yes", None), ("no", "no"))
    assert (found["realistic"].pairs, found["solvable"].pairs) == (1, 0)


def test_several_pairs_of_people_are_weighted_by_their_tasks():
    ours = [("yes", "yes"), ("no", "no"), ("yes", "yes"), ("no", "no")]
    theirs = [("yes", "no"), ("no", "yes")]
    pairs = [
        ReviewPair(f"a{n}", decision("ada", x), decision("bob", y)) for n, (x, y) in enumerate(ours)
    ]
    pairs += [
        ReviewPair(f"b{n}", decision("Bob", x), decision("cleo", y))
        for n, (x, y) in enumerate(theirs)
    ]
    found = review_agreement(pairs)
    assert found.items[1].kappa.mean == pytest.approx((4 * 1 + 2 * -1) / 6)
    assert len(found.reviewers) == 3


def test_without_two_reviewers_there_is_no_agreement():
    assert review_agreement([]) is None
