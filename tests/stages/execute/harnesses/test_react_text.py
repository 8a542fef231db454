import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stages.execute.harnesses.react_text import observation, read_step
from stages.execute.harnesses.steps import Act, FinalAnswer, Unreadable
from taskdata.schema.tool import ToolErrorKind, ToolResult


def test_an_action_with_its_input():
    step = read_step('Thought: look\nAction: ReadCSV\nAction Input: {"path": "input/a.csv"}')

    assert step == Act("ReadCSV", '{"path": "input/a.csv"}', {"path": "input/a.csv"})


@pytest.mark.parametrize(
    "text",
    [
        'action: ReadCSV\naction input: {"path": "a"}',
        '**Action:** `ReadCSV`\n**Action Input:** {"path": "a"}',
        'Action: "ReadCSV".\nAction Input:\n```json\n{"path": "a"}\n```',
        'Action: ReadCSV\nAction Input: {"path": "a"}\nObservation: 3 rows\nFinal Answer: 3',
        'Action: ReadCSV\nAction Input: {"path": "a"} and then I will see',
        'Action: ReadCSV(path="a")',
        "Action: `ReadCSV(path='a')`\nThought: and then I will see",
        'Action: ReadCSV({"path": "a"})',
        'Action: ReadCSV()\nAction Input: {"path": "a"}',
        'Action: ReadCSV {"path": "a"}',
        'Action: ReadCSV: {"path": "a"}',
        'Action: ReadCSV, Action Input: {"path": "a"}',
        'Action: ReadCSV Action_Input: {"path": "a"}',
        'Action: ReadCSV\nAction_Input: {"path": "a"}',
        'Action: ReadCSV\nActionInput: {"path": "a"}',
        'Action: ReadCSV\n**Arguments:** {"path": "a"}',
        'Action: {"action": "ReadCSV", "action_input": {"path": "a"}}',
        'Action:\n```json\n{"action": "ReadCSV", "action_input": {"path": "a"}}\n```',
        'Action: {"name": "ReadCSV", "arguments": {"path": "a"}}\nObservation: 3 rows',
        'Thought: so\n<tool_call>\n{"name": "ReadCSV", "arguments": {"path": "a"}}\n</tool_call>',
        '{"name": "ReadCSV", "arguments": {"path": "a"}}',
        '```json\n{"thought": "so", "action": "ReadCSV", "action_input": {"path": "a"}}\n```',
        "<think>\nAction: list_files\nAction Input: {}\n</think>\n"
        'Action: ReadCSV\nAction Input: {"path": "a"}',
        'Action: finish?\nNo.\n</think>\nAction: ReadCSV\nAction Input: {"path": "a"}',
        '  Action : ReadCSV\n  Action Input : {\n  "path": "a"\n}',
        'Action: ReadCSV\nAction Input: {"path": "a"}\nThought: done\nFinal Answer: made up',
    ],
)
def test_form_is_read_tolerantly(text):
    step = read_step(text, ["ReadCSV"])

    assert isinstance(step, Act)
    assert (step.tool, step.arguments) == ("ReadCSV", {"path": "a"})


@pytest.mark.parametrize(
    "text",
    [
        "Thought: done\n## Final Answer\nFive.",
        "**Final Answer**\n\nFive.",
        "Final_Answer: Five.",
        '{"action": "Final Answer", "action_input": "Five."}',
        'Action: {"action": "Final Answer", "action_input": "Five."}',
        '{"thought": "done", "final_answer": "Five."}',
    ],
)
def test_everyday_forms_of_a_final_answer(text):
    assert read_step(text) == FinalAnswer("Five.")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('Action: ReadCSV("a")', "does not name its arguments"),
        ("Action: ReadCSV(path=open('a'), **more)", "could not be read"),
        ('Action: {"path": "a"}', "names no tool"),
        ("Observation: 5 rows", "an Observation of your own"),
        ("Arguments: {}\nThat is all.", "no Action and no Final Answer"),
        ("<think>Action: ReadCSV", "no Action and no Final Answer"),
        ('{"sum": 5}', "no Action and no Final Answer"),
        ("Final answer will follow", "no Action and no Final Answer"),
    ],
)
def test_what_is_near_a_form_is_told_what_it_lacks(text, reason):
    step = read_step(text, ["ReadCSV"])

    assert isinstance(step, Unreadable)
    assert reason in step.reason


@pytest.mark.parametrize(
    "inside",
    ["path=open('/etc/passwd')", "path={'a': {1, 2}}", "path=b'a'", "path=" + "-" * 9_000 + "1"],
)
def test_code_is_read_as_data_and_never_run(inside):
    step = read_step(f"Action: ReadCSV({inside})")

    assert isinstance(step, Unreadable) or step.arguments is None


@given(st.integers(1, 19_000), st.sampled_from(["(", "[", "{", "-", "a.", "f(a="]))
def test_deep_code_is_never_an_error(depth, piece):
    step = read_step(f"Action: ReadCSV(path={piece * (depth // len(piece))})")
    assert not isinstance(step, FinalAnswer)


@pytest.mark.parametrize(
    "raw", ['{"path": "a"', "input/a.csv", "[1, 2]", '"a"', "{'path': 'a'}", "{}}{", "7"]
)
def test_arguments_are_never_mended(raw):
    step = read_step(f"Action: ReadCSV\nAction Input: {raw}")

    assert isinstance(step, Act)
    assert step.arguments == ({} if raw == "{}}{" else None)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no Action and no Final Answer"),
        ("I will read the file now.", "no Action and no Final Answer"),
        ("Thought: hm\nObservation: 5\nFinal Answer: 5", "no Action and no Final Answer"),
        ("Action: ReadCSV", "'ReadCSV' has no Action Input"),
        ("Action: ReadCSV\nThought: so\nAction Input: {}", "'ReadCSV' has no Action Input"),
        ("Action:\nAction Input: {}", "names no tool"),
        ('Action Input: {"path": "a"}', "without an Action before it"),
    ],
)
def test_what_is_missing_is_said_not_guessed(text, reason):
    step = read_step(text)

    assert isinstance(step, Unreadable)
    assert reason in step.reason


def test_a_final_answer_is_taken_whole():
    text = "Thought: done\nFinal Answer: Two steps.\nAction: sign it\nThanks.\nObservation: no"

    assert read_step(text) == FinalAnswer("Two steps.\nAction: sign it\nThanks.")


def test_errors_are_marked_in_observations():
    assert observation(ToolResult(text="3 rows")) == "Observation: 3 rows"
    error = ToolResult(text="no such file", error=ToolErrorKind.REFUSED)
    assert observation(error) == "Observation: Error: no such file"


PIECES = st.sampled_from(
    ["Thought:", "Action:", "Action Input:", "Final Answer:", "Observation:", "\n", "{", "}", '"']
)


@given(st.lists(st.one_of(PIECES, st.text(max_size=20)), max_size=30).map("".join))
def test_any_text_is_read_and_nothing_is_made_up(text):
    step = read_step(text)

    if isinstance(step, Act):
        assert step.tool in text
        assert step.raw in text
    elif isinstance(step, FinalAnswer):
        assert step.text in text
    else:
        assert step.reason


@given(st.integers(1, 50_000))
def test_deep_nesting_is_an_unreadable_argument(depth):
    step = read_step("Action: x\nAction Input: " + '{"a":' * depth)

    assert isinstance(step, Act)
    assert step.arguments is None


@pytest.mark.parametrize(
    "run",
    [" ", "\t", "*", "(", ")", "#", "<think>", "</think>", "<tool_call>", "```\n", "{", "\n "],
)
@pytest.mark.parametrize("before", ["", "Thought", "Action", "Action: x", "Action: x("])
def test_long_runs_cost_no_more_than_their_length(run, before):
    started = time.process_time()
    read_step(before + run * (200_000 // len(run)), ["x"])
    assert time.process_time() - started < 5
