"""A model's own turns go back to it in a form that its provider takes, whatever it wrote."""

import re

import pytest

from environments.ports import Message
from taskdata.schema.transcript import ToolCall

QUESTION = Message("user", "What is 1 + 1?")
GO_ON = Message("user", "Your reply was cut at its length limit.")

THOUGHT = {"type": "thinking", "thinking": "One and one.", "signature": "c2ln"}
HIDDEN = {"type": "redacted_thinking", "data": "b3BhcXVl"}
SAID = {"type": "text", "text": "Let me add."}
BLANK = {"type": "text", "text": "\n\n"}
FIRST_USE = {"type": "tool_use", "id": "c1", "name": "add", "input": {"a": 1}}
SECOND_USE = {"type": "tool_use", "id": "c2", "name": "add", "input": {"a": 2}}

REASONED = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "Zmlyc3Q="}
AGAIN = {"type": "reasoning", "id": "rs_2", "summary": [], "encrypted_content": "c2Vjb25k"}
FIRST_CALL = {"type": "function_call", "call_id": "c1", "name": "add", "arguments": '{"a": 1}'}
SECOND_CALL = {"type": "function_call", "call_id": "c2", "name": "add", "arguments": '{"a": 2}'}


def content(*blocks: dict) -> dict:
    usage = {"input_tokens": 10, "output_tokens": 5}
    return {"model": "m", "content": list(blocks), "stop_reason": "max_tokens", "usage": usage}


def response(*output: dict) -> dict:
    usage = {"input_tokens": 10, "output_tokens": 5}
    return {"model": "m", "status": "completed", "output": list(output), "usage": usage}


@pytest.fixture
def sent_back(wire, new_client, ask):
    """Return what is sent of a turn after its question; only the first call was answered."""

    def run(provider: str, body: dict) -> list[dict]:
        wire.then(wire.answers(body))
        client = new_client(provider)
        reply = ask(client, QUESTION)
        calls = reply.tool_calls[:1]
        turn = Message("assistant", reply.text, tool_calls=calls, replay=reply.replay)
        results = [Message("tool", "2", call_id=call.id) for call in calls]
        ask(client, QUESTION, turn, *results, GO_ON)
        sent = wire.seen[-1].body
        return sent["messages"][1]["content"] if "messages" in sent else sent["input"][1:-1]

    return run


@pytest.mark.parametrize(
    ("answered", "sent"),
    [
        ([THOUGHT], [{"type": "text", "text": "(no text)"}]),
        ([THOUGHT, HIDDEN, BLANK], [{"type": "text", "text": "(no text)"}]),
        ([THOUGHT, SAID, HIDDEN], [THOUGHT, SAID]),
        ([THOUGHT, BLANK, FIRST_USE], [THOUGHT, FIRST_USE]),
        ([THOUGHT, FIRST_USE, HIDDEN, SECOND_USE], [THOUGHT, FIRST_USE]),
    ],
    ids=["thinking alone", "and blank text", "after text", "blank between", "call not answered"],
)
def test_no_turn_of_anthropics_ends_in_thinking_or_has_blank_text(sent_back, answered, sent):
    assert sent_back("anthropic", content(*answered)) == sent


RESULT = {"type": "function_call_output", "call_id": "c1", "output": "2"}


@pytest.mark.parametrize(
    ("answered", "sent"),
    [
        ([REASONED], []),
        ([REASONED, AGAIN, FIRST_CALL], [AGAIN, FIRST_CALL, RESULT]),
        ([REASONED, FIRST_CALL, AGAIN], [REASONED, FIRST_CALL, RESULT]),
        ([REASONED, FIRST_CALL, AGAIN, SECOND_CALL], [REASONED, FIRST_CALL, RESULT]),
        ([REASONED, FIRST_CALL, SECOND_CALL], [REASONED, FIRST_CALL, RESULT]),
    ],
    ids=["reasoning alone", "two in a row", "after its call", "call not answered", "one of two"],
)
def test_no_reasoning_goes_back_without_the_item_it_led_to(sent_back, answered, sent):
    assert sent_back("openai-responses", response(*answered)) == sent


INVENTED = ["multi_tool_use.parallel", "search the web", "größe", "", "a" * 200, "ok\n"]
ACCEPTED = re.compile(r"[a-zA-Z0-9_-]{1,64}", re.ASCII)


@pytest.fixture
def names_sent(wire, new_client, ask):
    """Return the names under which an answered call goes back."""

    def run(provider: str, name: str, replay: tuple[dict, ...] = ()) -> list[str]:
        call = ToolCall(id="c1", tool=name, arguments={}, raw="{}")
        turn = Message("assistant", "", tool_calls=(call,), replay=replay)
        result = Message("tool", "There is no such tool.", call_id="c1", is_error=True)
        ask(new_client(provider), QUESTION, turn, result)
        sent = wire.seen[-1].body
        turn_sent = (sent.get("input") or sent["messages"])[1]
        if "tool_calls" in turn_sent:
            return [one["function"]["name"] for one in turn_sent["tool_calls"]]
        blocks = turn_sent["content"] if "content" in turn_sent else sent["input"]
        return [block["name"] for block in blocks if "name" in block]

    return run


@pytest.mark.parametrize("name", INVENTED)
def test_an_invented_tool_goes_back_under_a_name_that_the_provider_takes(names_sent, dialect, name):
    (sent,) = names_sent(dialect, name)

    assert ACCEPTED.fullmatch(sent)


def test_a_tools_own_name_goes_back_as_it_is(names_sent, dialect):
    assert names_sent(dialect, "read-file_2") == ["read-file_2"]


@pytest.mark.parametrize(
    ("provider", "kept"),
    [
        ("anthropic", {"format": "messages", "content": [THOUGHT, FIRST_USE | {"name": "a.b"}]}),
        (
            "openai-responses",
            {"format": "responses", "output": [FIRST_CALL | {"name": "a.b"}]},
        ),
    ],
)
def test_an_invented_name_is_mended_among_the_thoughts_too(names_sent, provider, kept):
    assert names_sent(provider, "a.b", (kept,)) == ["a_b"]
