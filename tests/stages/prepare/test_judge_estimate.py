"""What a run's judge would use, before it starts."""

from datetime import UTC, datetime

import pytest

from environments.models.money.prices import price_of
from environments.models.money.spending import call_bound
from stages.prepare.estimate import Effort, estimate, totals
from stages.prepare.judge_estimate import estimate_judge
from stages.score.evidence import TrialEvidence
from stages.score.judging.judge import MAX_ASKS, MAX_VIEWS, judge_request, largest_request
from stages.score.judging.shown import show
from stages.score.judging.sight import Sight, sight_of
from taskdata.schema.agent import AgentSpec, ModelSpec
from taskdata.schema.checkpoint import Checkpoint, Judge
from taskdata.schema.judging import JudgeSettings
from taskdata.schema.model_call import CallPurpose, ModelCall
from taskdata.schema.panel import JudgeSpec
from taskdata.schema.run import RunConfig
from taskdata.schema.usage import Usage
from taskdata.schema.views import TextView

JUDGE = ModelSpec.parse("openai/gpt-5.2")
MEMO = Judge(rubric="10 if polite.", deliverables=("memo.md",))


@pytest.fixture
def tasks(new_task):
    """One task with a judged leaf beside a checked one, one without."""
    plain = new_task("plain")
    checked = plain.checkpoints.children[0]
    tone = Checkpoint(id="tone", requirement="Polite.", verifier=Judge(rubric="10 if so."))
    both = Checkpoint(id="root", requirement="All.", children=(checked, tone))
    return [plain, new_task("judged", checkpoints=both)]


def config(judge: ModelSpec | None = JUDGE) -> RunConfig:
    agents = (AgentSpec.parse("nop"), AgentSpec.parse("react:openai/gpt-5.2"))
    return RunConfig(agents=agents, judge=judge, repetitions=2, refinement_rounds=1)


@pytest.fixture
def judged_before(store, new_run, new_task, plan_trial):
    """Have a judge paid for two calls in an earlier run."""

    def pay(cost_usd: float | None, judge: ModelSpec = JUDGE):
        trial = plan_trial(new_run(new_task("one"), judge=judge), new_task("one"))
        call = ModelCall(
            trial_id=trial.id,
            purpose=CallPurpose.JUDGE,
            key="a" * 64,
            model="gpt-5.2",
            usage=Usage(input_tokens=900, output_tokens=100),
            cost_usd=cost_usd,
            at=datetime.now(UTC),
        )
        store.record_calls([call, call])

    return pay


def test_every_judged_leaf_of_every_trial_is_likely_asked_about_once(store, tasks, judged_before):
    judged_before(0.01)
    judged_before(9.99, judge=ModelSpec.parse("openai/other"))
    found = estimate_judge(store, config(), tasks)
    # nop: 2 repetitions, react: 2 repetitions in 2 rounds; one judged leaf.
    assert (found.leaves, found.calls_seen) == (6, 2)
    assert (found.likely.model_calls, found.likely.tokens) == (6, 6000)
    assert found.likely.cost_usd == pytest.approx(0.06)


def test_at_most_it_is_asked_as_often_as_it_may_be_about_the_largest_deliverable(store, tasks):
    found = estimate_judge(store, config(), tasks)
    assert found.at_most.model_calls == 6 * MAX_ASKS * MAX_VIEWS
    assert found.at_most.tokens > 6 * MAX_ASKS * MAX_VIEWS * 40_000
    assert found.at_most.cost_usd > 1
    capped = config().model_copy(update={"max_usd": 1.0})
    assert estimate_judge(store, capped, tasks).at_most.cost_usd == 1.0


def test_what_is_not_known_stays_unknown(store, tasks, judged_before):
    unpriced = ModelSpec.parse("compatible/mine")
    assert estimate_judge(store, config(), tasks).likely is None
    judged_before(None, judge=unpriced)
    found = estimate_judge(store, config(unpriced), tasks)
    assert (found.likely.tokens, found.likely.cost_usd) == (6000, None)
    assert found.at_most.cost_usd is None
    assert totals(estimate(store, config(unpriced), tasks), found)["at_most_usd"] is None


def test_a_judge_whose_replies_are_played_back_costs_nothing(store, tasks, judged_before):
    judged_before(0.01)
    replayed = config().model_copy(update={"replies": "replay"})
    found = estimate_judge(store, replayed, tasks)
    assert found.leaves == 6
    assert found.likely == found.at_most == Effort(model_calls=0, tokens=0, cost_usd=0.0)


def test_the_judge_is_part_of_the_total(store, tasks):
    agents, judge = estimate(store, config(), tasks), estimate_judge(store, config(), tasks)
    with_judge = totals(agents, judge)["at_most_usd"]
    assert with_judge == pytest.approx(totals(agents)["at_most_usd"] + judge.at_most.cost_usd)


def test_without_a_judge_there_is_nothing_to_say(store, tasks):
    assert estimate_judge(store, config(judge=None), tasks) is None


@pytest.mark.parametrize("text", ["", "x", "ß", "a b ", "abcd ", "\N{PARTY POPPER}", "\n", "7,"])
def test_no_question_costs_more_than_the_largest(text):
    price = price_of(JUDGE)
    sight = sight_of(JUDGE, None, JudgeSettings(max_tokens=5_000))
    largest = call_bound(largest_request("Polite.", MEMO, sight), price)
    trial = TrialEvidence({"memo.md": TextView(text=text * 20_000)}, final_answer=text * 20_000)
    leaf = Checkpoint(id="tone", requirement="Polite.", verifier=MEMO)
    for judge in (sight, Sight(max_tokens=sight.max_tokens)):
        asked = judge_request(show(trial, [leaf], {}, judge), "Polite.", MEMO)
        assert call_bound(asked, price).usd <= largest.usd


def test_a_panel_asks_every_judge(store, tasks, judged_before):
    alone = estimate_judge(store, config(), tasks)
    panel = config(None).model_copy(
        update={"judges": tuple(JudgeSpec(model=m) for m in (JUDGE, "anthropic/claude-sonnet-4-5"))}
    )
    judged_before(0.01)
    found = estimate_judge(store, panel, tasks)
    assert found.judge == "median of openai/gpt-5.2, anthropic/claude-sonnet-4-5"
    assert found.leaves == alone.leaves
    assert found.at_most.model_calls == 2 * alone.at_most.model_calls
    assert found.at_most.cost_usd > alone.at_most.cost_usd
    # Nothing is known of what the other judge takes.
    assert (found.likely, found.calls_seen) == (None, 2)
    capped = estimate_judge(store, panel.model_copy(update={"max_usd": 0.5}), tasks)
    assert capped.at_most.cost_usd == 0.5


def test_a_panel_learns_from_earlier_panels(store, new_run, new_task, plan_trial, tasks):
    """Both judges sat on a panel before; ids of dated models and of larger names are told apart."""
    mini = ModelSpec.parse("openai/gpt-5.2-mini")
    judges = (JudgeSpec(model=JUDGE), JudgeSpec(model=mini))
    before = new_run(new_task("one"), judges=judges)
    trial = plan_trial(before, new_task("one"))
    paid = {"gpt-5.2-2026-01-09": 0.02, "gpt-5.2-mini": 0.001, "gpt-5.2-mini-2026-01-09": 0.003}
    store.record_calls(
        [
            ModelCall(
                trial_id=trial.id,
                purpose=CallPurpose.JUDGE,
                key="a" * 64,
                model=model,
                usage=Usage(input_tokens=900, output_tokens=100),
                cost_usd=cost_usd,
                at=datetime.now(UTC),
            )
            for model, cost_usd in paid.items()
        ]
    )
    assert store.past_judging(JUDGE).cost_usd == pytest.approx(0.02)
    assert store.past_judging(mini).calls == 2
    panel = config(None).model_copy(update={"judges": judges})
    found = estimate_judge(store, panel, tasks)
    assert (found.leaves, found.calls_seen, found.likely.model_calls) == (6, 3, 12)
    assert found.likely.cost_usd == pytest.approx(6 * 0.02 + 6 * 0.002)
