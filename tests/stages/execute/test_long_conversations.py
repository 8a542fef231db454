"""Conversations that outgrow the model: what stays, what the model is told, and when it ends."""

import json
from typing import Any

import pytest

from environments.toolkit import host_tool
from taskdata.schema.tool import ToolErrorKind
from taskdata.schema.transcript import Ending, MessageEvent, Transcript

REACT, NATIVE = "react:compatible/m", "function_calling:compatible/m"


@pytest.fixture(params=[REACT, NATIVE], ids=["react", "function_calling"])
def agent(request) -> str:
    return request.param


@pytest.fixture
def act(wire, agent):
    """Make a reply in the agent's protocol that calls a tool."""

    def say(tool: str, arguments: dict[str, Any], **usage: int):
        if agent == NATIVE:
            return wire.says("", (tool, arguments), **usage)
        return wire.says(f"Action: {tool}\nAction Input: {json.dumps(arguments)}", **usage)

    return say


def texts(messages: list[dict[str, Any]]) -> list[str]:
    return [str(message.get("content")) for message in messages]


def newest(seen) -> str:
    return texts(seen.body["messages"])[-1]


def notices(transcript: Transcript) -> list[str]:
    events = [e for e in transcript.events if isinstance(e, MessageEvent)]
    return [e.text for e in events if e.role == "system"][1:]


def too_long(wire):
    return wire.fails(400, "too long", code="context_length_exceeded")


def no_orphans(messages: list[dict[str, Any]]) -> bool:
    """Whether every native call has its result right behind it, and every result its call."""
    waiting: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            if not waiting or message["tool_call_id"] != waiting.pop(0):
                return False
        elif waiting:
            return False
        else:
            waiting = [call["id"] for call in message.get("tool_calls") or ()]
    return not waiting


def test_the_task_and_the_last_ten_turns_stay(wire, play, task, agent, act):
    most = 2 + 2 * 12

    def respond(seen):
        full = len(seen.body["messages"]) > most
        return too_long(wire) if full else act("Teleport", {"to": str(len(wire.seen))})

    wire.respond = respond

    transcript = play(agent, task, max_turns=15)

    assert transcript.ending is Ending.OUT_OF_TURNS
    refused = next(n for n, s in enumerate(wire.seen) if len(s.body["messages"]) > most)
    before, after = wire.seen[refused].body["messages"], wire.seen[refused + 1].body["messages"]
    assert after[:2] == before[:2]
    assert after[2:-1] == before[-20:-1]
    assert texts(after)[-1].startswith(texts(before)[-1])
    assert "all turns but the last 10 were left out. history finds" in texts(after)[-1]
    assert all(no_orphans(seen.body["messages"]) for seen in wire.seen)
    assert len([text for text in notices(transcript) if "left out" in text]) == 1


def test_what_was_left_out_is_found_by_history(wire, play, task, agent, act):
    def respond(seen):
        if len(wire.seen) == 1:
            return act("Teleport", {"to": "Atlantis"})
        if len(wire.seen) == 13:
            return too_long(wire)
        if len(wire.seen) == 15:
            return act("history", {"search": "atlantis"})
        return act("Teleport", {"to": "nowhere"})

    wire.respond = respond

    play(agent, task, max_turns=15)

    looked_back = wire.seen[15].body["messages"]
    assert sum("Atlantis" in text for text in texts(looked_back)) == 1
    assert "Atlantis" in texts(looked_back)[-1]


def test_tools_about_the_context_are_offered_when_they_are_named(wire, play, task, act):
    wire.respond = lambda seen: (
        too_long(wire) if len(wire.seen) == 13 else wire.says("", ("Teleport", {}))
    )

    play(NATIVE, task, max_turns=13)

    offered = [{tool["function"]["name"] for tool in seen.body["tools"]} for seen in wire.seen]
    assert offered[-1] - offered[0] == {"history", "manage_context"}
    assert offered[12] == offered[0]


def test_when_that_is_not_enough_it_shrinks_once_more_and_then_ends(wire, play, task, agent, act):
    wire.respond = lambda seen: too_long(wire) if len(wire.seen) > 12 else act("Teleport", {})

    transcript = play(agent, task)

    assert transcript.ending is Ending.REFUSED
    sizes = [len(seen.body["messages"]) for seen in wire.seen[12:]]
    assert sizes == [2 + 2 * 12, 2 + 2 * 10, 2 + 2 * 5]
    assert "cannot go on" in notices(transcript)[-1]


def test_a_single_huge_result_is_shortened(wire, play, task, agent, act):
    code = "print('x' * 50_000)"
    wire.then(act("python_execute", {"code": code}), too_long(wire), act("finish", {"answer": "1"}))

    transcript = play(agent, task)

    assert transcript.final_answer == "1"
    assert "characters left out" in newest(wire.seen[2])
    assert len(newest(wire.seen[2])) < 10_000
    assert len(transcript.tool_events[0].text) == 50_000, "the record keeps what the tool said"


def test_a_known_window_is_not_run_into(wire, play, task, agent, act):
    def respond(seen):
        tokens = 100 * len(seen.body["messages"])
        return act("Teleport", {}, input_tokens=tokens, output_tokens=10)

    wire.respond = respond

    transcript = play(
        agent, task, max_turns=20, max_reply_tokens=100, settings={"window_tokens": 2700}
    )

    assert transcript.ending is Ending.OUT_OF_TURNS
    assert max(len(seen.body["messages"]) for seen in wire.seen) <= 26
    told = notices(transcript)
    assert "half full" in told[0]
    assert "all turns but the last 10 were left out" in told[1]


def test_what_does_not_fit_after_one_remedy_is_shortened_once_more(wire, play, task, agent, act):
    def respond(seen):
        tokens = len(json.dumps(seen.body)) // 3
        if len(wire.seen) == 12:
            return act("python_execute", {"code": "print('x' * 60_000)"}, input_tokens=tokens)
        return act("Teleport", {}, input_tokens=tokens)

    wire.respond = respond

    transcript = play(
        agent, task, max_turns=13, max_reply_tokens=100, settings={"window_tokens": 12_000}
    )

    assert len(json.dumps(wire.seen[12].body)) // 3 <= 12_000
    told = notices(transcript)[-2:]
    assert "all turns but the last 10 were left out" in told[0]
    assert "the middle of long texts" in told[1]


def test_the_model_drops_turns_itself(wire, play, new_task, agent, act):
    wire.then(
        act("Teleport", {"to": "Rome"}),
        act("Teleport", {"to": "Oslo"}),
        act("manage_context", {}, input_tokens=500),
        act("manage_context", {"action": "drop_first", "count": 1}),
        act("finish", {"answer": "done"}),
    )

    transcript = play(agent, new_task(tools=("manage_context",)))

    status = transcript.tool_events[2].text
    assert "the task and 3 turns, about 505 tokens. Still allowed: 97 turns." in status
    assert "- turn 1: " in status
    assert "Dropped 1 turn" in transcript.tool_events[3].text
    sent = wire.seen[4].body["messages"]
    assert len(sent) == 2 + 2 * 3
    assert no_orphans(sent)
    assert not any("Rome" in json.dumps(message) for message in sent)
    assert any("Rome" in e.call.raw for e in transcript.tool_events)


def test_a_hanging_service_of_a_tool_costs_its_own_deadline(
    wire, play, new_task, agent, act, monkeypatch
):
    monkeypatch.setattr(host_tool, "CALL_SECONDS", 0.3)
    wire.then(act("sleep", {"seconds": 60}), act("finish", {"answer": "went on"}))

    transcript = play(agent, new_task(tools=("sleep",)))

    assert transcript.final_answer == "went on"
    assert transcript.tool_events[0].error is ToolErrorKind.LIMIT
    assert "sleep was given up" in newest(wire.seen[1])


def test_an_overlong_result_is_cut_paged_and_searched(wire, play, task, agent, act):
    code = "for n in range(9_000): print(f'line {n:05}: nothing here')"
    tool = "handle_overlong_tool_outputs"
    wire.then(
        act("python_execute", {"code": code}),
        act(tool, {"result": 1, "page": 12}),
        act(tool, {"result": 1, "pattern": "line 0777[0-2]"}),
        act("finish", {"answer": "ok"}),
    )

    transcript = play(agent, task)

    cut = newest(wire.seen[1]).removeprefix("Observation: ")
    assert len(cut) == 100_000
    assert "or find words in it with search or pattern]" in cut
    _, page, found = (event.text for event in transcript.tool_events[:3])
    assert "line 04500: nothing here" in page
    assert found.count("- page 20: ") == 3


def test_turns_cost_the_same_however_long_the_conversation(wire, play, task, monkeypatch):
    """What was measured once is not measured again: a turn touches only its own messages."""
    from stages.execute.dialogue import context

    measured: list[int] = []
    size = context._size
    monkeypatch.setattr(context, "_size", lambda message: measured.append(1) or size(message))
    wire.respond = lambda seen: wire.says("", ("Teleport", {}))

    play(NATIVE, task, max_turns=40)

    assert len(measured) <= 2 + 40 * 2 * 2


def test_what_a_reasoning_model_thought_goes_back_unchanged_until_its_turn_is_dropped(
    wire, play, task
):
    def respond(seen):
        if len(wire.seen) == 13:
            return too_long(wire)
        call = {"id": "c", "type": "function", "function": {"name": "Teleport", "arguments": "{}"}}
        said = {
            "role": "assistant",
            "content": None,
            "tool_calls": [call],
            "reasoning_content": f"thought {len(wire.seen)}",
        }
        choice = {"index": 0, "message": said, "finish_reason": "tool_calls"}
        return wire.answers({"model": "m", "choices": [choice]})

    wire.respond = respond

    play(NATIVE, task, max_turns=13, settings={"reasoning_effort": "high"})

    assert wire.seen[1].body["messages"][2]["reasoning_content"] == "thought 1"
    assert wire.seen[0].body["reasoning_effort"] == "high"
    after = json.dumps(wire.seen[13].body["messages"])
    assert '"thought 2"' not in after
    assert '"thought 3"' in after
