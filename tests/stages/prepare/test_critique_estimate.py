"""What arms, and feedback that models write, add to the estimate of a run."""

from datetime import UTC, datetime

import pytest

from environments.models.money.prices import price_of
from environments.models.money.spending import call_bound
from environments.models.retry import RetryPolicy
from stages.prepare.critique_estimate import estimate_critique
from stages.prepare.estimate import NOTHING, estimate, totals
from stages.refine.critique import critique_request, largest_request
from taskdata.schema.agent import AgentSpec, ModelSpec
from taskdata.schema.model_call import CallPurpose, ModelCall
from taskdata.schema.run import OutcomeStatus, RunConfig, TrialOutcome
from taskdata.schema.usage import Usage

AGENT = AgentSpec.parse("react:openai/gpt-5.2")
CRITIC = ModelSpec.parse("openai/gpt-5-mini")
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def config(feedback: str = "none,critic,self", **fields: object) -> RunConfig:
    agents = [AgentSpec.parse(name) for name in ("nop", "react:openai/gpt-5.2")]
    given = {"repetitions": 2, "refinement_rounds": 3, "critic": CRITIC} | fields
    return RunConfig.model_validate({"agents": agents, "feedback": feedback, **given})


def test_every_arm_and_round_is_counted(store, new_task):
    tasks = [new_task("one"), new_task("two")]

    nop, react = estimate(store, config(), tasks)

    assert (nop.trials, react.trials) == (2 * 2, 2 * 2 * (1 + 3 * 3))


def test_feedback_by_models_is_bounded_by_the_most_that_they_are_shown(store, new_task):
    tasks = [new_task("one"), new_task("two")]

    found = estimate_critique(store, config(), tasks)

    assert found.writers == "openai/gpt-5-mini, openai/gpt-5.2"
    assert (found.critiques, found.likely) == (2 * 2 * 2 * 3, None)
    assert found.at_most.model_calls == 24
    each = [
        call_bound(largest_request(arm, tasks[0], AGENT), price_of(model)).usd
        for arm, model in (("critic", CRITIC), ("self", ModelSpec.parse("openai/gpt-5.2")))
    ]
    assert found.at_most.cost_usd == pytest.approx(RetryPolicy().attempts * 12 * sum(each))
    agents = estimate(store, config(), tasks)
    more = totals(agents, critique=found)["at_most_usd"] - totals(agents)["at_most_usd"]
    assert more == pytest.approx(found.at_most.cost_usd)


def test_no_question_is_longer_than_the_largest(task):
    outcome = TrialOutcome(
        trial_id="t1",
        attempt=1,
        status=OutcomeStatus.FINISHED,
        final_answer="wordless " * 50_000,
        sandbox="bubblewrap",
        code_version="test",
        started_at=NOON,
        finished_at=NOON,
    )
    asked = critique_request("critic", task, outcome, None, [], AGENT)
    price = price_of(CRITIC)

    largest = largest_request("critic", task, AGENT)
    assert call_bound(asked, price).usd < call_bound(largest, price).usd


def test_where_no_model_writes_feedback_there_is_nothing_to_estimate(store, task):
    assert estimate_critique(store, config("none,coarse,checkpoint,diagnosis"), [task]) is None
    assert estimate_critique(store, config(refinement_rounds=0), [task]) is None
    assert estimate_critique(store, config(replies="replay"), [task]).at_most == NOTHING


def test_what_feedback_cost_before_is_what_it_will_likely_cost(store, task, new_run, plan_trial):
    trial = plan_trial(new_run(task), task)
    call = ModelCall(
        trial_id=trial.id,
        purpose=CallPurpose.CRITIC,
        key="a" * 64,
        model="gpt-5-mini-2026-01-01",
        usage=Usage(input_tokens=900, output_tokens=100),
        cost_usd=0.25,
        at=NOON,
    )
    store.record_calls([call, call])

    found = estimate_critique(store, config("critic"), [task])

    assert (found.calls_seen, found.likely.cost_usd, found.likely.tokens) == (2, 1.5, 6_000)
