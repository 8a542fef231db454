"""What a program gets through the proxy, what it does not, and what is known of it afterwards."""

import asyncio
import json
import logging

import aiohttp
import pytest

from environments.metering.calls import Terms
from environments.metering.program_budget import ProgramBudget
from environments.metering.proxy import metering_proxy
from environments.models.money.prices import Price
from environments.models.wire.endpoint import Endpoint
from taskdata.errors import BudgetExhausted, ModelRejected, ModelUnavailable
from taskdata.schema.agent import Budget, ModelSpec
from taskdata.schema.transcript import Ending
from tests.environments.models.limiters import budget_of, spent_usd

PRICE = Price(input=10, output=100, cached_input=1)


async def test_a_call_goes_through_with_the_real_key_and_is_recorded(wire, program, key):
    wire.then(wire.says("Hi", ("look", {"at": 1}), input_tokens=100, output_tokens=10))
    async with program() as agent:
        status, body = await agent.chat()
    (seen,) = wire.seen
    assert seen.headers["Authorization"] == f"Bearer {key}"
    assert status == 200
    assert body["choices"][0]["message"]["content"] == "Hi"
    (reply,) = agent.replies
    assert (reply.text, reply.tool_calls[0].arguments) == ("Hi", {"at": 1})
    assert reply.usage.total == 110
    assert reply.cost_usd == pytest.approx(100 * 10e-6 + 10 * 100e-6)
    assert agent.proxy.budget.spent.tokens == 110


async def test_logins_of_netrc_do_not_take_the_place_of_the_key(
    wire, program, key, monkeypatch, tmp_path
):
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login me password secret\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    async with program() as agent:
        await agent.chat()
    assert wire.seen[0].headers["Authorization"] == f"Bearer {key}"


async def test_the_anthropic_format_goes_through_as_well(wire, program, key):
    wire.then(wire.says("Hi", ("look", {"at": 1}), input_tokens=100, cached_tokens=40))
    async with program("anthropic") as agent:
        status, body = await agent.message()
    assert wire.seen[0].headers["x-api-key"] == key
    assert status == 200
    assert body["content"][0]["text"] == "Hi"
    (reply,) = agent.replies
    assert (reply.usage.input_tokens, reply.usage.cached_input_tokens) == (100, 40)
    assert (reply.tool_calls[0].tool, reply.stop_reason) == ("look", "tool_calls")


@pytest.mark.parametrize("token", ["", "wrong", "sk-canary-0123456789", "é"])
async def test_another_key_than_the_trials_is_refused(wire, program, token):
    async with program() as agent:
        status, body = await agent.post("/v1/chat/completions", token, model="m", messages=[])
    assert status == 401
    assert body["error"]["code"] == "authentication_error"
    assert not wire.seen


async def test_the_agents_model_answers_whatever_the_program_names(wire, program):
    async with program() as agent:
        await agent.chat(model="gpt-huge")
        await agent.chat(model="gpt-huge")
    assert [seen.body["model"] for seen in wire.seen] == ["model-1", "model-1"]
    assert agent.notices == ["The program asked for model 'gpt-huge'; model-1 answers."]


async def test_only_the_paths_of_the_models_formats_are_there(wire, program):
    async with program() as agent:
        headers = {"authorization": f"Bearer {agent.proxy.token}"}
        for path in ("/v1/files", "/v1/messages", "/", "/v1/chat/completions/../../files"):
            status, body = await agent.post(path)
            assert status == 404
            assert "/v1/chat/completions" in body["error"]["message"]
        async with agent.session.get(f"{agent.proxy.url}/v1/models", headers=headers) as got:
            models = await got.json()
    assert [entry["id"] for entry in models["data"]] == ["model-1"]
    assert not wire.seen


async def test_a_reply_is_held_to_what_the_budget_allows(wire, program):
    async with program(max_reply_tokens=500) as agent:
        await agent.chat()
        await agent.chat(max_tokens=9_000)
        await agent.chat(max_completion_tokens=50)
    bodies = [seen.body for seen in wire.seen]
    assert [b.get("max_completion_tokens") for b in bodies] == [500, None, 50]
    assert bodies[1]["max_tokens"] == 500


async def test_calls_beyond_max_turns_are_refused_and_not_made(wire, program):
    async with program(max_turns=2) as agent:
        statuses = [(await agent.chat())[0] for _ in range(4)]
    assert statuses == [200, 200, 429, 429]
    assert len(wire.seen) == 2
    assert agent.proxy.ending is Ending.OUT_OF_TURNS
    assert agent.notices == ["A call was not made: the trial's budget is spent: out of turns."]


async def test_anthropic_programs_are_told_in_their_own_format(program):
    async with program("anthropic", max_tokens=1) as agent:
        status, body = await agent.message()
    assert (status, body["type"], body["error"]["type"]) == (402, "error", "billing_error")
    assert agent.proxy.ending is Ending.OUT_OF_TOKENS


async def test_calls_at_once_cannot_overspend_between_them(wire, program):
    def writes_up_to(seen):
        written = min(900, seen.body["max_completion_tokens"])
        return wire.waits(0.05, wire.says("x", input_tokens=50, output_tokens=written))

    wire.respond = writes_up_to
    async with program(max_usd=0.5, max_reply_tokens=1_000) as agent:
        done = await asyncio.gather(*(agent.chat() for _ in range(12)))
    paid = sum(reply.cost_usd for reply in agent.replies)
    assert paid <= 0.5
    assert agent.proxy.ending is Ending.OUT_OF_MONEY
    assert {status for status, _ in done} == {200, 429}
    # What each call did not use of its reservation was there for the next ones.
    assert paid > 0.4


async def test_no_more_than_eight_calls_are_in_flight(wire, program):
    wire.respond = lambda seen: wire.waits(0.05, wire.says("x"))
    async with program() as agent:
        await asyncio.gather(*(agent.chat() for _ in range(20)))
    assert wire.most_at_once == 8


async def test_the_deadline_is_the_trials(wire, program):
    slow = wire.waits(0.3, wire.says("slow"))
    wire.then(slow, wire.waits(5, wire.says("late")))
    async with program(max_seconds=0.6) as agent:
        statuses = [(await agent.chat())[0] for _ in range(3)]
        # The model is slow, but it has answered.
        agent.proxy.require_provider()
    assert statuses == [200, 504, 429]
    assert agent.proxy.budget.spent.calls == 2
    ((cut,),) = agent.recorded.unanswered
    assert (cut.status, cut.cause) == (None, "we cut it off")
    (reply,) = agent.replies
    assert cut.cost_at_most_usd + reply.cost_usd == pytest.approx(agent.proxy.budget.spent.usd)
    assert agent.proxy.ending is Ending.OUT_OF_TIME


async def test_an_answer_that_is_still_coming_is_slow_and_no_fault(wire, program, streams):
    async def goes_on(seen, request):
        begun = {"choices": [{"index": 0, "delta": {"content": "Well,"}}]}
        response = await streams(begun)(seen, request)
        await asyncio.sleep(5)
        return response

    wire.then(goes_on)
    async with program(max_seconds=0.4) as agent:
        with pytest.raises(Exception, match="payload"):
            await agent.stream("/v1/chat/completions")
        agent.proxy.require_provider()
        assert agent.proxy.budget.seconds_left == 0


async def test_a_provider_that_never_answers_is_to_blame_for_the_time(wire, program):
    wire.respond = lambda seen: wire.waits(5, wire.says("late"))
    async with program(max_seconds=0.3) as agent:
        assert (await agent.chat())[0] == 504
        with pytest.raises(ModelUnavailable, match="no answer within"):
            agent.proxy.require_provider()


async def test_a_provider_that_fails_is_to_blame_until_it_answers(wire, program):
    wire.then(wire.fails(429, retry_after=7), wire.fails(500), wire.drops(), wire.says("there"))
    async with program(max_seconds=6) as agent:
        statuses = []
        for _ in range(3):
            statuses.append((await agent.chat())[0])
            with pytest.raises(ModelUnavailable, match="model-1"):
                agent.proxy.require_provider()
        await agent.chat()
        agent.proxy.require_provider()
    assert statuses == [429, 500, 502]
    assert agent.proxy.budget.spent.calls == 1


async def test_a_request_that_the_provider_turns_down_is_the_programs_own(wire, program):
    wire.then(wire.fails(400, "max_tokens is too large", code="invalid_value"))
    async with program() as agent:
        status, body = await agent.chat()
        agent.proxy.require_provider()
    assert (status, body["error"]["code"]) == (400, "invalid_value")
    assert agent.proxy.budget.spent.calls == 1


async def test_a_format_that_the_provider_lacks_is_no_way_out_of_a_score(wire, program):
    wire.then(wire.fails(404, "no such route"), wire.says("Hi"), wire.fails(404, "no such file"))
    async with program("compatible") as agent:
        assert (await agent.post("/v1/responses", input="Hello"))[0] == 404
        agent.proxy.require_provider()
        assert (await agent.chat())[0] == 200
        # The name of the model and the base URL are right: it has answered.
        assert (await agent.chat())[0] == 404
        agent.proxy.require_provider()


async def test_a_model_that_the_provider_does_not_know_is_ours_to_mend(wire, program):
    wire.then(wire.fails(404, "no such model"))
    async with program() as agent:
        await agent.chat()
        with pytest.raises(ModelRejected, match="HTTP 404"):
            agent.proxy.require_provider()


async def test_an_empty_account_is_not_the_programs(wire, program):
    wire.then(wire.fails(429, "You exceeded your quota", code="insufficient_quota"))
    async with program() as agent:
        await agent.chat()
        with pytest.raises(ModelRejected, match="insufficient_quota"):
            agent.proxy.require_provider()


async def test_what_a_provider_says_of_our_key_is_not_passed_on(wire, program, key):
    wire.then(wire.fails(401, f"Incorrect API key provided: {key[:10]}"), wire.fails(400, key))
    async with program() as agent:
        status, body = await agent.chat()
        with pytest.raises(ModelRejected, match="API key"):
            agent.proxy.require_provider()
        _, echoed = await agent.chat()
    assert status == 401
    assert key[:10] not in json.dumps([body, echoed])


async def test_a_redirect_is_not_followed(wire, program):
    async def moved(seen, request):
        return aiohttp.web.Response(status=307, headers={"location": f"{wire.url}/v1/messages"})

    wire.then(moved)
    async with program() as agent:
        status, _ = await agent.chat()
    assert (status, len(wire.seen)) == (502, 1)


async def test_an_answer_that_is_no_json_is_the_providers_fault(wire, program):
    wire.then(wire.sends(b"<html>", "text/html"), wire.answers({"error": {"message": "x"}}))
    async with program() as agent:
        for _ in range(2):
            assert (await agent.chat())[0] == 502
            with pytest.raises(ModelUnavailable):
                agent.proxy.require_provider()


async def test_usage_that_is_not_reported_is_unknown_and_counts_as_all_it_could_be(wire, program):
    reply = {"model": "m", "choices": [{"message": {"content": "x"}, "finish_reason": "stop"}]}
    wire.then(wire.answers(reply))
    async with program(max_reply_tokens=100) as agent:
        await agent.chat()
    assert agent.replies[0].cost_usd is None
    assert agent.proxy.budget.spent.tokens > 100


async def test_a_body_beyond_the_limit_is_refused(wire, program):
    async with program() as agent:
        status, body = await agent.chat(messages=[{"role": "user", "content": "x" * 17_000_000}])
    assert (status, body["error"]["code"]) == (413, "request_too_large")
    assert not wire.seen


async def test_what_a_program_leaves_behind_is_counted_and_then_cut_off(wire, program):
    wire.respond = lambda seen: wire.waits(0.2, wire.says("late", input_tokens=7))
    async with program() as agent:
        leaving = asyncio.create_task(agent.chat())
        await asyncio.sleep(0.1)
        leaving.cancel()
        await asyncio.gather(leaving, return_exceptions=True)
        await agent.proxy.settled()
        assert [reply.usage.input_tokens for reply in agent.replies] == [7]


async def test_the_runs_money_is_shared_and_its_end_is_not_the_agents(wire, key, record):
    wire.respond = lambda seen: wire.says("x", input_tokens=100, output_tokens=100)
    run_budget = budget_of(0.2)
    endpoint = Endpoint(ModelSpec(provider="openai", model="m"), wire.openai_url, key)
    budget = ProgramBudget(Budget(max_reply_tokens=1_000), PRICE)
    terms = Terms(endpoint, budget, record, run_budget=run_budget)
    async with (
        metering_proxy(terms) as proxy,
        aiohttp.ClientSession(headers={"x-api-key": proxy.token}) as session,
    ):
        statuses = []
        for _ in range(12):
            async with session.post(f"{proxy.url}/v1/chat/completions", json={}) as answered:
                statuses.append(answered.status)
        with pytest.raises(BudgetExhausted, match="money is used up"):
            proxy.require_provider()
    assert statuses[0] == 200
    assert statuses[-1] == 429
    assert spent_usd(run_budget) == pytest.approx(len(wire.seen) * 0.011)


async def test_a_no_with_status_200_is_the_programs_and_may_be_charged(wire, program):
    message = "maximum context length is 9"
    wire.then(wire.answers({"error": {"code": 400, "message": message}}))
    async with program(max_usd=1.0) as agent:
        status, body = await agent.chat()
        agent.proxy.require_provider()
    assert (status, body["error"]["message"]) == (400, message)
    ((no,),) = agent.recorded.unanswered
    assert no.cost_at_most_usd == pytest.approx(agent.proxy.budget.spent.usd)
    assert no.cost_at_most_usd > 0
    assert agent.proxy.budget.lost_usd == 0


async def test_the_key_is_in_no_log(wire, program, key, caplog):
    caplog.set_level(logging.DEBUG)
    wire.then(wire.fails(401, key), wire.fails(500, key), wire.drops())
    async with program() as agent:
        for _ in range(4):
            await agent.chat()
    assert key not in caplog.text
    assert key not in repr(agent.proxy.endpoint)
