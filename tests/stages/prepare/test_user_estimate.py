"""What a run's simulated user would use, before it starts."""

from datetime import UTC, datetime

import pytest

from environments.models.money.prices import price_of
from environments.models.money.spending import call_bound
from stages.execute.dialogue.simulated_user import MAX_ASKS, MOST_SAID_CHARS, Said, talk_request
from stages.prepare.estimate import NOTHING, estimate, totals
from stages.prepare.user_estimate import estimate_user
from taskdata.schema.agent import AgentSpec, ModelSpec
from taskdata.schema.model_call import CallPurpose, ModelCall
from taskdata.schema.run import RunConfig
from taskdata.schema.usage import Usage

USER = ModelSpec.parse("openai/gpt-5-mini")
TOLD = {"instructions": "You want the sum.", "max_exchanges": 3}


@pytest.fixture
def tasks(new_task):
    return [new_task("plain"), new_task("talk", package={"turn_mode": "multi", "user": TOLD})]


def config(user: ModelSpec | None = USER, **fields) -> RunConfig:
    agents = [AgentSpec.parse(name) for name in ("nop", "react:openai/gpt-5.2")]
    given = {"repetitions": 2, "refinement_rounds": 1} | fields
    return RunConfig(agents=tuple(agents), user=user, **given)


def test_every_answer_of_every_talk_is_counted_and_bounded_by_the_longest_talk(store, tasks):
    found = estimate_user(store, config(), tasks)
    assert (found.user, found.answers, found.likely) == ("openai/gpt-5-mini", 2 * 2 * 3, None)
    assert found.at_most.model_calls == MAX_ASKS * 12
    user = tasks[1].simulated_user
    talk = [Said("user", tasks[1].query), Said("assistant", "abcd " * (MOST_SAID_CHARS // 5))]
    one = call_bound(talk_request(user, talk), price_of(USER))
    assert found.at_most.cost_usd > MAX_ASKS * 12 * one.usd
    assert estimate_user(store, config(max_usd=0.01), tasks).at_most.cost_usd == 0.01


def test_runs_without_a_talk_have_no_user(store, tasks):
    assert estimate_user(store, config(user=None), tasks) is None
    assert estimate_user(store, config(), tasks[:1]) is None
    alone = RunConfig(agents=(AgentSpec.parse("nop"),), user=USER)
    assert estimate_user(store, alone, tasks) is None
    assert estimate_user(store, config(replies="replay"), tasks).at_most == NOTHING


def test_what_it_cost_before_is_what_it_will_likely_cost(store, tasks, new_run, plan_trial):
    trial = plan_trial(new_run(tasks[1], user=USER), tasks[1])
    call = ModelCall(
        trial_id=trial.id,
        purpose=CallPurpose.SIMULATED_USER,
        key="a" * 64,
        model="gpt-5-mini",
        usage=Usage(input_tokens=900, output_tokens=100),
        cost_usd=0.25,
        at=datetime.now(UTC),
    )
    store.record_calls([call, call])
    found = estimate_user(store, config(), tasks)
    assert (found.calls_seen, found.likely.cost_usd, found.likely.tokens) == (2, 3.0, 12_000)
    agents = estimate(store, config(), tasks)
    with_user, without = totals(agents, user=found), totals(agents)
    more = with_user["at_most_usd"] - without["at_most_usd"]
    assert more == pytest.approx(found.at_most.cost_usd)
