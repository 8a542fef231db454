"""APB's tables 7 to 9 follow from counts of plans, by our measures.

Every share of table 7 is one of 720 plans of which people call 413 correct; its agreement of error
types is one of the six flags of the other 307. Table 9 has 60 plans of each agent.
"""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from quality.planning.judge_card import plan_judge_card
from taskdata.schema.plan_agreement import GivenMarks, PlanRating

JUDGES = json.loads(Path(__file__).with_name("judges.json").read_text(encoding="utf-8"))
PLANS, CORRECT = 720, 413
KINDS = ("E1", "E2", "E3", "E4", "E5", "E6")
PERCENT, PRINTED = 0.0051, 0.00051
"""Half of the last digit of a percentage with two decimals, and of a number with three."""


@pytest.fixture(autouse=True)
def few_draws(monkeypatch):
    monkeypatch.setattr("quality.statistics.bootstrap.RESAMPLES", 9)


def card(pairs, agents=("planner:some/model",), judge="gemini-3-pro@1", **fields):
    """The card of a judge by its marks and people's; agents take turns."""
    ratings = []
    for n, (people, said) in enumerate(pairs):
        plan = {"task": f"c{n}", "agent": agents[n % len(agents)], "source": f"s{n % 40}"}
        ratings.append(PlanRating(rater="ada", marks=people, **plan))
        ratings.append(PlanRating(rater=judge, marks=said, is_judge=True, **plan, **fields))
    made = datetime(2026, 3, 1, tzinfo=UTC)
    return plan_judge_card(ratings, judge, "table", "v1", made).with_reference


def marks(fifths, errors=("E4",)):
    return GivenMarks(grade=fifths / 5, errors=errors if fifths < 5 else ())


def confused(correct_alike, called_correct, flags_alike):
    """Pairs with that confusion matrix and that many equal flags of plans that people fail."""
    failed, wrong = PLANS - CORRECT, called_correct - correct_alike
    right, mistaken = marks(5), marks(3)
    pairs = [(right, right)] * correct_alike + [(right, mistaken)] * (CORRECT - correct_alike)
    pairs += [(mistaken, right)] * wrong
    other = 6 * failed - flags_alike - wrong
    # Where both see an error the judge sees E4, too, and beside it as many others as are left.
    each, more = divmod(other, failed - wrong)
    for n in range(failed - wrong):
        errors = ("E4", *(kind for kind in KINDS if kind != "E4"))[: 1 + each + (n < more)]
        pairs.append((mistaken, marks(2, errors)))
    return pairs


@pytest.mark.parametrize("judge", JUDGES["table_7"]["judges"])
def test_table_7_is_made_of_720_plans_with_correct_as_the_positive_class(judge):
    agreement, precision, recall, f1, _, error_types = JUDGES["table_7"]["judges"][judge]
    alike = round(recall / 100 * CORRECT)
    called = round(alike / (precision / 100))
    flags = round(error_types / 100 * 6 * (PLANS - CORRECT))
    whole = card(confused(alike, called, flags)).whole
    assert 100 * whole.agreement.mean == pytest.approx(agreement, abs=PERCENT)
    assert 100 * whole.precision.mean == pytest.approx(precision, abs=PERCENT)
    assert 100 * whole.recall.mean == pytest.approx(recall, abs=PERCENT)
    assert whole.f1.mean == pytest.approx(f1, abs=PRINTED)
    assert 100 * whole.error_types.mean == pytest.approx(error_types, abs=PERCENT)


@pytest.mark.parametrize("group", ["different", "standard"])
@pytest.mark.parametrize("judge", JUDGES["table_8"]["judges"])
def test_table_8_is_agreement_on_plans_that_people_call_correct(judge, group):
    agreement, mae = JUDGES["table_8"]["judges"][judge][group]
    plans = JUDGES["table_8"]["plans"][group]
    mistaken = plans - round(agreement / 100 * plans)
    each, more = divmod(round(mae * plans * 5), mistaken)
    pairs = [(marks(5), marks(5))] * (plans - mistaken)
    pairs += [(marks(5), marks(5 - each - (n < more))) for n in range(mistaken)]
    mode = card(pairs, same_as_reference=group == "standard")
    found = getattr(mode, group)
    assert found.agreement.n == plans
    assert 100 * found.agreement.mean == pytest.approx(agreement, abs=0.051)
    assert found.grade_mae.mean == pytest.approx(mae, abs=PRINTED)


def graded(correct, grade, plans):
    """Marks of so many plans: that share (in %) of them correct, and that mean grade."""
    right = round(correct / 100 * plans)
    each, more = divmod(round(grade * plans * 5) - 5 * right, plans - right)
    return [marks(5)] * right + [marks(each + (n < more)) for n in range(plans - right)]


@pytest.fixture
def bias_by_agent():
    """The rows of table 9, each from its 60 plans."""
    table = JUDGES["table_9"]
    agents = [f"planner:some/{name}" for name in table["agents"]]
    columns = []
    for row in table["agents"].values():
        people, judge = (graded(row[i], row[i + 3], table["plans"]) for i in (0, 1))
        columns.append(list(zip(people, judge, strict=True)))
    pairs = [pair for turn in zip(*columns, strict=True) for pair in turn]
    return card(pairs, agents, judge="Gemini 3 Pro@1")


def test_table_9s_biases_are_the_judges_rate_minus_that_of_people(bias_by_agent):
    rows = {row.agent.partition("/")[2]: row for row in bias_by_agent.bias}
    assert rows.keys() == JUDGES["table_9"]["agents"].keys()
    for agent, printed in JUDGES["table_9"]["agents"].items():
        row = rows[agent]
        rates = [100 * getattr(row, name).mean for name in JUDGES["table_9"]["columns"][:3]]
        assert rates == pytest.approx(printed[:3], abs=0.051), agent
        grades = [getattr(row, name).mean for name in JUDGES["table_9"]["columns"][3:]]
        assert grades == pytest.approx(printed[3:], abs=PRINTED), agent
        assert row.own == (agent == JUDGES["table_9"]["own"])


def test_the_published_judge_does_not_prefer_itself(bias_by_agent):
    preference = bias_by_agent.self_preference
    others = [r[2] for n, r in JUDGES["table_9"]["agents"].items() if n != "Gemini 3 Pro"]
    assert 100 * preference.correct.mean == pytest.approx(3.3 - sum(others) / 11, abs=0.06)
    assert preference.correct.mean < 0
