"""What a program tells its model is on record once, as the program's own words."""

from environments.metering import notices
from environments.metering.formats.instructions import MAX_TOOLS

SAID = "The program's instructions to its model:\n\n"


def asking(instructions, *tools):
    messages = [
        {"role": "system", "content": instructions},
        {"role": "user", "content": "Hello"},
    ]
    named = [{"type": "function", "function": {"name": name}} for name in tools]
    return {"messages": messages} | ({"tools": named} if named else {})


async def test_instructions_and_tools_are_told_once_and_as_they_change(wire, program):
    wire.respond = lambda seen: wire.says("Hi")
    async with program(records_instructions=True) as agent:
        for asked in (
            asking("Plan.", "look"),
            asking("Plan.", "look"),
            asking("Act.", "look", "write"),
        ):
            await agent.chat(**asked)
    assert agent.notices == [f"{SAID}Plan.", f"{SAID}Act."]
    assert [tool.name for tool in agent.recorded.tools] == ["look", "write"]


async def test_they_are_told_before_the_answer_of_their_call(wire, program):
    order = []
    wire.then(wire.says("Hi"))
    async with program(records_instructions=True) as agent:
        record = agent.recorded
        record.message = lambda role, text: order.append(text)
        record.model_call = lambda reply, at: order.append(reply.text)
        await agent.chat(**asking("Plan."))
    assert order == [f"{SAID}Plan.", "Hi"]


async def test_what_an_adapter_tells_its_model_is_not_told_twice(wire, program):
    wire.then(wire.says("Hi"))
    async with program() as agent:
        await agent.chat(**asking("Plan.", "look"))
    assert (agent.notices, agent.recorded.tools) == ([], [])


async def test_a_program_that_never_tells_the_same_does_not_fill_the_record(
    wire, program, monkeypatch
):
    monkeypatch.setattr(notices, "_MAX_INSTRUCTIONS", 2)
    wire.respond = lambda seen: wire.says("Hi")
    async with program(records_instructions=True) as agent:
        for number in range(4):
            names = [f"tool-{number}-{i}" for i in range(50)]
            await agent.chat(**asking(f"It is {number} o'clock.", *names))
    assert len(agent.notices) == 2
    assert len(agent.recorded.tools) == MAX_TOOLS


async def test_a_reply_that_is_held_to_less_is_told_once(wire, program):
    wire.respond = lambda seen: wire.says("Hi")
    async with program(max_reply_tokens=500) as agent:
        for wanted in (400, 900, 800):
            await agent.chat(max_tokens=wanted)
    said = "The program asked for a reply of up to 900 tokens; its budget allows 500."
    assert agent.notices == [said]


async def test_thoughts_that_a_short_reply_does_not_hold_are_told(wire, program):
    wire.respond = lambda seen: wire.says("Hi")
    thinking = {"type": "enabled", "budget_tokens": 1_024}
    async with program("anthropic", max_reply_tokens=500) as agent:
        await agent.message(max_tokens=2_000, thinking=thinking)
    assert "thinking" not in wire.seen[0].body
    (said,) = agent.notices
    assert said.endswith("its budget allows 500, too few for its model to think.")


async def test_a_reply_that_a_limit_of_ours_cut_is_told_once(wire, program):
    wire.respond = lambda seen: wire.says("Hi", stop="length")
    async with program(max_reply_tokens=500) as agent:
        await agent.chat(max_tokens=400)
        assert agent.notices == []
        for _ in range(2):
            await agent.chat()
    (said,) = agent.notices
    assert said.startswith("The reply was cut at 500 tokens, for its request named no limit")


async def test_prompts_that_are_cached_for_less_than_asked_are_told(wire, program):
    wire.respond = lambda seen: wire.says("Hi")
    block = {"type": "text", "text": "x", "cache_control": {"type": "ephemeral", "ttl": "1h"}}
    async with program("anthropic") as agent:
        for _ in range(2):
            await agent.message(system=[block])
    assert wire.seen[0].body["system"][0]["cache_control"] == {"type": "ephemeral"}
    (said,) = agent.notices
    assert "five minutes" in said
