"""A study whose error is known is recovered within its interval."""

import math
from datetime import UTC, datetime

import numpy as np
import pytest

from quality.agreement.card import judge_card
from quality.agreement.scored import scored
from taskdata.errors import Misuse
from taskdata.schema.agreement import Minima, PathNode, Rating

NOW = datetime(2026, 3, 1, tzinfo=UTC)
JUDGE = "openai/judge@1"
TRUE, ERROR, JUDGE_ERROR = 1.5, 0.75, 0.6
"""Standard deviations of what is scored, of a person's error and of the judge's."""


def study(seed, leaves=300, people=3, shift=0.0, agents=("a:openai/x",)):
    """300 leaves of 60 tasks, three annotators, one judge, all errors independent."""
    rng = np.random.default_rng(seed)
    ratings = []
    for number in range(leaves):
        truth = rng.normal(5, TRUE)
        facts = {
            "task": f"t{number // 5:03}",
            "leaf": f"leaf-{number % 5}",
            "agent": agents[number // 5 % len(agents)],
        }
        for person in range(people):
            score = float(np.clip(truth + rng.normal(0, ERROR), 0, 10))
            ratings.append(Rating(rater=f"p{person}", score=score, **facts))
        score = float(np.clip(truth + rng.normal(0, JUDGE_ERROR) + shift, 0, 10))
        ratings.append(Rating(rater=JUDGE, is_judge=True, score=score, **facts))
    return ratings


def card(ratings, judge=JUDGE, threshold=5.0):
    return judge_card(ratings, judge, threshold, "test", "1", NOW)


def holds(estimate, value):
    return estimate.ci95[0] <= value <= estimate.ci95[1]


@pytest.fixture(autouse=True)
def few_draws(monkeypatch):
    """Intervals from 149 draws: the ends of 95 % are known well enough for these tests."""
    monkeypatch.setattr("quality.statistics.bootstrap.RESAMPLES", 149)


def test_known_errors_are_recovered_within_their_intervals():
    human = TRUE**2 + ERROR**2 / 3
    expected = {
        "between": TRUE**2 / (TRUE**2 + ERROR**2),
        "pearson": TRUE**2 / math.sqrt(human * (TRUE**2 + JUDGE_ERROR**2)),
        "mae": math.sqrt(JUDGE_ERROR**2 + ERROR**2 / 3) * math.sqrt(2 / math.pi),
    }
    found = {"between": 0, "pearson": 0, "mae": 0}
    studies = 8
    for seed in range(studies):
        made = card(study(seed))
        assert (made.tasks, made.leaves, made.annotators) == (60, 300, ("p0", "p1", "p2"))
        found["between"] += holds(made.between_annotators.leaf.icc, expected["between"])
        found["pearson"] += holds(made.agreement.leaf.pearson, expected["pearson"])
        found["mae"] += holds(made.agreement.leaf.mae, expected["mae"])
    # Fewer than 6 of 8 intervals of 95 % hold the truth in 4 of 10,000 such tests.
    assert min(found.values()) >= 6, found


def test_a_judge_that_is_always_too_kind_correlates_and_does_not_agree():
    kind, fair = card(study(1, shift=2.0)), card(study(1))
    assert kind.agreement.leaf.pearson.mean == pytest.approx(
        fair.agreement.leaf.pearson.mean, abs=0.02
    )
    assert kind.agreement.task.icc.mean < 0.5 < fair.agreement.task.icc.mean
    assert any(text.startswith("ICC") for text in kind.shortfalls(Minima()))


def test_root_scores_are_weighted_means_of_the_same_leaves():
    def rating(leaf, rater, score, weight):
        return Rating(
            task="t", leaf=leaf, rater=rater, score=score, weight=weight, is_judge=rater == JUDGE
        )

    ratings = [
        *(rating("a", who, score, 3) for who, score in (("p", 8), (JUDGE, 10))),
        *(rating("b", who, score, 1) for who, score in (("p", 4), (JUDGE, 2))),
        rating("c", "p", 0, 5),
    ]
    found = scored(ratings, JUDGE)
    assert found.by_output(found.human) == pytest.approx([7])
    assert found.by_output(found.judge) == pytest.approx([8])
    made = card(ratings)
    assert made.agreement.task.mae.mean == pytest.approx(1)
    assert made.agreement.task.mae.ci95 is None  # of one task nothing can be drawn
    assert made.leaves == 2


def required(*path):
    """The path through nodes given as id, share and rule."""
    return tuple(PathNode(*node) for node in path)


def test_root_scores_follow_the_rule_that_the_task_declares():
    """Root: half a mean of `a` and `b`, half a group that passes where `c` and `d` reach 7."""
    mean = [("root", 1.0), ("mean", 0.5)]
    group = [("root", 1.0), ("group", 0.5, "all_required", 7.0)]
    paths = {
        "a": required(*mean, ("a", 0.75)),
        "b": required(*mean, ("b", 0.25)),
        "c": required(*group, ("c", 1.0)),
        "d": required(*group, ("d", 0.0)),
    }

    def rating(leaf, rater, score):
        is_judge = rater == JUDGE
        return Rating(
            task="t", leaf=leaf, rater=rater, score=score, is_judge=is_judge, path=paths[leaf]
        )

    people = {"a": 8, "b": 4, "c": 6, "d": 10}
    judge = {"a": 8, "b": 4, "c": 7, "d": 0}
    ratings = [rating(leaf, "p", score) for leaf, score in people.items()]
    ratings += [rating(leaf, JUDGE, score) for leaf, score in judge.items()]
    found = scored(ratings, JUDGE)
    assert found.by_output(found.human) == pytest.approx([3.5]), "c fails: half of 7"
    assert found.by_output(found.judge) == pytest.approx([8.5]), "d has no weight"
    assert card(ratings).agreement.task.mae.mean == pytest.approx(5)
    only_a = scored([r for r in ratings if r.leaf in "ac"], JUDGE)
    # Leaf b, which nobody scored, takes a quarter off what the mean weighs.
    assert only_a.by_output(only_a.judge) == pytest.approx([(0.375 * 8 + 0.5 * 10) / 0.875])


def test_paths_that_make_no_tree_are_refused():
    rule = ("root", 1.0, "all_required", 10.0)
    leaves = {"a": required(rule, ("x", 1.0)), "b": required(rule, ("x", 1.0), ("b", 1.0)), "c": ()}
    for other in ("b", "c"):
        ratings = [
            Rating(
                task="t", leaf=leaf, rater=who, score=5, is_judge=who == JUDGE, path=leaves[leaf]
            )
            for leaf in (other, "a")
            for who in ("p", JUDGE)
        ]
        with pytest.raises(Misuse, match="make no tree"):
            card(ratings)


def test_judges_are_compared_by_how_they_rank_agents():
    agents = ("a:openai/x", "a:local/y", "a:anthropic/z")
    ratings = study(4, leaves=60, agents=agents)
    # The other judge likes what the first does not: it ranks the agents the other way round.
    ratings += [
        r.model_copy(update={"rater": "other/judge@1", "score": 10 - r.score})
        for r in ratings
        if r.is_judge
    ]
    (between,) = card(ratings).judges
    assert (between.other, between.agents) == ("other/judge@1", 3)
    assert between.spearman == between.kendall == -1
    assert between.leaf.pearson.mean == pytest.approx(-1)


def test_a_second_occasion_is_the_retest():
    ratings = study(5, leaves=50)
    again = [
        r.model_copy(update={"occasion": 2, "score": min(10.0, r.score + 0.5)})
        for r in ratings
        if r.is_judge
    ]
    made = card(ratings + again)
    assert made.retest.mae.mean == pytest.approx(0.5, abs=0.01)
    assert made.agreement == card(ratings).agreement
    assert card(ratings).retest is None


def test_probes_find_a_judge_that_likes_length_and_its_own_kind():
    agents = ("a:openai/x", "a:local/y")
    rng = np.random.default_rng(8)
    ratings = []
    for r in study(6, leaves=100, agents=agents):
        words = int(rng.integers(10, 1000)) if r.is_judge else None
        kinder = 0.0
        if r.is_judge:
            kinder = words / 500 + (1.5 if "openai" in r.agent else 0)
        score = min(10.0, r.score + kinder)
        ratings.append(r.model_copy(update={"score": score, "words": words}))
    position, verbosity, own = card(ratings).probes
    assert position.effect is None
    assert "Not available" in position.what
    assert verbosity.effect.ci95[0] > 0
    assert holds(own.effect, 1.5)


def test_a_judge_without_common_leaves_has_no_card():
    with pytest.raises(Misuse, match="no leaf was scored by a person and by judge x/y"):
        card(study(1, leaves=5), judge="x/y")
