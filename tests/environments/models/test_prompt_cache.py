"""What providers are told about the beginning that a conversation keeps."""

import pytest

from environments.ports import Message
from taskdata.schema.task import Capability
from taskdata.schema.tool import ToolSpec
from taskdata.schema.transcript import ToolCall

SYSTEM, QUESTION = Message("system", "You add."), Message("user", "What is 1 + 1?")
TOOLS = tuple(
    ToolSpec(name=name, description="x", category=Capability.LOGIC, parameters={"type": "object"})
    for name in ("add", "finish")
)
MARK = {"type": "ephemeral"}


def turns(count: int) -> tuple[Message, ...]:
    """A conversation after so many tool calls."""
    messages = [SYSTEM, QUESTION]
    for number in range(count):
        call = ToolCall(id=f"c{number}", tool="add", arguments={}, raw="{}")
        messages.append(Message("assistant", f"Step {number}.", tool_calls=(call,)))
        messages.append(Message("tool", str(number), call_id=call.id))
    return tuple(messages)


def marked(body: dict) -> list[str]:
    """Where the marks of a request are: tools and system by name, turns by number."""
    places = [f"tool {tool['name']}" for tool in body.get("tools", ()) if "cache_control" in tool]
    places += ["system" for block in body.get("system", ()) if "cache_control" in block]
    for number, turn in enumerate(body["messages"]):
        places += [f"turn {number}" for block in turn["content"] if "cache_control" in block]
    return places


@pytest.mark.parametrize(
    ("count", "ends"), [(0, ["turn 0"]), (1, ["turn 0", "turn 2"]), (3, ["turn 4", "turn 6"])]
)
def test_anthropic_is_told_where_what_will_be_sent_again_ends(wire, new_client, ask, count, ends):
    ask(new_client("anthropic"), *turns(count), tools=TOOLS)

    body = wire.seen[0].body
    assert marked(body) == ["tool finish", "system", *ends]
    assert body["messages"][-1]["content"][-1]["cache_control"] == MARK


def test_a_question_asked_once_is_not_worth_caching(wire, new_client, ask):
    ask(new_client("anthropic"), SYSTEM, QUESTION)

    assert marked(wire.seen[0].body) == []


def test_marks_do_not_stay_on_messages(wire, new_client, ask):
    client, conversation = new_client("anthropic"), turns(2)
    ask(client, *conversation[:4], tools=TOOLS)
    ask(client, *conversation, tools=TOOLS)

    assert marked(wire.seen[-1].body) == ["tool finish", "system", "turn 2", "turn 4"]


def test_what_was_read_from_and_written_to_the_cache_is_counted_and_paid(wire, new_client, ask):
    usage = {
        "input_tokens": 100,
        "output_tokens": 10,
        "cache_read_input_tokens": 1000,
        "cache_creation_input_tokens": 200,
    }
    wire.then(wire.answers({"model": "m", "content": [], "usage": usage}))

    reply = ask(new_client("anthropic", "claude-sonnet-4-6"))

    assert reply.usage.input_tokens == 1300
    assert (reply.usage.cached_input_tokens, reply.usage.cache_write_tokens) == (1000, 200)
    assert reply.cost_usd == pytest.approx((100 * 3 + 1000 * 0.3 + 200 * 3.75 + 10 * 15) / 1e6)


@pytest.mark.parametrize("provider", ["openai", "openai-responses"])
def test_openai_is_told_which_conversations_begin_alike(wire, new_client, ask, provider):
    client = new_client(provider)
    ask(client, *turns(0))
    ask(client, *turns(3))
    ask(client, SYSTEM, Message("user", "Something else."))

    first, later, other = (seen.body["prompt_cache_key"] for seen in wire.seen)
    assert first == later != other
    assert QUESTION.text not in first


def test_compatible_servers_are_not_asked_for_what_they_may_not_know(wire, new_client, ask):
    ask(new_client("compatible"), *turns(1), tools=TOOLS)

    assert set(wire.seen[0].body) == {"model", "messages", "tools", "max_tokens"}
