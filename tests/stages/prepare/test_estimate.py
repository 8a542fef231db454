"""What a run would use, before it starts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from environments.models.money.prices import price_of
from environments.ports import ModelReply, ModelRequest
from stages.execute.dialogue.budget import HarnessBudget
from stages.prepare.estimate import Effort, at_most, estimate, likely, totals
from taskdata.schema.agent import AgentSpec, Budget, ModelSpec
from taskdata.schema.effort import PastEffort
from taskdata.schema.run import RunConfig
from taskdata.schema.task import ReferenceSolution, ReferenceStep
from taskdata.schema.transcript import Usage

TASK, OTHER = "a" * 64, "b" * 64
SEEING, DRAWING = ("ImageDescription", "finish"), ("TextToImage", "finish")
NOTHING = Effort(model_calls=0, tokens=0, cost_usd=0.0)


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


def test_a_runs_cap_bounds_all_of_its_trials_together():
    spec = AgentSpec.parse("react:openai/gpt-5.2", budget=Budget(max_usd=0.5))
    assert at_most(spec, trials=10, max_usd=2.0).cost_usd == 2.0
    assert at_most(spec, trials=2, max_usd=2.0).cost_usd == pytest.approx(1.0)
    # Prices that are unknown do not matter then.
    assert at_most(AgentSpec.parse("react:compatible/mine"), 10, max_usd=2.0).cost_usd == 2.0


def test_the_last_call_may_read_a_whole_window_beyond_the_tokens():
    budget = Budget(max_tokens=1_000, max_reply_tokens=100)
    spec = AgentSpec.parse("react:openai/gpt-5.2", budget=budget, window_tokens=5_000)
    assert at_most(spec, trials=1).tokens == 999 + 5_000 + 100
    one = AgentSpec.parse("react:openai/gpt-5.2", budget=Budget(max_turns=1), window_tokens=5_000)
    assert at_most(one, trials=1).tokens == 5_000 + 4_096


def test_calls_of_a_program_are_held_to_the_tokens():
    budget = Budget(max_tokens=1_000)
    spec = AgentSpec.parse("command:openai/gpt-5.2", command=("agent",), budget=budget)
    assert at_most(spec, trials=2).tokens == 2_000


def test_a_program_may_spend_all_of_its_tokens_on_replies():
    budget = Budget(max_turns=1, max_tokens=20_000)
    spec = AgentSpec.parse("command:openai/gpt-5.2", command=("agent",), budget=budget)
    assert at_most(spec, trials=1).cost_usd == pytest.approx(20_000 * 14e-6)


def test_tokens_are_not_bounded_where_the_window_is_unknown():
    most = at_most(AgentSpec.parse("react:compatible/mine"), trials=1)
    assert (most.tokens, most.cost_usd) == (None, None)


@given(
    turns=st.integers(1, 8),
    max_tokens=st.integers(1, 20_000),
    reply_tokens=st.integers(1, 3_000),
    used=st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1), st.integers(0, 4)), max_size=8),
)
def test_no_trial_uses_more_than_the_estimate_says(turns, max_tokens, reply_tokens, used):
    window, model = 5_000, ModelSpec(provider="openai", model="gpt-5.2")
    budget = Budget(max_turns=turns, max_tokens=max_tokens, max_reply_tokens=reply_tokens)
    spec = AgentSpec(harness="react", model=model, window_tokens=window, budget=budget)
    most, price = at_most(spec, trials=1), price_of(model)
    meter, tokens, usd = HarnessBudget(budget), 0, 0.0
    for read, written, failures in used:
        if meter.exhausted() is not None:
            break
        usage = Usage(
            input_tokens=int(read * window), output_tokens=int(written * meter.reply_tokens)
        )
        meter.count(ModelRequest(()), ModelReply("", "m", usage=usage, cost_usd=0.0))
        failed = usage.model_copy(update={"output_tokens": meter.budget.max_reply_tokens})
        tokens += usage.total
        usd += price.cost_usd(usage) + failures * price.cost_usd(failed)
    assert tokens <= most.tokens
    assert usd <= most.cost_usd * (1 + 1e-9)


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
    assert totals(estimates, max_usd=3.0)["at_most_usd"] == 3.0


def test_a_run_is_estimated_at_no_more_than_its_cap(store, new_task):
    agents = tuple(AgentSpec.parse(f"react:openai/{name}") for name in ("gpt-5.2", "gpt-5-mini"))
    config = RunConfig(agents=agents, max_usd=1.5)
    estimates = estimate(store, config, [new_task("one")])
    assert [each.at_most.cost_usd for each in estimates] == [1.5, 1.5]
    assert totals(estimates, max_usd=config.max_usd)["at_most_usd"] == 1.5


def test_a_recording_that_is_played_back_costs_nothing(store, new_task):
    agents = tuple(AgentSpec.parse(f"react:openai/{name}") for name in ("gpt-5.2", "gpt-5-mini"))
    config = RunConfig(agents=agents, replies="replay", tool_model="openai/gpt-5.2")
    estimates = estimate(store, config, [new_task("one", tools=SEEING)])
    assert [(each.likely, each.at_most) for each in estimates] == [(NOTHING, NOTHING)] * 2
    assert totals(estimates) == {"trials": 4, "likely_usd": 0.0, "at_most_usd": 0.0}


@pytest.mark.parametrize(
    ("agent", "tools", "is_bounded"),
    [
        ("react:openai/gpt-5.2", SEEING, False),
        ("react:openai/gpt-5.2", DRAWING, False),
        ("react:openai/gpt-5.2", ("finish",), True),
        ("command:openai/gpt-5.2", SEEING, True),
        ("nop", SEEING, True),
    ],
)
def test_models_of_tools_are_in_the_bound_or_there_is_none(
    store, new_task, agent, tools, is_bounded
):
    models = {"tool_model": "openai/gpt-5.2", "image_model": "openai/gpt-image-1"}
    tasks = [new_task("one", tools=tools)]
    spec = AgentSpec.parse(agent, window_tokens=1_000)
    (found,) = estimate(store, RunConfig(agents=(spec,), **models), tasks)
    assert (found.at_most.cost_usd is not None) == is_bounded
    (without,) = estimate(store, RunConfig(agents=(spec,)), tasks)
    assert without.at_most.cost_usd is not None


def test_a_budget_or_a_cap_holds_for_models_of_tools_too(store, new_task):
    tasks = [new_task("one", tools=SEEING)]
    spec = AgentSpec.parse("react:openai/gpt-5.2", budget=Budget(max_usd=0.5))
    config = RunConfig(agents=(spec,), tool_model="openai/gpt-5.2", refinement_rounds=0)
    assert estimate(store, config, tasks)[0].at_most.cost_usd == 0.5
    plain = AgentSpec.parse("react:openai/gpt-5.2")
    capped = config.model_copy(update={"agents": (plain,), "max_usd": 3.0})
    assert estimate(store, capped, tasks)[0].at_most.cost_usd == 3.0


def test_what_playing_a_solution_costs_is_not_known_where_its_tools_ask_models(store, new_task):
    looks = ReferenceStep(tool="ImageDescription", arguments={})
    reference = ReferenceSolution(steps=(looks,), final_answer="A boat.")
    task = new_task("one", tools=SEEING, reference=reference)
    config = RunConfig(agents=(AgentSpec.parse("reference"),), tool_model="openai/gpt-5.2")
    (found,) = estimate(store, config, [task])
    assert (found.at_most.model_calls, found.at_most.cost_usd) == (0, None)
    assert found.likely is None


def test_calls_for_a_plan_come_on_top_of_the_turns():
    def most(way: str) -> Effort:
        budget = Budget(max_turns=3, max_reply_tokens=1_000)
        return at_most(AgentSpec.parse(f"{way}:openai/gpt-4o", budget=budget), trials=2)

    direct, first, refine = (
        most(f"react+{way}") for way in ("direct", "plan_first", "plan_refine")
    )
    assert [each.model_calls for each in (direct, first, refine)] == [6, 10, 14]
    assert direct.cost_usd < first.cost_usd < refine.cost_usd
