"""A judge of plans against people: what copies, flattery and self-preference amount to."""

from datetime import UTC, datetime

import pytest

from quality.planning.judge_card import is_own, plan_judge_card, plan_judges_of
from taskdata.errors import Misuse
from taskdata.schema.plan_agreement import GivenMarks, PlanRating

NOW = datetime(2026, 3, 1, tzinfo=UTC)
JUDGE = "openai/large@1"
OWN, OTHER = "planner:openai/large", "planner:some/small"
RIGHT = GivenMarks(grade=1)
PEOPLE = (
    RIGHT,
    GivenMarks(grade=0.8, errors=("E5",)),
    RIGHT,
    GivenMarks(grade=0.4, errors=("E2", "E4")),
    RIGHT,
    GivenMarks(grade=0, errors=("E1", "E6")),
)
"""What people say about six plans in turn."""


@pytest.fixture(autouse=True)
def few_draws(monkeypatch):
    monkeypatch.setattr("quality.statistics.bootstrap.RESAMPLES", 49)


def rating(n, rater, marks, agent=OTHER, **fields):
    """A rater's marks of plan n; three cases in turn come from one source task."""
    return PlanRating(
        task=f"case-{n}",
        rater=rater,
        marks=marks,
        agent=agent,
        source=f"source-{n // 3}",
        is_judge=rater not in ("ada", "bob"),
        **fields,
    )


def people(plans=24, agent=OTHER, rater="ada"):
    return [rating(n, rater, PEOPLE[n % 6], agent) for n in range(plans)]


def judged(says, plans=24, agent=OTHER, rater=JUDGE, **fields):
    return [rating(n, rater, says(PEOPLE[n % 6]), agent, **fields) for n in range(plans)]


def card(*ratings, judge=JUDGE):
    return plan_judge_card([one for some in ratings for one in some], judge, "here", "v1", NOW)


def copied(marks):
    return marks


def always_right(_marks):
    return RIGHT


def test_a_judge_that_copies_people_scores_1():
    mode = card(people(), judged(copied)).with_reference
    whole = mode.whole
    assert [whole.agreement.mean, whole.precision.mean, whole.recall.mean, whole.f1.mean] == [1] * 4
    assert (whole.grade_mae.mean, whole.error_types.mean) == (0, 1)
    assert {one.mean for one in whole.by_error.values()} == {1}
    assert (whole.precision.n, whole.recall.n, whole.agreement.n) == (12, 12, 24)
    assert whole.agreement.ci95[0] < 0.9, "24 plans do not prove perfection"
    (bias,) = mode.bias
    assert (bias.correct.mean, bias.grade.mean, mode.self_preference) == (0, 0, None)


def test_a_judge_that_always_says_correct_has_the_base_rate_as_precision_and_finds_all():
    whole = card(people(), judged(always_right)).with_reference.whole
    assert (whole.precision.mean, whole.recall.mean) == (0.5, 1)
    assert whole.f1.mean == pytest.approx(2 / 3)
    assert whole.f1.ci95[0] < 2 / 3 < whole.f1.ci95[1]
    assert (whole.agreement.mean, whole.grade_mae.mean) == (0.5, pytest.approx(1.8 / 6))
    assert whole.error_types.mean == pytest.approx(13 / 18), "5 flags are missed"
    assert whole.by_error["E5"].mean == pytest.approx(2 / 3)
    assert whole.error_types.n == 12, "over the plans that people call incorrect"


def test_a_judge_that_never_says_correct_has_no_precision():
    whole = card(
        people(), judged(lambda _: GivenMarks(grade=0.6, errors=("E4",)))
    ).with_reference.whole
    assert (whole.precision.mean, whole.precision.n, whole.recall.mean) == (None, 0, 0)
    assert whole.f1.mean == 0


def test_the_bias_row_finds_out_a_judge_that_prefers_its_own_model():
    found = card(
        people(agent=OWN),
        people(agent=OTHER),
        judged(always_right, agent=OWN),
        judged(copied, agent=OTHER),
    ).with_reference
    own, other = found.bias
    assert (own.agent, own.own, other.own) == (OWN, True, False)
    assert (own.people_correct.mean, own.judge_correct.mean, own.correct.mean) == (0.5, 1, 0.5)
    assert own.grade.mean == pytest.approx(0.3)
    assert own.correct.ci95[0] > 0.1
    assert other.correct.mean == 0
    assert found.self_preference.correct.mean == pytest.approx(0.5)
    assert found.self_preference.correct.ci95[0] > 0.1
    assert found.self_preference.grade.ci95[0] > 0.1


def test_a_judge_that_flatters_everybody_has_a_bias_and_no_self_preference():
    found = card(
        people(agent=OWN),
        people(agent=OTHER),
        judged(always_right, agent=OWN),
        judged(always_right, agent=OTHER),
    ).with_reference
    assert [one.correct.mean for one in found.bias] == [0.5, 0.5]
    assert found.self_preference.correct.mean == 0


def test_the_modes_of_a_judge_stand_side_by_side():
    blind = "openai/large[blind]@1"
    ratings = [*people(), *judged(copied), *judged(always_right, plans=18, rater=blind)]
    assert plan_judges_of(ratings) == [JUDGE]
    found = card(ratings)
    assert (found.with_reference.rater, found.blind.rater) == (JUDGE, blind)
    assert (found.with_reference.plans, found.blind.plans, found.plans) == (24, 18, 24)
    assert (found.with_reference.unmarked, found.blind.unmarked) == (0, 6)
    agreement = found.difference["agreement"]
    assert (agreement.mean, agreement.n) == (-0.5, 18)
    assert agreement.ci95[1] < 0
    assert found.difference["recall"].mean == 0
    assert found.difference["grade_mae"].mean == pytest.approx(0.3)


def test_correct_plans_other_than_the_reference_stand_apart():
    """The judge takes the reference for the only answer: each other plan has an error for it."""
    wrong = GivenMarks(grade=0.6, errors=("E4",))
    ratings = people()
    for n in range(24):
        same = n % 4 == 0
        marks = PEOPLE[n % 6] if same else wrong
        ratings.append(rating(n, JUDGE, marks, same_as_reference=same, by_code=same))
    mode = card(ratings).with_reference
    assert (mode.standard.agreement.mean, mode.standard.agreement.n) == (1, 6)
    assert (mode.different.agreement.mean, mode.different.agreement.n) == (0, 6)
    assert mode.different.grade_mae.mean == pytest.approx(0.4)
    assert (mode.by_code, mode.asked.agreement.n, mode.whole.agreement.n) == (6, 18, 24)


def test_people_are_compared_among_themselves():
    second = [one.model_copy(update={"rater": "bob", "marks": RIGHT}) for one in people(plans=6)]
    found = card(people(), second, judged(copied))
    assert found.annotators == ("ada", "bob")
    assert (found.between_people.agreement.mean, found.between_people.agreement.n) == (0.5, 6)
    assert found.with_reference.whole.agreement.n == 30
    assert found.with_reference.whole.agreement.mean == pytest.approx(27 / 30)
    assert card(people(), judged(copied)).between_people is None


def test_without_a_common_plan_there_is_no_card():
    with pytest.raises(Misuse, match="no plan was marked by a person and by"):
        card(people(), [rating(99, JUDGE, RIGHT)])


@pytest.mark.parametrize(
    ("agent", "rater", "own"),
    [
        ("planner:openai/gpt-5", "gpt-5@1", True),
        ("planner:openai/gpt-5", "gpt-5-2025-08-07@1", True),
        ("planner:openai/gpt-5", "openai/gpt-5[gta2-published]@1", True),
        ("planner:openai/gpt-5", "openai/gpt-5[blind]@1", True),
        ("planner:openai/gpt-5", "gpt-5-mini@1", False),
        ("planner:openai/gpt-5", "other/gpt-5@1", False),
        ("planner:openai/gpt-5", "majority(some/x, gpt-5)@1", True),
        ("planner:openai/gpt-5", "majority(some/x[blind], openai/gpt-5[blind])@1", True),
        ("imported", "imported@1", False),
    ],
)
def test_a_judges_own_model_is_known_by_name(agent, rater, own):
    assert is_own(agent, rater) is own
