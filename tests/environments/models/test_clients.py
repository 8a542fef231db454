"""One contract for every provider's client: they call a server on this machine."""

import asyncio
import logging
import pickle
import traceback

import pytest

from environments.models.client import ProviderClient
from environments.models.faults import ConversationRefused, ConversationTooLong, NoAnswerInTime
from environments.models.retry import RetryPolicy
from environments.ports import Message, ModelReply, ModelRequest
from taskdata.errors import ModelRejected, ModelUnavailable
from taskdata.schema.task import Capability
from taskdata.schema.tool import ToolSpec
from taskdata.schema.transcript import ToolCall, Usage

ADD = ToolSpec(
    name="add",
    description="Add two numbers.",
    category=Capability.LOGIC,
    parameters={"type": "object", "properties": {"a": {"type": "number"}}, "required": ["a"]},
)
HELLO = (Message("system", "Be brief."), Message("user", "Hello?"))


def ask(client: ProviderClient, **fields) -> ModelReply:
    async def run() -> ModelReply:
        try:
            return await client.reply(ModelRequest(**{"messages": HELLO, **fields}))
        finally:
            await client.close()

    return asyncio.run(run())


def test_reply_carries_text_model_usage_and_stop_reason(wire, new_client, dialect):
    wire.then(wire.says("Hi.", input_tokens=20, output_tokens=3, cached_tokens=8, model="m-2026"))

    reply = ask(new_client(dialect))

    assert (reply.text, reply.model, reply.stop_reason) == ("Hi.", "m-2026", "stop")
    assert reply.usage == Usage(input_tokens=20, output_tokens=3, cached_input_tokens=8)
    assert reply.cost_usd is None, "the price of model-1 is unknown, so its cost is too"
    assert reply.seconds > 0


@pytest.mark.parametrize(
    ("provider", "model", "cost"),
    [
        ("openai", "gpt-5.2-2025-12-11", (12 * 1.75 + 8 * 0.175 + 3 * 14.0) / 1e6),
        ("anthropic", "claude-sonnet-4-6", (12 * 3.0 + 8 * 0.3 + 3 * 15.0) / 1e6),
        ("local", "smollm2-135m", 0.0),
        ("compatible", "gpt-5.2", None),
    ],
)
def test_cost_follows_the_price_table(wire, new_client, provider, model, cost):
    wire.then(wire.says("Hi.", input_tokens=20, output_tokens=3, cached_tokens=8))

    assert ask(new_client(provider, model)).cost_usd == pytest.approx(cost)


def test_tool_calls_come_back_parsed(wire, new_client, dialect):
    wire.then(wire.says("Adding.", ("add", {"a": 1}), ("add", {"a": 2})))

    reply = ask(new_client(dialect), tools=(ADD,))

    assert reply.stop_reason == "tool_calls"
    assert [(c.id, c.tool, c.arguments) for c in reply.tool_calls] == [
        ("call_0", "add", {"a": 1}),
        ("call_1", "add", {"a": 2}),
    ]
    sent = wire.seen[0].body["tools"][0]
    assert "Add two numbers." in str(sent)
    sent = sent.get("function", sent)
    assert ADD.parameters in (sent.get("input_schema"), sent.get("parameters"))


@pytest.mark.parametrize("raw", ['{"a": 1', "[1]", "nonsense", '{"a": NaN}', '{"a": "\\ud800"}'])
def test_malformed_arguments_are_kept_raw_and_never_mended(wire, new_client, raw):
    wire.then(wire.says("", ("add", raw)))

    (call,) = ask(new_client("openai"), tools=(ADD,)).tool_calls

    assert (call.arguments, call.raw) == (None, raw)


CONVERSATION = (
    *HELLO,
    Message(
        "assistant",
        "Adding.",
        tool_calls=(
            ToolCall(id="c1", tool="add", arguments={"a": 1}, raw='{"a": 1}'),
            ToolCall(id="c2", tool="add", arguments=None, raw="{bad"),
        ),
    ),
    Message("tool", "1", call_id="c1"),
    Message("tool", "not JSON", call_id="c2", is_error=True),
    Message("user", "Go on."),
)


def test_conversation_on_the_openai_wire(wire, new_client):
    ask(
        new_client("openai"),
        messages=CONVERSATION,
        max_tokens=77,
        temperature=0.5,
        json_schema={"type": "object"},
    )

    body = wire.seen[0].body
    assert [m["role"] for m in body["messages"]] == [
        *("system", "user", "assistant", "tool", "tool", "user")
    ]
    calls = body["messages"][2]["tool_calls"]
    assert [c["function"]["arguments"] for c in calls] == ['{"a": 1}', '{"unreadable": "{bad"}']
    assert body["messages"][3] == {"role": "tool", "tool_call_id": "c1", "content": "1"}
    assert (body["max_completion_tokens"], body["temperature"]) == (77, 0.5)
    assert body["response_format"]["json_schema"]["schema"] == {"type": "object"}


def test_conversation_on_the_anthropic_wire(wire, new_client):
    schema = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}}

    ask(
        new_client("anthropic"),
        messages=CONVERSATION,
        max_tokens=77,
        temperature=0.5,
        stop=("Observation:",),
        json_schema=schema,
    )

    body = wire.seen[0].body
    assert body["system"][0]["text"] == "Be brief."
    assert [m["role"] for m in body["messages"]] == ["user", "assistant", "user"]
    text, good, bad = body["messages"][1]["content"]
    assert text == {"type": "text", "text": "Adding."}
    assert (good["input"], bad["input"]) == ({"a": 1}, {"unreadable": "{bad"})
    first, second, words = body["messages"][2]["content"]
    assert first == {"type": "tool_result", "tool_use_id": "c1", "content": "1"}
    assert second["is_error"] is True
    assert (words["type"], words["text"]) == ("text", "Go on.")
    assert (body["max_tokens"], body["temperature"]) == (77, 0.5)
    assert body["stop_sequences"] == ["Observation:"]
    assert body["output_config"]["format"]["type"] == "json_schema"
    assert "minimum" not in body["output_config"]["format"]["schema"]["properties"]["n"]


def test_compatible_servers_are_asked_with_max_tokens(wire, new_client):
    ask(new_client("compatible"), max_tokens=5)

    assert wire.seen[0].body["max_tokens"] == 5
    assert "max_completion_tokens" not in wire.seen[0].body


def test_a_third_party_is_not_told_the_openai_account(wire, new_client, monkeypatch):
    monkeypatch.setenv("OPENAI_ORG_ID", "org-1")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-1")

    ask(new_client("compatible"))
    ask(new_client("openai"))

    told = ["org-1" in str(seen.headers) for seen in wire.seen]
    assert told == [False, True]


def test_text_ends_before_a_stop_string_whoever_cuts_it(wire, new_client, dialect):
    wire.then(wire.says("Action: add\nObservation: made up"))

    assert ask(new_client(dialect), stop=("Observation:",)).text == "Action: add\n"


def test_a_model_that_refuses_stop_is_asked_without_it(wire, new_client):
    wire.then(wire.fails(400, "Unsupported parameter", code="unsupported_parameter", param="stop"))
    wire.then(wire.says("Fine. Observation: x"))

    assert ask(new_client("openai"), stop=("Observation:",)).text == "Fine. "
    assert ["stop" in seen.body for seen in wire.seen] == [True, False]


def test_refusals_of_the_model_are_told_apart_from_answers(wire, new_client):
    wire.then(wire.says("I cannot.", stop="refusal"))
    assert ask(new_client("anthropic")).stop_reason == "refused"
    wire.then(wire.says("", stop="content_filter"))
    assert ask(new_client("openai")).stop_reason == "refused"


TRANSIENT = {
    "server error": lambda w: w.fails(500),
    "overloaded": lambda w: w.fails(529, kind="overloaded_error"),
    "rate limit": lambda w: w.fails(429, retry_after=0.02),
    "html page": lambda w: w.sends(b"<html><body>Bad gateway</body></html>", "text/html"),
    "garbage": lambda w: w.sends(b'{"choices": "no"}'),
    "empty object": lambda w: w.sends(b"{}"),
    "empty body": lambda w: w.sends(b""),
    "deep nesting": lambda w: w.sends(b"[" * 100_000),
    "truncated": lambda w: w.truncates(),
    "hang up": lambda w: w.drops(),
}


@pytest.mark.parametrize("fault", TRANSIENT)
def test_a_passing_fault_is_retried(wire, new_client, dialect, fault):
    wire.then(TRANSIENT[fault](wire), TRANSIENT[fault](wire), wire.says("At last."))

    assert ask(new_client(dialect)).text == "At last."
    assert len(wire.seen) == 3


@pytest.mark.parametrize("fault", TRANSIENT)
def test_a_lasting_fault_ends_after_five_attempts(wire, new_client, dialect, fault):
    wire.respond = lambda seen: TRANSIENT[fault](wire)

    with pytest.raises(ModelUnavailable, match=r"gave up after 5 attempts") as caught:
        ask(new_client(dialect))

    assert len(wire.seen) == 5
    assert "\n" not in str(caught.value)
    assert "127.0.0.1" in str(caught.value)


def test_retry_after_is_honoured_even_beyond_our_own_longest_wait(wire, new_client, dialect):
    policy = RetryPolicy(first_wait_seconds=0.01, longest_wait_seconds=0.05)
    wire.then(wire.fails(429, retry_after=0.2), wire.fails(429, retry_after=0.4), wire.says("ok"))

    reply = ask(new_client(dialect, policy=policy))

    assert 0.6 <= reply.seconds < 5


def test_waiting_never_exceeds_the_time_of_the_request(wire, new_client, dialect):
    policy = RetryPolicy(first_wait_seconds=0.01, longest_wait_seconds=60)
    wire.respond = lambda seen: wire.fails(429, retry_after=30)

    with pytest.raises(ModelUnavailable, match="HTTP 429"):
        ask(new_client(dialect, policy=policy), timeout_seconds=1)

    assert len(wire.seen) == 1


def test_a_server_that_never_answers_is_no_answer_in_time(wire, new_client, dialect):
    wire.respond = lambda seen: wire.waits(30, wire.says("late"))

    with pytest.raises(NoAnswerInTime, match=r"no answer within 0\.3 s"):
        ask(new_client(dialect), timeout_seconds=0.3)


def test_a_slow_attempt_is_given_up_and_tried_again(wire, new_client, dialect):
    policy = RetryPolicy(attempt_seconds=0.3, first_wait_seconds=0.01)
    wire.then(wire.waits(30, wire.says("late")), wire.says("prompt"))

    assert ask(new_client(dialect, policy=policy)).text == "prompt"


def test_no_server_at_all_names_the_address(new_client, dialect):
    with pytest.raises(ModelUnavailable, match=r"127\.0\.0\.1:9: the connection failed"):
        ask(new_client(dialect, url="http://127.0.0.1:9/v1"))


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
def test_a_rejection_is_not_retried(wire, new_client, dialect, status):
    wire.respond = lambda seen: wire.fails(status, "no such thing")

    with pytest.raises(ModelRejected, match=f"HTTP {status}"):
        ask(new_client(dialect))

    assert len(wire.seen) == 1


def test_an_empty_account_is_not_retried(wire, new_client):
    wire.respond = lambda seen: wire.fails(429, "no money", code="insufficient_quota")

    with pytest.raises(ModelRejected, match="insufficient_quota"):
        ask(new_client("openai"))

    assert len(wire.seen) == 1


@pytest.mark.parametrize(
    ("provider", "fault"),
    [
        ("openai", {"message": "too long", "code": "context_length_exceeded"}),
        ("local", {"message": "exceeds the available size", "kind": "exceed_context_size_error"}),
        ("compatible", {"message": "maximum context length is 4096 tokens"}),
        ("anthropic", {"message": "prompt is too long: 210000 tokens > 200000 maximum"}),
    ],
)
def test_overflow_is_recognised(wire, new_client, provider, fault):
    wire.then(wire.fails(400, **fault))

    with pytest.raises(ConversationTooLong):
        ask(new_client(provider))


def test_refused_content_is_recognised(wire, new_client):
    wire.then(wire.fails(400, "flagged", code="content_policy_violation"))

    with pytest.raises(ConversationRefused):
        ask(new_client("openai"))


@pytest.mark.parametrize("status", [400, 401, 404, 429, 500])
def test_no_key_and_no_prompt_in_errors_tracebacks_or_logs(
    wire, new_client, dialect, key, status, caplog
):
    caplog.set_level(logging.DEBUG, logger="environments")
    prompt = "secret prompt " * 100
    wire.respond = lambda seen: wire.fails(status, f"bad key {key} for {prompt}")

    with pytest.raises((ModelRejected, ModelUnavailable)) as caught:
        ask(new_client(dialect), messages=(Message("user", prompt),))

    told = "".join(traceback.format_exception(caught.value)) + caplog.text
    assert key not in told
    assert prompt not in told
    assert any(key in value for value in wire.seen[0].headers.values()), "the call carried the key"


def test_errors_survive_pickling(wire, new_client, dialect):
    wire.then(wire.fails(404, "no such model"))
    with pytest.raises(ModelRejected) as caught:
        ask(new_client(dialect))

    copy = pickle.loads(pickle.dumps(caught.value))

    assert (type(copy), str(copy)) == (type(caught.value), str(caught.value))


def test_one_client_serves_concurrent_calls(wire, new_client, dialect):
    wire.respond = lambda seen: wire.waits(0.2, wire.says("ok"))

    async def crowd() -> list[ModelReply]:
        client = new_client(dialect)
        try:
            request = ModelRequest(messages=HELLO)
            return await asyncio.gather(*(client.reply(request) for _ in range(20)))
        finally:
            await client.close()

    assert [reply.text for reply in asyncio.run(crowd())] == ["ok"] * 20
    assert wire.most_at_once == 20


def test_a_server_without_usage_has_an_unknown_cost(wire, new_client):
    body = b'{"model": "m", "choices": [{"message": {"content": "x"}, "finish_reason": "stop"}]}'
    wire.then(wire.sends(body))

    reply = ask(new_client("openai", "gpt-5.2"))

    assert (reply.usage, reply.cost_usd) == (Usage(), None)
