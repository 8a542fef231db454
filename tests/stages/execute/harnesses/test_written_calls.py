"""Which replies are tool calls in text, and which are answers."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stages.execute.harness import require_agent
from stages.execute.harnesses.written_calls import written_calls
from taskdata.errors import Misuse
from taskdata.schema.agent import AgentSpec
from taskdata.schema.tool import ToolErrorKind
from taskdata.schema.transcript import Ending
from tests.stages.execute.harnesses.voices import FunctionVoice, errors

TOOLS = ("read_file", "ReadCSV", "list_files", "finish")
CALL = '{"name": "read_file", "arguments": {"path": "input/notes.txt"}}'


@pytest.mark.parametrize(
    "text",
    [
        CALL,
        f"\n  {CALL}\n",
        f"```json\n{CALL}\n```",
        f"```\n{CALL}```",
        f"```json\n{CALL}",
        f"<tool_call>\n{CALL}\n</tool_call>",
        f"<tool_call>{CALL}",
        f"I read the notes first.\n<tool_call>\n{CALL}\n</tool_call>",
        f"I read the notes first:\n\n```json\n{CALL}\n```",
        f'<think>Shall I use {{"name": "finish"}}?</think>\n{CALL}',
        f"The user wants the notes.\n</think>\n\n{CALL}",
        '{"name": "read_file", "parameters": {"path": "input/notes.txt"}}',
        '{"action": "read_file", "action_input": {"path": "input/notes.txt"}}',
        '{"tool": "read_file", "args": {"path": "input/notes.txt"}}',
        '{"thought": "so", "action": "read_file", "action_input": {"path": "input/notes.txt"}}',
        '{"name": "read_file", "arguments": "{\\"path\\": \\"input/notes.txt\\"}"}',
        f'{{"type": "function", "function": {CALL}}}',
        f'{{"tool_calls": [{{"id": "1", "type": "function", "function": {CALL}}}]}}',
        f"[{CALL}]",
    ],
)
def test_a_reply_that_is_one_call_is_a_call(text):
    (call,) = written_calls(text, TOOLS)
    assert (call.tool, call.arguments) == ("read_file", {"path": "input/notes.txt"})


@pytest.mark.parametrize(
    "text",
    [
        "The sum is 5.",
        "",
        "```json\n```",
        "<tool_call></tool_call>",
        f"You could send {CALL} to read it.",
        f"You could send\n{CALL}",
        f"{CALL} would read it.",
        f"```json\n{CALL}\n```\nThis would read the notes.",
        f"First:\n```json\n{CALL}\n```\nthen:\n```json\n{CALL}\n```",
        f"<tool_call>{CALL}</tool_call>\nI am done.",
        "The tags <tool_call> and </tool_call> mark a call.",
        '{"sum": 5, "difference": 1}',
        '{"name": "Anna", "age": 41}',
        '{"name": "Anna", "arguments": {"for": "yes"}}',
        '{"name": "read files"}',
        '{"name": "read_file", "arguments": {}, "result": "milk"}',
        '{"name": 7, "arguments": {}}',
        '["read_file"]',
        "[]",
        "null",
        '{"name": "Anna", "arguments": {"for": "yes",}}',
        'The file:\n```json\n{"name": "Anna", "arguments": {}}\n```',
        'So:\n```json\n{"name": "readCSV", "arguments": {}}\n```',
    ],
)
def test_a_reply_that_is_none_stays_an_answer(text):
    assert written_calls(text, TOOLS) == ()


def test_a_tool_without_arguments_may_be_named_alone():
    (call,) = written_calls('{"name": "list_files"}', TOOLS)
    assert (call.tool, call.arguments) == ("list_files", {})


def test_several_tagged_calls_are_calls_in_their_order():
    other = '{"name": "list_files", "arguments": {}}'
    text = f"<tool_call>{CALL}</tool_call>\n<tool_call>\n{other}\n</tool_call>"
    assert [call.tool for call in written_calls(text, TOOLS)] == ["read_file", "list_files"]
    spoilt = f'<tool_call>{CALL}</tool_call><tool_call>{{"sum": 5}}</tool_call>'
    assert written_calls(spoilt, TOOLS) == ()


@pytest.mark.parametrize("depth", [10, 100_000])
def test_nesting_makes_no_call_and_no_error(depth):
    text = '{"name": "read_file", "arguments": ' + '{"a":' * depth
    assert all(call.arguments is None for call in written_calls(text, TOOLS))


def test_half_of_a_surrogate_pair_cannot_be_read_and_can_be_stored():
    (call,) = written_calls('{"name": "read_file", "arguments": {"path": "\\ud800"}}', TOOLS)
    assert call.arguments is None
    call.raw.encode()


PIECES = st.sampled_from(
    ["<tool_call>", "</tool_call>", "```", "```json\n", "<think>", "</think>", "\n", CALL, "{", "}"]
)


@given(st.lists(st.one_of(PIECES, st.text(max_size=10)), max_size=12).map("".join))
def test_any_text_is_read_and_no_tool_is_made_up(text):
    assert all(call.tool in text for call in written_calls(text, TOOLS))


def test_a_model_that_writes_its_calls_works_on(wire, play, task):
    fenced = (
        '```json\n{"name": "write_file", "arguments": {"path": "output/a.txt", "content": "5"}}'
    )
    wire.then(wire.says(CALL), wire.says(f"{fenced}\n```"), wire.says("The sum is 5."))

    transcript = play(FunctionVoice.agent, task)

    assert (transcript.ending, transcript.final_answer) == (Ending.FINISHED, "The sum is 5.")
    assert errors(transcript) == [None, None]
    assert len({event.call.id for event in transcript.tool_events}) == 2
    told = wire.seen[1].body["messages"]
    assert [message["role"] for message in told[-2:]] == ["assistant", "user"]
    assert told[-1]["content"].startswith("Result of read_file: milk\neggs")


def test_a_written_finish_ends_the_trial(wire, play, task):
    wire.then(wire.says('{"name": "finish", "arguments": {"answer": "Five."}}'))
    assert play(FunctionVoice.agent, task).final_answer == "Five."


def test_a_misspelt_name_is_answered_with_the_right_one(wire, play, new_task):
    misspelt = '```json\n{"name": "readCSV", "arguments": {"path": "input/a.csv"}}\n```'
    task = new_task(tools=("ReadCSV",))
    wire.then(wire.says(misspelt), *[wire.says("ok")] * 2)

    transcript = play(FunctionVoice.agent, task)

    assert errors(transcript) == [ToolErrorKind.UNKNOWN_TOOL]
    told = FunctionVoice.observed(wire.seen[1])
    assert "There is no tool 'readCSV'. Did you mean ReadCSV?" in told


def test_a_written_call_with_a_fault_is_told_which(wire, play, task):
    wire.then(
        wire.says('{"name": "read_file", "arguments": {"path": "input/notes.txt",}}'),
        wire.says(CALL[:-20], stop="length"),
        wire.says("ok"),
    )

    transcript = play(FunctionVoice.agent, task)

    assert errors(transcript) == [ToolErrorKind.BAD_ARGUMENTS] * 2
    assert "a comma stands before a closing bracket" in FunctionVoice.observed(wire.seen[1])
    assert "cut at its length limit" in FunctionVoice.observed(wire.seen[2])


@pytest.mark.parametrize(
    ("agent", "settings"),
    [
        (FunctionVoice.agent, {"text_tool_calls": False}),
        ("function_calling:openai-chat/m", {}),
    ],
)
def test_where_the_agent_may_not_write_calls_they_are_its_answer(wire, play, task, agent, settings):
    wire.then(wire.says(CALL))
    transcript = play(agent, task, settings=settings)
    assert (transcript.final_answer, transcript.tool_events) == (CALL, ())


def test_it_is_on_for_open_models_and_can_be_set():
    def reads(name: str, **settings: object) -> bool:
        return AgentSpec.parse(f"function_calling:{name}", **settings).reads_text_calls

    assert reads("compatible/m")
    assert reads("local/smollm2-135m")
    assert not reads("anthropic/claude")
    assert reads("openai/gpt-5.2", text_tool_calls=True)
    react = AgentSpec.parse("react:compatible/m", text_tool_calls=True)
    with pytest.raises(Misuse, match="only harness 'function_calling' takes text_tool_calls"):
        require_agent(react)


def test_an_agent_without_the_setting_is_stored_as_before():
    assert "text_tool_calls" not in json.loads(AgentSpec.parse("react:openai/m").canonical_json())
