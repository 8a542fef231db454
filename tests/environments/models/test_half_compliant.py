"""Servers that comply by halves: read right, or a failed attempt, and never anything invented."""

import json
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from environments.models.faults import ConversationTooLong
from environments.models.formats.usage import usage_of
from environments.models.retry import RetryPolicy
from environments.models.wire.reading import read_call, read_json
from environments.ports import Message
from taskdata.errors import ModelRejected, ModelUnavailable
from taskdata.schema.transcript import Usage

ONCE = RetryPolicy(attempts=1)


def completion(message: dict, **fields) -> dict:
    choice = {"message": message, "finish_reason": "stop"}
    usage = {"prompt_tokens": 7, "completion_tokens": 3}
    return {"model": "m", "choices": [choice], "usage": usage} | fields


def called(**function) -> dict:
    return completion({"tool_calls": [{"function": {"name": "add"} | function}]})


def test_content_in_parts_is_what_its_text_parts_say(wire, new_client, ask):
    parts = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]},
        {"type": "text", "text": "Forty"},
        "-two",
    ]
    wire.then(wire.answers(completion({"content": parts})))

    assert ask(new_client("compatible")).text == "Forty-two"


@pytest.mark.parametrize("arguments", [{"a": 1}, '{"a": 1}'])
def test_arguments_may_come_as_an_object(wire, new_client, ask, arguments):
    wire.then(wire.answers(called(arguments=arguments)))

    (call,) = ask(new_client("compatible")).tool_calls

    assert (call.arguments, json.loads(call.raw)) == ({"a": 1}, {"a": 1})


def test_ids_may_be_numbers_and_go_back_as_text(wire, new_client, ask):
    calls = [{"id": number, "function": {"name": "add"}} for number in (0, 1)]
    wire.then(wire.answers(completion({"tool_calls": calls})))

    reply = ask(new_client("compatible"))

    assert [call.id for call in reply.tool_calls] == ["0", "1"]
    assert reply.failed_attempts == ()


def calling(provider: str, name: object, arguments: object) -> dict:
    """An answer with one call, in the format of the provider."""
    if provider == "anthropic":
        use = {"type": "tool_use", "id": "c1", "name": name, "input": arguments}
        return {"model": "m", "content": [use], "stop_reason": "tool_use"}
    if provider == "openai-responses":
        call = {"type": "function_call", "call_id": "c1", "name": name, "arguments": arguments}
        return {"model": "m", "status": "completed", "output": [call]}
    return called(name=name, arguments=arguments)


@pytest.mark.parametrize("arguments", [["x"], 5, True])
def test_arguments_that_are_no_object_are_the_models_mistake(
    wire, new_client, dialect, ask, arguments
):
    wire.then(wire.answers(calling(dialect, "add", arguments)))

    reply = ask(new_client(dialect))

    (call,) = reply.tool_calls
    assert (call.arguments, json.loads(call.raw)) == (None, arguments)
    assert reply.failed_attempts == ()


@pytest.mark.parametrize("name", ["", None])
def test_a_call_of_no_name_is_a_call_of_a_tool_that_there_is_not(
    wire, new_client, dialect, ask, name
):
    wire.then(wire.answers(calling(dialect, name, {})))

    reply = ask(new_client(dialect))

    assert [call.tool for call in reply.tool_calls] == [""]
    assert reply.failed_attempts == ()


def test_the_call_of_an_older_format_is_read(wire, new_client, ask):
    said = {"content": None, "function_call": {"name": "add", "arguments": '{"a": 1}'}}
    wire.then(wire.answers(completion(said)))

    (call,) = ask(new_client("compatible")).tool_calls

    assert (call.tool, call.arguments) == ("add", {"a": 1})
    assert call.id


@pytest.mark.parametrize("empty", [None, {}, {"name": "", "arguments": ""}, "none"])
def test_an_older_formats_empty_call_is_none(wire, new_client, ask, empty):
    wire.then(wire.answers(completion({"content": "Done.", "function_call": empty})))

    reply = ask(new_client("compatible"))

    assert (reply.text, reply.tool_calls, reply.failed_attempts) == ("Done.", (), ())


@pytest.mark.parametrize("written", [{}, {"arguments": None}, {"arguments": ""}])
def test_no_arguments_are_no_arguments_and_go_back_as_such(wire, new_client, ask, written):
    wire.then(wire.answers(called(**written)))
    client = new_client("compatible")
    (call,) = ask(client).tool_calls
    assert call.arguments == {}

    turn = Message("assistant", "", tool_calls=(call,))
    ask(client, Message("user", "?"), turn, Message("tool", "1", call_id=call.id))

    (sent,) = wire.seen[-1].body["messages"][1]["tool_calls"]
    assert sent["function"]["arguments"] == "{}"


@pytest.mark.parametrize("given_id", [{}, {"id": None}, {"id": ""}, {"id": "same"}])
def test_calls_without_an_id_of_their_own_get_one(wire, new_client, ask, given_id):
    calls = [{"function": {"name": "add", "arguments": "{}"}} | given_id for _ in range(2)]
    wire.then(wire.answers(completion({"content": None, "tool_calls": calls})))

    first, second = ask(new_client("compatible")).tool_calls

    assert first.id
    assert second.id
    assert first.id != second.id


def test_what_a_server_leaves_out_is_unknown(wire, new_client, ask):
    wire.then(wire.answers({"choices": [{"message": {"content": "Hi."}}]}))

    reply = ask(new_client("openai", "gpt-5.2"))

    assert (reply.text, reply.stop_reason, reply.model) == ("Hi.", "", "")
    assert (reply.usage, reply.cost_usd) == (Usage(), None)


NONSENSE_USAGE = {
    "negative": '{"prompt_tokens": -1, "completion_tokens": 5}',
    "NaN": '{"prompt_tokens": NaN, "completion_tokens": 5}',
    "a half": '{"prompt_tokens": 1.5, "completion_tokens": 5}',
    "more cached than read": '{"prompt_tokens": 1, "completion_tokens": 5, '
    '"prompt_tokens_details": {"cached_tokens": 2}}',
    "one number short": '{"prompt_tokens": 1}',
    "a list": "[1, 2]",
}


@pytest.mark.parametrize("usage", NONSENSE_USAGE.values(), ids=NONSENSE_USAGE)
def test_nonsense_usage_is_no_usage(wire, new_client, ask, usage):
    said = '{"model": "m", "choices": [{"message": {"content": "x"}}], "usage": '
    body = f"{said}{usage}}}"
    wire.then(wire.sends(body.encode()))

    reply = ask(new_client("openai", "gpt-5.2"))

    assert (reply.text, reply.usage, reply.cost_usd) == ("x", Usage(), None)


def test_whole_numbers_written_with_a_point_are_read():
    assert usage_of({"prompt_tokens": 12.0, "completion_tokens": 3}).input_tokens == 12


def test_cached_tokens_under_deepseeks_name():
    raw = {"prompt_tokens": 9, "completion_tokens": 1, "prompt_cache_hit_tokens": 4}
    assert usage_of(raw).cached_input_tokens == 4


FAILED_ATTEMPTS = {
    "no choices": (b'{"choices": []}', "at least 1 item"),
    "a call of nothing": (
        json.dumps(completion({"tool_calls": [{"id": "c1", "function": None}]})).encode(),
        "choices.0.message.tool_calls.0.function",
    ),
    "an error as answer": (b'{"error": "model overloaded"}', "an error as answer: model overl"),
    "an error with a status": (
        b'{"error": {"code": 502, "message": "upstream down"}}',
        "HTTP 502: upstream down",
    ),
    "half an answer": (b'{"choices": [{"mess', "not JSON"),
    "invalid UTF-8": (b'{"choices": "\xff"}', "not JSON"),
    "a number": (b"42", "unexpected answer"),
}


@pytest.mark.parametrize(("body", "cause"), FAILED_ATTEMPTS.values(), ids=FAILED_ATTEMPTS)
def test_what_cannot_be_read_is_tried_again_and_kept_as_evidence(
    wire, new_client, ask, body, cause
):
    wire.then(wire.sends(body), wire.says("Fine."))

    reply = ask(new_client("compatible"))

    assert reply.text == "Fine."
    assert [cause in attempt.cause for attempt in reply.failed_attempts] == [True]


def test_an_error_as_answer_keeps_its_meaning(wire, new_client, ask):
    error = {"code": "context_length_exceeded", "message": "too long"}
    wire.then(wire.answers({"error": error, "choices": []}))

    with pytest.raises(ConversationTooLong):
        ask(new_client("compatible"))


def test_a_server_that_streams_unasked_is_refused_at_once(wire, new_client, dialect, ask):
    wire.then(wire.sends(b'data: {"choices": []}\n\n', "text/event-stream"))

    with pytest.raises(ModelRejected, match="streams its answer though it was not asked to"):
        ask(new_client(dialect))

    assert len(wire.seen) == 1


def test_a_html_error_page_is_not_quoted(wire, new_client, dialect, ask):
    page = b"<html><body><h1>502 Bad Gateway</h1></body></html>"
    wire.then(wire.sends(page, "text/html", status=502))

    with pytest.raises(ModelUnavailable, match="HTTP 502 ") as caught:
        ask(new_client(dialect, policy=ONCE))

    assert "html" not in str(caught.value)


def test_a_redirect_takes_the_key_nowhere(wire, new_client, dialect, ask):
    elsewhere = {"location": f"{wire.url}/v1/elsewhere"}
    wire.respond = lambda seen: wire.sends(b"", status=307, headers=elsewhere)

    with pytest.raises(ModelRejected, match="HTTP 307: the server sends us elsewhere"):
        ask(new_client(dialect))

    assert len(wire.seen) == 1


def test_a_slow_drip_ends_with_the_time_of_the_attempt(wire, new_client, dialect, ask):
    policy = RetryPolicy(attempts=2, attempt_seconds=0.2, first_wait_seconds=0.01)
    wire.then(wire.drips(20), wire.says("Fine."))

    reply = ask(new_client(dialect, policy=policy))

    assert reply.text == "Fine."
    assert "no answer within 0.2 s" in reply.failed_attempts[0].cause


def test_an_endless_answer_is_cut_off(wire, new_client, ask, monkeypatch):
    monkeypatch.setattr("environments.models.wire.http.MAX_ANSWER_BYTES", 1000)
    wire.then(wire.says("x" * 2000))

    with pytest.raises(ModelRejected, match="more than 1000 bytes"):
        ask(new_client("compatible"))


def test_a_limit_by_another_name_is_found_out_once(wire, new_client, ask):
    hint = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
    wire.then(wire.fails(400, hint, param="max_tokens"))
    client = new_client("compatible")

    reply = ask(client, max_tokens=9)
    ask(client, max_tokens=9)

    assert [seen.body.get("max_completion_tokens") for seen in wire.seen] == [None, 9, 9]
    assert reply.failed_attempts[0].status == 400


def test_a_limit_that_is_too_high_is_not_taken_for_it(wire, new_client, ask):
    wire.then(wire.fails(400, "max_tokens must not exceed 4096", param="max_tokens"))

    with pytest.raises(ModelRejected, match="must not exceed 4096"):
        ask(new_client("compatible"))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["choices", "message", "content", "tool_calls", "function", "output"])
            | st.text(max_size=5),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@pytest.mark.parametrize("provider", ["compatible", "openai-responses", "anthropic"])
@settings(
    deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(body=json_values)
def test_whatever_json_comes_it_is_read_or_a_failed_attempt(provider, body, wire, new_client, ask):
    wire.then(wire.answers(body))
    with suppress(ModelUnavailable, ConversationTooLong):
        assert isinstance(ask(new_client(provider, policy=ONCE)).text, str)


@given(st.one_of(st.text(), json_values))
def test_a_call_is_stored_whatever_its_arguments(written):
    call = read_call(None, "add", written)

    assert json.loads(call.model_dump_json())["id"] == call.id


@given(st.binary(max_size=200))
def test_bytes_that_are_not_json_are_none(data):
    value = read_json(data)
    assert value is None or json.loads(data) == value or value != value
