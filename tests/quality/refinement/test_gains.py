from collections.abc import Callable

import pytest

from quality.refinement.gains import refinement_gains
from taskdata.schema.effort import CallEffort
from taskdata.schema.run import TrialResult
from taskdata.schema.scores import Unscored
from taskdata.schema.success import SuccessRule
from taskdata.schema.summary import RefinementGain
from taskdata.schema.task import Task

REACT = "react:openai/gpt-5.2"
RULE = SuccessRule(threshold=7, min_coverage=0.5)
LEAVES = ("totals", "sheets", "answer", "tone")


@pytest.fixture
def tasks(make_task: Callable[..., Task]) -> list[Task]:
    return [make_task(f"task-{place}") for place in range(4)]


@pytest.fixture
def tried(make_result: Callable[..., TrialResult], tasks: list[Task]) -> Callable[..., TrialResult]:
    """An attempt at the task of that place, all of whose leaves have one score."""

    def attempt(place: int, score: float, arm: str = "", round_: int = 0, **fields: object):
        fields.setdefault("leaves", dict.fromkeys(LEAVES, score))
        return make_result(task=tasks[place], round_=round_, arm=arm, **fields)

    return attempt


def gains(*results: TrialResult, arms: tuple[str, ...]) -> dict[tuple[str, int], RefinementGain]:
    found = refinement_gains({REACT: results}, arms, RULE)
    return {(gain.arm, gain.round): gain for gain in found}


def test_an_arm_is_compared_with_the_first_attempts_and_with_none_trial_by_trial(tried):
    firsts = [tried(place, score) for place, score in enumerate((2.0, 4.0, 6.0, 9.0))]
    plain = [tried(place, score, "none", 1) for place, score in enumerate((3.0, 4.0, 5.0))]
    told = [tried(place, score, "checkpoint", 1) for place, score in enumerate((8.0, 7.0, 9.0))]

    found = gains(*firsts, *plain, *told, arms=("none", "checkpoint"))

    control, gain = found["none", 1], found["checkpoint", 1]
    assert (control.mean_before, control.mean_after, control.gain.mean) == (4, 4, 0)
    assert control.over_none is None
    assert (gain.trials, gain.attempts, gain.gain.n) == (3, 3, 3)
    assert (gain.mean_before, gain.mean_after, gain.gain.mean) == (4, 8, 4)
    assert gain.relative == pytest.approx(1.0)
    assert (gain.success_before.mean, gain.success_after.mean) == (0, pytest.approx(2 / 3))
    # The differences are 5, 3 and 4; t(2) at 97.5 % is 4.303 and the standard error 1 / sqrt 3.
    assert gain.over_none.difference.mean == 4
    assert gain.over_none.difference.ci95 == pytest.approx((4 - 2.484, 4 + 2.484), abs=0.001)
    assert gain.over_none.p_value == gain.over_none.p_holm == 0.25


def test_the_whole_bank_counts_trials_that_passed_at_once_with_the_score_they_have(tried):
    firsts = [tried(place, score) for place, score in enumerate((2.0, 4.0, 9.0, 10.0))]
    told = [tried(0, 8.0, "coarse", 1), tried(1, 0.0, "coarse", 1, error="down")]

    gain = gains(*firsts, *told, arms=("coarse",))["coarse", 1]

    assert (gain.trials, gain.errors, gain.gain.n, gain.gain.mean) == (2, 1, 1, 6)
    bank = gain.whole_bank
    assert (bank.trials, bank.refined) == (4, 1)
    assert (bank.first, bank.after.mean, bank.gain.mean) == (6.25, 7.75, 1.5)
    assert (bank.success_first.mean, bank.success_after.mean) == (0.5, 0.75)


def test_an_arm_that_ended_keeps_what_it_reached_and_a_lost_attempt_is_not_replaced(tried):
    firsts = [tried(place, 2.0) for place in range(3)]
    first_round = [
        tried(0, 9.0, "coarse", 1),
        tried(1, 4.0, "coarse", 1),
        tried(2, 4.0, "coarse", 1),
    ]
    second = [tried(1, 5.0, "coarse", 2), tried(2, 0, "coarse", 2, error="down")]

    found = gains(*firsts, *first_round, *second, arms=("coarse",))

    gain = found["coarse", 2]
    assert (gain.trials, gain.attempts, gain.errors, gain.gain.n) == (3, 2, 1, 2)
    assert (gain.mean_before, gain.mean_after, gain.gain.mean) == (2, 7, 5)


def test_none_that_goes_on_is_compared_with_an_arm_that_has_passed(tried):
    results = [
        *(tried(0, 2.0), tried(0, 3.0, "none", 1), tried(0, 4.0, "none", 2)),
        *(tried(1, 2.0), tried(1, 3.0, "none", 1), tried(1, 4.0, "none", 2)),
        *(tried(0, 9.0, "coarse", 1), tried(1, 5.0, "coarse", 1), tried(1, 6.0, "coarse", 2)),
    ]

    found = gains(*results, arms=("none", "coarse"))

    assert found["coarse", 1].over_none.difference.mean == 4
    assert found["coarse", 2].over_none.difference.mean == 3.5
    assert found["coarse", 2].over_none.difference.n == 2


def test_comparisons_with_none_are_corrected_for_all_of_the_run(tried):
    scores = {"none": 2.0, "coarse": 2.0, "checkpoint": 8.0, "diagnosis": 8.0}
    results = [tried(place, 2.0) for place in range(4)]
    results += [tried(p, score, arm, 1) for arm, score in scores.items() for p in range(4)]

    found = gains(*results, arms=tuple(scores))

    corrected = {arm: found[arm, 1].over_none for arm in scores if arm != "none"}
    assert {arm: one.p_value for arm, one in corrected.items()} == {
        "coarse": 1,
        "checkpoint": 0.125,
        "diagnosis": 0.125,
    }
    assert corrected["checkpoint"].p_holm == pytest.approx(0.375)


def test_a_point_costs_all_attempts_of_the_arm_and_what_wrote_their_feedback(tried):
    firsts = [tried(place, 2.0, cost_usd=100) for place in range(2)]
    critique = CallEffort(calls=1, tokens=1, cost_usd=0.25)
    paid = [
        tried(0, 4.0, "critic", 1, cost_usd=0.5).model_copy(update={"critique": critique}),
        tried(1, 2.0, "critic", 1, cost_usd=0.25),
        tried(0, 6.0, "critic", 2, cost_usd=1.0),
    ]

    found = gains(*firsts, *paid, arms=("critic",))

    assert found["critic", 1].cost_usd == 1.0
    assert found["critic", 1].cost_per_point_usd == 0.5
    assert found["critic", 2].cost_usd == 1.0
    assert found["critic", 2].cost_per_point_usd == 0.5


@pytest.mark.parametrize(
    ("score", "price", "why"),
    [(2.0, 1.0, "no gain"), (1.0, None, "no gain"), (3.0, None, "price unknown")],
)
def test_no_price_of_a_point_is_made_up(tried, score, price, why):
    found = gains(tried(0, 2.0), tried(0, score, "coarse", 1, cost_usd=price), arms=("coarse",))

    gain = found["coarse", 1]
    assert (gain.cost_per_point_usd, gain.no_cost_per_point) == (None, why)


def test_leaves_that_got_worse_are_counted_and_named_the_largest_loss_first(tried):
    before = {"totals": 8.0, "sheets": 4.0, "answer": 0.0, "tone": None}
    after = {"totals": 6.0, "sheets": 0.0, "answer": 10.0, "tone": 1.0}
    unknown = {"totals": 8.0, "sheets": Unscored.CHECK_FAILED, "answer": 0.0, "tone": None}
    first, again = tried(0, 0, leaves=before), tried(0, 0, "coarse", 1, leaves=after)
    others = [tried(1, 0, leaves=before), tried(1, 0, "coarse", 1, leaves=unknown)]

    worse = gains(first, again, *others, arms=("coarse",))["coarse", 1].regressions

    assert (worse.worse, worse.leaves, worse.share.mean) == (2, 5, 0.4)
    assert [(one.leaf_id, one.before, one.after) for one in worse.top] == [
        ("sheets", 4, 0),
        ("totals", 8, 6),
    ]
    assert {one.trial_id for one in worse.top} == {again.trial.id}
    assert {one.first_trial_id for one in worse.top} == {first.trial.id}


def test_the_last_attempt_counts_though_an_earlier_one_was_better(tried):
    results = [tried(0, 2.0), tried(0, 6.0, "none", 1), tried(0, 3.0, "none", 2)]

    assert gains(*results, arms=("none",))["none", 2].gain.mean == 1
