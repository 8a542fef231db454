"""Costs over all, over passed and over commonly passed cases."""

import pytest

from quality.planning.costs import plan_costs
from taskdata.schema.planning import Setting


@pytest.fixture
def priced(case, mark, answer):
    def make(source, grade, cost, optimum=10, traps=(), agent="a"):
        one = case(Setting.EFFICIENCY, source=source, optimum=optimum)
        return answer(one, mark(grade, cost=cost, traps=traps), case_id=source, agent=agent)

    return make


def test_a_cheap_wrong_plan_lowers_the_cost_of_all_and_not_that_of_passed(priced):
    found = plan_costs({"a": [priced("s1", 1.0, 12), priced("s2", 0.2, 2, traps=["t", "t"])]})["a"]
    assert (found.all.mean, found.passed.mean) == (7.0, 12.0)
    assert found.over_optimum.mean == pytest.approx(0.2)
    assert found.trap_calls == 2


def test_commonly_passed_cases_are_those_that_every_agent_solves(priced):
    found = plan_costs(
        {
            "a": [priced("s1", 1.0, 10), priced("s2", 1.0, 30)],
            "b": [priced("s1", 1.0, 14, agent="b"), priced("s2", 0.4, 10, agent="b")],
        }
    )
    assert (found["a"].common.mean, found["b"].common.mean) == (10.0, 14.0)
    assert found["a"].passed.mean == 20.0


def test_a_chain_without_a_known_cost_has_no_part_in_the_means(priced):
    found = plan_costs({"a": [priced("s1", 0.2, None), priced("s2", 1.0, 11)]})["a"]
    assert found.all.n == 1


def test_agents_without_efficiency_cases_have_no_costs(case, mark, answer):
    assert plan_costs({"a": [answer(case(), mark())]}) == {}
