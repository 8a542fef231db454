"""Reasoning models: how much they think, and what they thought, sent back as they want it."""

import pytest

from environments.models.record.client import StoredReply
from environments.ports import Message
from taskdata.errors import Misuse, ModelRejected
from taskdata.schema.agent import AgentSpec
from taskdata.schema.transcript import ToolCall

QUESTION = Message("user", "What is 1 + 1?")


def next_turn(reply, result: str = "2") -> tuple[Message, ...]:
    """The conversation after a reply that called one tool."""
    turn = Message("assistant", reply.text, tool_calls=reply.tool_calls, replay=reply.replay)
    (call,) = reply.tool_calls
    return (QUESTION, turn, Message("tool", result, call_id=call.id))


THOUGHTS = [
    {"type": "thinking", "thinking": "One and one.", "signature": "c2ln"},
    {"type": "redacted_thinking", "data": "b3BhcXVl"},
    {"type": "text", "text": "Let me add. "},
    {"type": "thinking", "thinking": "With a tool.", "signature": "c2lnMg=="},
    {"type": "tool_use", "id": "toolu_1", "name": "add", "input": {"a": 1}},
]


def anthropic_reply(content: list) -> dict:
    usage = {
        "input_tokens": 10,
        "output_tokens": 50,
        "output_tokens_details": {"thinking_tokens": 40},
    }
    return {"model": "m", "content": content, "stop_reason": "tool_use", "usage": usage}


def test_anthropic_thinking_goes_back_unchanged_and_in_its_place(wire, new_client, ask):
    wire.then(wire.answers(anthropic_reply(THOUGHTS)))
    client = new_client("anthropic")

    reply = ask(client, QUESTION)
    ask(client, *next_turn(reply))

    assert reply.text == "Let me add. "
    assert (reply.usage.output_tokens, reply.usage.reasoning_tokens) == (50, 40)
    assert wire.seen[-1].body["messages"][1] == {"role": "assistant", "content": THOUGHTS}


def test_without_thinking_there_is_nothing_to_send_back(wire, new_client, dialect, ask):
    wire.then(wire.says("Let me add.", ("add", {"a": 1})))

    assert ask(new_client(dialect), QUESTION).replay == ()


def test_calls_that_were_not_answered_are_not_sent_back(wire, new_client, ask):
    unanswered = {"type": "tool_use", "id": "toolu_2", "name": "add", "input": {}}
    wire.then(wire.answers(anthropic_reply([*THOUGHTS, unanswered])))
    client = new_client("anthropic")
    reply = ask(client, QUESTION)
    turn = Message("assistant", "", tool_calls=reply.tool_calls[:1], replay=reply.replay)

    ask(client, QUESTION, turn, Message("tool", "2", call_id="toolu_1"))

    assert wire.seen[-1].body["messages"][1]["content"] == THOUGHTS


REASONING = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [],
    "encrypted_content": "Z3J1bmRs",
}
FUNCTION_CALL = {
    "type": "function_call",
    "id": "fc_1",
    "call_id": "call_1",
    "name": "add",
    "arguments": '{"a": 1}',
}


def response(*output: dict, **fields) -> dict:
    usage = {
        "input_tokens": 10,
        "output_tokens": 50,
        "input_tokens_details": {"cached_tokens": 4},
        "output_tokens_details": {"reasoning_tokens": 40},
    }
    return {"model": "m", "status": "completed", "output": list(output), "usage": usage} | fields


def test_openai_reasoning_goes_back_encrypted_and_nothing_is_kept_there(wire, new_client, ask):
    wire.then(wire.answers(response(REASONING, FUNCTION_CALL)))
    client = new_client("openai-responses")

    reply = ask(client, QUESTION, reasoning_effort="high")
    ask(client, *next_turn(reply), reasoning_effort="high")

    first, second = (seen.body for seen in wire.seen)
    assert first["store"] is False
    assert first["include"] == ["reasoning.encrypted_content"]
    assert first["reasoning"] == {"summary": "auto", "effort": "high"}
    assert second["input"] == [
        {"role": "user", "content": "What is 1 + 1?"},
        REASONING,
        FUNCTION_CALL,
        {"type": "function_call_output", "call_id": "call_1", "output": "2"},
    ]
    assert (reply.usage.cached_input_tokens, reply.usage.reasoning_tokens) == (4, 40)


def test_the_phase_of_a_message_goes_back_too(wire, new_client, ask):
    part = {"type": "output_text", "text": "I will add."}
    said = {"type": "message", "role": "assistant", "phase": "commentary", "content": [part]}
    wire.then(wire.answers(response(said, FUNCTION_CALL)))
    client = new_client("openai-responses")

    ask(client, *next_turn(ask(client, QUESTION)))

    assert wire.seen[-1].body["input"][1:3] == [said, FUNCTION_CALL]


def test_a_model_that_does_not_reason_is_asked_without_encryption(wire, new_client, ask):
    wire.then(wire.fails(400, "Encrypted content is not supported with this model."))
    client = new_client("openai-responses")

    ask(client, QUESTION)

    assert ["include" in seen.body for seen in wire.seen] == [True, False]


@pytest.mark.parametrize(
    ("param", "message"),
    [
        ("reasoning.summary", "Your organization must be verified to generate summaries."),
        ("reasoning", "Unsupported parameter: 'reasoning' is not supported with this model."),
    ],
)
def test_who_may_see_no_summaries_is_asked_without(wire, new_client, ask, param, message):
    wire.then(wire.fails(400, message, param=param))
    client = new_client("openai-responses")

    ask(client, QUESTION)

    assert [seen.body.get("reasoning") for seen in wire.seen] == [{"summary": "auto"}, None]


def test_a_refused_effort_is_not_taken_for_a_refused_summary(wire, new_client, ask):
    wire.then(wire.fails(400, "Unsupported value", param="reasoning.effort"))

    with pytest.raises(ModelRejected):
        ask(new_client("openai-responses"), QUESTION, reasoning_effort="xhigh")

    assert len(wire.seen) == 1


SUMMARISED = REASONING | {"summary": [{"type": "summary_text", "text": "One and one."}]}


@pytest.mark.parametrize(
    ("provider", "answer", "thinking"),
    [
        ("anthropic", anthropic_reply(THOUGHTS), "One and one.\n\nWith a tool."),
        ("openai-responses", response(SUMMARISED, FUNCTION_CALL), "One and one."),
        ("openai-responses", response(REASONING, FUNCTION_CALL), ""),
        (
            "compatible",
            {"choices": [{"message": {"content": "2", "reasoning_content": "One and one."}}]},
            "One and one.",
        ),
    ],
    ids=["anthropic", "responses", "hidden", "compatible"],
)
def test_what_can_be_read_of_the_thoughts_is_in_the_reply(
    wire, new_client, ask, provider, answer, thinking
):
    wire.then(wire.answers(answer))

    assert ask(new_client(provider), QUESTION).thinking == thinking


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning", "reasoning_details"])
def test_thoughts_of_compatible_servers_go_back_with_the_results(wire, new_client, ask, field):
    call = {"id": "c1", "function": {"name": "add", "arguments": "{}"}}
    thought = [{"type": "reasoning.text", "text": "Hm."}] if field.endswith("s") else "Hm."
    message = {"content": None, field: thought, "tool_calls": [call]}
    wire.then(wire.answers({"choices": [{"message": message, "finish_reason": "tool_calls"}]}))
    client = new_client("compatible")

    ask(client, *next_turn(ask(client, QUESTION)))

    assert wire.seen[-1].body["messages"][1][field] == thought


def test_a_server_that_wants_no_thoughts_back_is_not_sent_any_again(wire, new_client, ask):
    call = {"id": "c1", "function": {"name": "add", "arguments": "{}"}}
    message = {"reasoning_content": "Hm.", "tool_calls": [call]}
    refusal = "The reasoning_content field in your input messages is not supported"
    wire.then(
        wire.answers({"choices": [{"message": message}]}),
        wire.fails(400, refusal),
        wire.says("2"),
    )
    client = new_client("compatible")
    turn = next_turn(ask(client, QUESTION))

    ask(client, *turn)
    ask(client, *turn)

    sent = ["reasoning_content" in seen.body["messages"][1] for seen in wire.seen[1:]]
    assert sent == [True, False, False]


def test_a_thought_signature_goes_back_with_its_call(wire, new_client, ask):
    signature = {"google": {"thought_signature": "c2ln"}}
    call = {
        "id": "c1",
        "function": {"name": "add", "arguments": "{}"},
        "extra_content": signature,
    }
    wire.then(wire.answers({"choices": [{"message": {"tool_calls": [call]}}]}))
    client = new_client("compatible")

    ask(client, *next_turn(ask(client, QUESTION)))

    assert wire.seen[-1].body["messages"][1]["tool_calls"][0]["extra_content"] == signature


def test_another_models_thoughts_are_nobodys_business(wire, new_client, dialect, ask):
    call = ToolCall(id="c1", tool="add", arguments={}, raw="{}")
    foreign = ({"format": "another", "content": ["secret thought"]},)
    turn = Message("assistant", "Adding.", tool_calls=(call,), replay=foreign)

    ask(new_client(dialect), QUESTION, turn, Message("tool", "2", call_id="c1"))

    assert "secret thought" not in str(wire.seen[-1].body)
    assert "Adding." in str(wire.seen[-1].body)


def test_a_reply_cut_at_a_stop_string_does_not_come_back_whole(wire, new_client, ask):
    part = {"type": "output_text", "text": "Action: add\nObservation: made up"}
    said = {"type": "message", "role": "assistant", "content": [part]}
    wire.then(wire.answers(response(REASONING, said)))

    reply = ask(new_client("openai-responses"), QUESTION, stop=("Observation:",))

    assert (reply.text, reply.replay) == ("Action: add\n", ())
    assert "stop" not in wire.seen[0].body


ADAPTIVE = {"type": "adaptive", "display": "summarized"}


@pytest.mark.parametrize(
    ("model", "effort", "max_tokens", "fields"),
    [
        ("claude-opus-4-6", "high", 4096, (ADAPTIVE, {"effort": "high"})),
        ("claude-sonnet-5-5", "minimal", 64, (ADAPTIVE, {"effort": "low"})),
        ("claude-sonnet-4-5-20250929", "medium", 10_000, ({"budget_tokens": 5000}, None)),
        ("claude-haiku-4-5", "low", 2000, ({"budget_tokens": 1024}, None)),
        ("claude-opus-4-1-20250805", "none", 2000, ({"type": "disabled"}, None)),
        ("claude-opus-4-6", None, 4096, (None, None)),
    ],
)
def test_effort_in_the_terms_of_an_anthropic_models_generation(
    wire, new_client, ask, model, effort, max_tokens, fields
):
    ask(new_client("anthropic", model), reasoning_effort=effort, max_tokens=max_tokens)

    body = wire.seen[0].body
    thinking, output_config = fields
    assert body.get("output_config") == output_config
    assert (body.get("thinking") or {}).items() >= (thinking or {}).items()
    assert ("thinking" in body) == (thinking is not None)


def test_a_reply_too_short_to_think_in_is_misuse(new_client, ask):
    with pytest.raises(Misuse, match="raise max_reply_tokens"):
        ask(new_client("anthropic", "claude-haiku-4-5"), reasoning_effort="low", max_tokens=1024)


@pytest.mark.parametrize(
    ("provider", "path"),
    [
        ("openai", ("reasoning_effort",)),
        ("compatible", ("reasoning_effort",)),
        ("openai-responses", ("reasoning", "effort")),
    ],
)
def test_effort_on_the_openai_wires(wire, new_client, ask, provider, path):
    ask(new_client(provider), reasoning_effort="low")

    value = wire.seen[0].body
    for key in path:
        value = value[key]
    assert value == "low"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (
            response(incomplete_details={"reason": "max_output_tokens"}, status="incomplete"),
            "length",
        ),
        (response(incomplete_details={"reason": "content_filter"}, status="incomplete"), "refused"),
        (response(FUNCTION_CALL), "tool_calls"),
        (
            response({"type": "message", "content": [{"type": "refusal", "refusal": "No."}]}),
            "refused",
        ),
    ],
)
def test_why_a_response_ended(wire, new_client, ask, body, reason):
    wire.then(wire.answers(body))
    assert ask(new_client("openai-responses"), QUESTION).stop_reason == reason


def test_a_response_that_failed_is_tried_again(wire, new_client, ask):
    error = {"code": "server_error", "message": "sorry"}
    wire.then(
        wire.answers(response(status="failed", error=error)),
        wire.answers(response(status="cancelled")),
        wire.says("2"),
    )

    reply = ask(new_client("openai-responses"), QUESTION)

    assert reply.text == "2"
    assert "sorry" in reply.failed_attempts[0].cause
    assert "'cancelled'" in reply.failed_attempts[1].cause


def test_an_agent_that_was_stored_before_keeps_its_digest():
    agent = AgentSpec.parse("react:openai/gpt-5.2")
    assert "reasoning_effort" not in agent.canonical_json()
    assert agent.digest() != agent.model_copy(update={"reasoning_effort": "low"}).digest()


def test_temperature_and_effort_exclude_each_other_where_the_provider_says_so():
    with pytest.raises(ValueError, match="models take one of them"):
        AgentSpec.parse("react:openai/gpt-5.2", temperature=0.5, reasoning_effort="low")
    AgentSpec.parse("react:openai/gpt-5.2", temperature=0.5, reasoning_effort="none")
    AgentSpec.parse("react:compatible/qwen3", temperature=0.6, reasoning_effort="low")


@pytest.mark.parametrize("details", ["[" * 300 + "]" * 300, "[1e999]", '["\\ud800"]'])
def test_thoughts_that_no_store_can_hold_take_no_paid_reply_along(wire, new_client, ask, details):
    body = (
        '{"model": "m", "choices": [{"message": {"content": "Two.", "reasoning_details": '
        f'{details}}}, "finish_reason": "stop"}}]}}'
    )
    wire.then(wire.sends(body.encode()))
    reply = ask(new_client("openai"), QUESTION)
    assert (reply.text, reply.replay) == ("Two.", ())
    assert StoredReply.of(reply, "t1").text == "Two."
