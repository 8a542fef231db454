"""What a run would use, before it starts."""

import pytest

from stages.prepare.estimate import at_most, estimate, likely, totals
from taskdata.schema.agent import AgentSpec, Budget
from taskdata.schema.run import PastEffort, RunConfig

TASK, OTHER = "a" * 64, "b" * 64


def past(task_hash: str, tokens: int, cost: float | None = 0.01, turns: int = 4) -> PastEffort:
    return PastEffort(task_hash=task_hash, turns=turns, tokens=tokens, cost_usd=cost)


def test_a_task_is_expected_to_need_what_it_needed_before():
    effort = likely([TASK], [past(TASK, 100), past(TASK, 300), past(OTHER, 9_000)], per_task=2)
    assert effort is not None
    assert (effort.tokens, effort.model_calls) == (400, 8)
    assert effort.cost_usd == pytest.approx(0.02)


def test_a_new_task_is_expected_to_need_the_mean_of_the_others():
    effort = likely([TASK], [past(OTHER, 100), past(OTHER, 300)], per_task=1)
    assert effort is not None
    assert effort.tokens == 200


def test_an_unknown_cost_stays_unknown_and_an_unknown_agent_too():
    effort = likely([TASK], [past(TASK, 100, cost=None)], per_task=1)
    assert effort is not None
    assert effort.cost_usd is None
    assert likely([TASK], [], per_task=1) is None


def test_the_budget_bounds_an_agent_whatever_it_does():
    spec = AgentSpec.parse("react:openai/gpt-5.2", budget=Budget(max_turns=3, max_usd=0.5))
    bound = at_most(spec, trials=10)
    assert bound.model_calls == 30
    assert bound.cost_usd == pytest.approx(5.0)


def test_a_model_without_a_price_has_no_bound_in_money():
    assert at_most(AgentSpec.parse("react:compatible/mine"), trials=1).cost_usd is None
    assert at_most(AgentSpec.parse("react:local/smollm2-135m"), trials=1).cost_usd == 0
    assert at_most(AgentSpec.parse("nop"), trials=1).cost_usd == 0


def test_one_unknown_part_makes_the_whole_unknown(store, new_task):
    config = RunConfig(
        agents=(AgentSpec.parse("nop"), AgentSpec.parse("react:compatible/mine")),
        repetitions=2,
        refinement_rounds=1,
    )
    estimates = estimate(store, config, [new_task("one"), new_task("two")])
    assert [(each.agent, each.trials) for each in estimates] == [
        ("nop", 4),
        ("react:compatible/mine", 8),
    ]
    assert totals(estimates) == {"trials": 12, "likely_usd": None, "at_most_usd": None}
