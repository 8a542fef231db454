"""What a run's labeller would use, before it starts."""

from datetime import UTC, datetime

from environments.models.money.prices import price_of
from environments.models.money.spending import call_bound
from stages.diagnose.labelling.labeller import MAX_ASKS
from stages.diagnose.labelling.shown import largest_request
from stages.prepare.estimate import NOTHING, estimate, totals
from stages.prepare.labeller_estimate import estimate_labeller
from taskdata.schema.agent import AgentSpec, ModelSpec
from taskdata.schema.model_call import CallPurpose, ModelCall
from taskdata.schema.run import RunConfig
from taskdata.schema.usage import Usage

LABELLER = ModelSpec.parse("openai/gpt-5-mini")


def config(labeller: ModelSpec | None = LABELLER, **fields) -> RunConfig:
    agents = (AgentSpec.parse("nop"), AgentSpec.parse("react:openai/gpt-5.2"))
    given = {"repetitions": 2, "refinement_rounds": 1} | fields
    return RunConfig(agents=agents, labeller=labeller, **given)


def test_every_trial_may_fail_and_be_asked_about_twice(store, task, new_task):
    tasks = [task, new_task("another")]
    found = estimate_labeller(store, config(), tasks)
    assert found.trials == sum(each.trials for each in estimate(store, config(), tasks))
    assert (found.labeller, found.likely) == ("openai/gpt-5-mini", None)
    assert found.at_most.model_calls == MAX_ASKS * found.trials
    one = call_bound(largest_request(), price_of(LABELLER))
    assert found.at_most.cost_usd >= MAX_ASKS * found.trials * one.usd
    assert estimate_labeller(store, config(max_usd=0.01), tasks).at_most.cost_usd == 0.01


def test_runs_without_a_labeller_pay_none_and_replays_pay_nobody(store, task):
    assert estimate_labeller(store, config(labeller=None), [task]) is None
    found = estimate_labeller(store, config(replies="replay"), [task])
    assert (found.likely, found.at_most) == (NOTHING, NOTHING)


def test_what_it_cost_before_is_what_it_will_likely_cost(store, task, new_run, plan_trial):
    trial = plan_trial(new_run(task, labeller=LABELLER), task)
    call = ModelCall(
        trial_id=trial.id,
        purpose=CallPurpose.LABELLER,
        key="a" * 64,
        model="gpt-5-mini",
        usage=Usage(input_tokens=900, output_tokens=100),
        cost_usd=0.25,
        at=datetime.now(UTC),
    )
    store.record_calls([call])
    found = estimate_labeller(store, config(), [task])
    assert found.calls_seen == 1
    assert found.likely.cost_usd == found.trials * 0.25
    assert found.likely.tokens == found.trials * 1000
    together = totals([], labeller=found)
    assert together["likely_usd"] == found.trials * 0.25
