"""What is known afterwards of calls that were not answered, and what they may have cost."""

import pytest

from environments.metering import accounting
from environments.models.record.log import CallLog, Payer
from environments.models.record.recorder import CallRecorder
from taskdata.errors import ModelUnavailable
from tests.environments.models.limiters import budget_of, spent_usd
from tests.paid import paid

ASKED = {"messages": [{"role": "user", "content": "Hello"}], "max_completion_tokens": 500}


async def test_what_failed_before_is_told_with_the_answer(wire, program, key):
    wire.then(wire.fails(500, f"overloaded, {key}"), wire.drops(), wire.says("there"))
    async with program() as agent:
        statuses = [(await agent.chat())[0] for _ in range(3)]
    assert statuses == [500, 502, 200]
    (reply,) = agent.replies
    refused, dropped = reply.failed_attempts
    assert (refused.status, dropped.status) == (500, None)
    assert refused.cause.startswith("HTTP 500")
    assert "overloaded" in refused.cause
    assert dropped.cause.startswith("the connection failed")
    assert key not in refused.cause
    assert "127.0.0.1" not in refused.cause + dropped.cause
    assert 0 <= dropped.seconds < 5
    assert agent.recorded.unanswered == []


async def test_each_answer_tells_of_its_own_question_only(wire, program):
    wire.respond = lambda seen: (
        wire.says("Yes") if seen.body["messages"][0]["content"] == "a" else wire.fails(500)
    )
    wire.then(wire.fails(502))
    async with program() as agent:
        for text in ("a", "b", "b", "a"):
            await agent.chat(messages=[{"role": "user", "content": text}])
        assert agent.recorded.unanswered == []
    (reply,) = agent.replies
    assert [attempt.status for attempt in reply.failed_attempts] == [502]
    assert [[a.status for a in attempts] for attempts in agent.recorded.unanswered] == [[500, 500]]


async def test_what_the_program_got_wrong_is_evidence_too(wire, program):
    wire.then(wire.fails(400, "max_tokens is too large"))
    async with program() as agent:
        await agent.chat()
    ((attempt,),) = agent.recorded.unanswered
    assert (attempt.status, attempt.cost_at_most_usd) == (400, 0)
    assert "too large" in attempt.cause


async def test_evidence_is_fit_to_be_stored_whatever_the_provider_says(wire, program):
    wire.then(wire.fails(500, "half a \ud800 character, and\nmany" + " words" * 1_000))
    async with program() as agent:
        await agent.chat()
    ((attempt,),) = agent.recorded.unanswered
    assert len(attempt.cause) <= 300
    assert "\n" not in attempt.cause
    assert "half a" in attempt.model_dump_json()


@pytest.mark.parametrize("fault", ["drops", "sends"])
async def test_a_call_that_may_have_been_worked_on_is_counted_at_its_most(wire, program, fault):
    lost = wire.drops() if fault == "drops" else wire.sends(b"<html>", "text/html")
    wire.then(lost, wire.says("there", input_tokens=100, output_tokens=10))
    async with program(max_turns=1) as agent:
        await agent.chat(**ASKED)
        lost_usd = agent.proxy.budget.spent.usd
        # Turns and tokens are the agent's: it still has them all.
        assert (agent.proxy.budget.spent.calls, agent.proxy.budget.spent.tokens) == (0, 0)
        status, _ = await agent.chat(**ASKED)
    assert status == 200
    assert lost_usd > 500 * 100e-6
    (reply,) = agent.replies
    assert reply.failed_attempts[0].cost_at_most_usd == pytest.approx(lost_usd)
    assert agent.proxy.budget.spent.usd == pytest.approx(lost_usd + reply.cost_usd)


async def test_a_call_that_was_turned_down_or_never_sent_costs_nothing(wire, program):
    wire.then(wire.fails(500))
    for url in ("", "http://127.0.0.1:9/v1"):
        async with program(url=url) as agent:
            await agent.chat()
        ((attempt,),) = agent.recorded.unanswered
        assert (attempt.cost_at_most_usd, agent.proxy.budget.spent.usd) == (0, 0)


async def test_calls_that_are_lost_cannot_spend_more_than_there_is(wire, program):
    wire.respond = lambda seen: wire.drops()
    async with program(max_usd=0.2) as agent:
        statuses = [(await agent.chat(**ASKED))[0] for _ in range(5)]
    assert statuses == [502, 502, 502, 429, 429]
    assert 0.15 < agent.proxy.budget.spent.usd <= 0.2


async def test_of_very_many_failures_the_rest_is_counted(wire, program, monkeypatch):
    monkeypatch.setattr(accounting, "MAX_FAILED_ATTEMPTS", 2)
    wire.respond = lambda seen: wire.fails(500)
    async with program() as agent:
        for _ in range(5):
            await agent.chat()
    assert [len(attempts) for attempts in agent.recorded.unanswered] == [2]
    assert agent.notices == ["3 more attempts at model calls failed and are not on record."]


async def test_what_may_be_charged_is_the_runs_money(
    wire, program, store, new_run, new_task, plan_trial
):
    run = new_run(new_task("one"))
    trial = plan_trial(run, new_task("one"))
    budget = budget_of()
    wire.then(wire.fails(500), wire.drops())
    async with CallRecorder(store) as recorder:
        log = CallLog(recorder, Payer.trial(trial.id, 1))
        async with program(log=log, run_budget=budget) as agent:
            for _ in range(2):
                await agent.chat(**ASKED)
            with pytest.raises(ModelUnavailable):
                agent.proxy.require_provider()
    lost_usd = agent.proxy.budget.spent.usd
    assert lost_usd > 0
    assert spent_usd(budget) == pytest.approx(lost_usd)
    assert store.spent_usd(run.id) == pytest.approx(lost_usd)
    assert paid(store, run.id) == (0, 0.0)


async def test_what_failed_calls_may_be_charged_leaves_no_program_out_of_money(wire, program):
    wire.then(wire.drops())
    wire.respond = lambda seen: wire.says(
        "more", output_tokens=min(300, seen.body["max_completion_tokens"])
    )
    async with program(max_usd=0.2, max_reply_tokens=1_000) as agent:
        statuses = [(await agent.chat(messages=[]))[0] for _ in range(4)]
        assert statuses == [502, 200, 200, 429]
        with pytest.raises(ModelUnavailable, match="the trial's max_usd would not be used up"):
            agent.proxy.require_provider()
