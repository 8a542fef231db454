"""Step by step mode: one prediction for each step of the reference, and one for the answer."""

import json

import pytest

from stages.execute.harness import harness_kind, in_mode
from taskdata.errors import BadTaskData, Misuse
from taskdata.schema.agent import AgentSpec
from taskdata.schema.task import ReferenceSolution, ReferenceStep
from taskdata.schema.transcript import Ending, MessageEvent, ModelEvent, Prediction, ToolCall

TEXT, NATIVE = "react_steps:compatible/m", "function_calling_steps:compatible/m"
REFUSED = "the model refused to answer"
TOO_LONG = "the conversation is too long for the model"
COUNTED = ReferenceStep(
    tool="read_file",
    arguments={"path": "input/notes.txt"},
    thought="I read the file.",
    result="milk, eggs and bread",
)
SUMMED = ReferenceStep(tool="Calculator", arguments={"expression": "1 + 2"}, result="3")


@pytest.fixture
def chain_task(new_task):
    """Make a task with this reference chain."""

    def make(*steps: ReferenceStep):
        reference = ReferenceSolution(steps=steps or (COUNTED, SUMMED), final_answer="Three.")
        return new_task(tools=("Calculator", "write_file", "python_execute"), reference=reference)

    return make


def act(wire, agent: str, tool: str, arguments: object):
    raw = arguments if isinstance(arguments, str) else json.dumps(arguments)
    if agent == NATIVE:
        return wire.says("", (tool, raw))
    return wire.says(f"Thought: on\nAction: {tool}\nAction Input: {raw}")


def answer(wire, agent: str, text: str):
    return wire.says(text if agent == NATIVE else f"Final Answer: {text}")


@pytest.fixture(params=[TEXT, NATIVE], ids=["react", "function_calling"])
def agent(request) -> str:
    return request.param


def test_each_step_is_predicted_from_the_reference_before_it(wire, play, chain_task, agent):
    wire.then(
        act(wire, agent, "read_file", {"path": "input/notes.txt"}),
        act(wire, agent, "Calculator", {"expression": "2 + 2"}),
        answer(wire, agent, "Four."),
    )

    transcript = play(agent, chain_task())

    first, second, last = transcript.predictions
    assert (first.call.tool, first.call.arguments) == ("read_file", {"path": "input/notes.txt"})
    assert (second.call.arguments, second.error) == ({"expression": "2 + 2"}, None)
    assert last == Prediction(answer="Four.")
    assert (transcript.ending, transcript.final_answer) == (Ending.FINISHED, "Four.")
    assert transcript.tool_events == (), "nothing that was predicted has run"
    assert sum(isinstance(e, ModelEvent) for e in transcript.events) == 3


def test_the_model_sees_what_the_reference_did_and_never_what_it_said_itself(
    wire, play, chain_task, agent
):
    wire.respond = lambda seen: act(wire, agent, "Teleport", {"to": "Mars"})

    transcript = play(agent, chain_task())

    opening, one_step, two_steps = (seen.body["messages"] for seen in wire.seen)
    assert one_step[: len(opening)] == opening
    assert two_steps[: len(one_step)] == one_step
    sent = json.dumps(two_steps[len(opening) :])
    for part in ("I read the file.", "read_file", "milk, eggs and bread", "1 + 2"):
        assert part in sent
    assert "Mars" not in sent
    assert "Three." not in sent
    given = [e.text for e in transcript.events if isinstance(e, MessageEvent)]
    assert any(
        text == 'Given instead, step 2 of the reference: Calculator {"expression": "1 + 2"}: 3'
        for text in given
    )


def test_what_was_given_instead_is_on_record(wire, play, chain_task, agent):
    wire.respond = lambda seen: act(wire, agent, "Teleport", {"to": "Mars"})

    events = play(agent, chain_task()).events

    given = [e.given for e in events if isinstance(e, MessageEvent) and e.given is not None]
    assert [(step.number, step.thought) for step in given] == [(1, "I read the file."), (2, "")]
    assert [(step.call.arguments, step.result) for step in given] == [
        (COUNTED.arguments, COUNTED.result),
        (SUMMED.arguments, "3"),
    ]


def test_what_the_model_thought_is_in_the_transcript_and_not_sent_again(wire, play, chain_task):
    message = {"content": "Three.", "reasoning_content": "One and two is three."}
    wire.respond = lambda seen: wire.answers({"choices": [{"message": message}]})

    transcript = play(NATIVE, chain_task(SUMMED))

    thoughts = [e.thinking for e in transcript.events if isinstance(e, ModelEvent)]
    assert thoughts == ["One and two is three."] * 2
    assert "One and two" not in json.dumps([seen.body for seen in wire.seen])


def test_native_steps_are_calls_with_their_results(wire, play, chain_task):
    wire.respond = lambda seen: wire.says("ok")
    play(NATIVE, chain_task())
    roles = [message["role"] for message in wire.seen[2].body["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "assistant", "tool"]


@pytest.mark.parametrize(
    ("tool", "arguments", "error"),
    [
        ("Teleport", {}, "there is no tool 'Teleport'"),
        ("Calculator", "{1 + 1", "the arguments are not one JSON object"),
        ("Calculator", {"formula": "1"}, "Calculator has no argument 'formula'"),
        ("Calculator", {}, "Calculator lacks its argument 'expression'"),
    ],
)
def test_what_could_not_be_carried_out_is_an_error_beside_the_call(
    wire, play, chain_task, agent, tool, arguments, error
):
    wire.respond = lambda seen: act(wire, agent, tool, arguments)

    first = play(agent, chain_task(SUMMED)).predictions[0]

    assert (first.call.tool, first.error) == (tool, error)


def test_a_reply_that_says_nothing_is_an_error_and_finish_is_an_answer(
    wire, play, chain_task, agent
):
    wire.then(wire.says(""), act(wire, agent, "finish", {"answer": "Three."}))

    first, last = play(agent, chain_task(SUMMED)).predictions

    assert (first.call, first.answer) == (None, None)
    assert first.error
    assert last == Prediction(answer="Three.")


def test_of_several_calls_the_first_is_the_step(wire, play, chain_task):
    wire.respond = lambda seen: wire.says("", ("list_files", {}), ("read_file", {"path": "x"}))
    first = play(NATIVE, chain_task(SUMMED)).predictions[0]
    assert first.call == ToolCall(id="call_0", tool="list_files", arguments={}, raw="{}")


def test_a_step_written_as_text_is_a_step_where_the_agent_may_write_so(wire, play, chain_task):
    call = '```json\n{"name": "Calculator", "arguments": {"expression": "1 + 2"}}\n```'
    wire.respond = lambda seen: wire.says(call)

    read = play(NATIVE, chain_task(SUMMED)).predictions[0]
    off = play(NATIVE, chain_task(SUMMED), settings={"text_tool_calls": False}).predictions[0]

    assert (read.call.tool, read.call.arguments) == ("Calculator", {"expression": "1 + 2"})
    assert off == Prediction(answer=call)


def test_no_tool_has_to_be_ready_whose_results_are_recorded(wire, play, new_task, agent):
    drawn = ReferenceStep(tool="TextToImage", arguments={"keywords": "cat"}, result="cat.png")
    wire.then(act(wire, agent, "TextToImage", {"keywords": "dog"}), answer(wire, agent, "Drawn."))
    task = new_task(
        tools=("TextToImage", "ImageDescription"),
        reference=ReferenceSolution(steps=(drawn,), final_answer="Drawn."),
    )

    first, last = play(agent, task).predictions

    assert (first.call.tool, first.error, last.answer) == ("TextToImage", None, "Drawn.")


def test_results_that_were_not_recorded_come_from_the_tools(wire, play, chain_task, agent):
    wire.respond = lambda seen: answer(wire, agent, "ok")
    write = ReferenceStep(tool="write_file", arguments={"path": "output/a.txt", "content": "seven"})
    read = ReferenceStep(tool="read_file", arguments={"path": "output/a.txt"})

    transcript = play(agent, chain_task(write, COUNTED, read))

    sent = json.dumps(wire.seen[3].body["messages"])
    assert "milk, eggs and bread" in sent, "what was recorded is given as recorded"
    assert "seven" in sent.split("milk, eggs and bread")[1]
    assert transcript.tool_events == ()


def test_what_the_reference_writes_is_no_deliverable_of_the_agent(
    wire, evaluate, chain_task, agent, monkeypatch
):
    monkeypatch.setenv("COMPATIBLE_API_KEY", "key")
    wire.respond = lambda seen: answer(wire, agent, "ok")
    write = ReferenceStep(tool="write_file", arguments={"path": "output/a.txt", "content": "seven"})

    spec = AgentSpec.parse(agent, base_url=wire.openai_url)
    outcome, transcript = evaluate(spec, chain_task(write))

    assert (outcome.deliverables, outcome.rejected_files) == ((), ())
    assert len(transcript.predictions) == 2


def test_playing_the_reference_is_not_the_agents_time(wire, play, chain_task, agent):
    wire.respond = lambda seen: answer(wire, agent, "ok")
    slow = ReferenceStep(tool="python_execute", arguments={"code": "import time; time.sleep(1.5)"})

    assert play(agent, chain_task(slow), max_seconds=1.2).ending is Ending.FINISHED


def test_a_reference_that_fails_here_is_not_the_agents_doing(wire, play, chain_task, agent):
    gone = ReferenceStep(tool="read_file", arguments={"path": "input/gone.csv"})
    with pytest.raises(BadTaskData, match=r"'sum-two': step 1 of its reference, read_file, fails"):
        play(agent, chain_task(gone))
    assert wire.seen == []


def test_a_spent_budget_keeps_the_predictions_so_far(wire, play, chain_task, agent):
    wire.respond = lambda seen: answer(wire, agent, "Three.")
    transcript = play(agent, chain_task(), max_turns=2)
    assert (transcript.ending, len(transcript.predictions)) == (Ending.OUT_OF_TURNS, 2)


@pytest.mark.parametrize(
    ("refusal", "error"),
    [
        (lambda wire: wire.says("", stop="content_filter"), REFUSED),
        (lambda wire: wire.fails(400, "flagged", code="content_policy_violation"), REFUSED),
        (lambda wire: wire.fails(400, "too long", code="context_length_exceeded"), TOO_LONG),
    ],
)
@pytest.mark.parametrize("refused", [0, 1])
def test_a_refused_step_is_wrong_and_the_next_one_is_asked(
    wire, play, chain_task, agent, refusal, error, refused
):
    replies = [act(wire, agent, "Calculator", {"expression": "1 + 2"})] * 2
    replies[refused] = refusal(wire)
    wire.then(*replies, answer(wire, agent, "Three."))

    transcript = play(agent, chain_task())

    assert (transcript.ending, transcript.final_answer) == (Ending.FINISHED, "Three.")
    assert transcript.predictions[refused] == Prediction(error=error)
    assert [p.error for p in transcript.predictions].count(None) == 2
    opening, first, second = (seen.body["messages"] for seen in wire.seen)
    assert first[: len(opening)] == opening
    assert second[: len(first)] == first
    assert len(second) - len(first) == len(first) - len(opening) == 2


def test_an_answer_that_was_refused_ends_the_trial_so(wire, play, chain_task, agent):
    wire.then(
        act(wire, agent, "Calculator", {"expression": "1 + 2"}),
        wire.says("", stop="content_filter"),
    )

    transcript = play(agent, chain_task(SUMMED))

    assert (transcript.ending, transcript.final_answer) == (Ending.REFUSED, "")
    assert len(transcript.predictions) == 2


def test_a_step_that_was_cut_off_is_none_that_could_be_carried_out(wire, play, chain_task, agent):
    wire.respond = lambda seen: (
        wire.says("", ("list_files", {}), stop="length")
        if agent == NATIVE
        else wire.says('Action: list_files\nAction Input: {"folder', stop="length")
    )

    first = play(agent, chain_task(SUMMED)).predictions[0]

    assert first.call.tool == "list_files"
    assert first.error


def test_a_reference_without_steps_is_an_answer_to_predict(wire, play, new_task, agent):
    wire.then(answer(wire, agent, "Three."))
    reference = ReferenceSolution(steps=(), final_answer="Three.")
    transcript = play(agent, new_task(reference=reference))
    assert transcript.predictions == (Prediction(answer="Three."),)


def test_a_task_without_a_reference_cannot_be_predicted(play, task, agent):
    with pytest.raises(BadTaskData, match="'sum-two': has no reference to predict"):
        play(agent, task)
    assert harness_kind(agent.partition(":")[0]).needs_reference, "so that none is planned"


def test_the_mode_chooses_the_harness():
    agent = AgentSpec.parse("react:openai/gpt-5.2", temperature=0.5)
    assert in_mode(agent, "end-to-end") is agent
    steps = in_mode(agent, "step-by-step")
    assert (steps.name, steps.temperature) == ("react_steps:openai/gpt-5.2", 0.5)
    assert in_mode(steps, "step-by-step") is steps


@pytest.mark.parametrize(
    ("agent", "mode", "said"),
    [
        ("nop", "step-by-step", "name agents of harness react or function_calling"),
        ("react:openai/gpt-5.2", "by-step", "there are end-to-end, step-by-step"),
    ],
)
def test_modes_that_make_no_sense_are_misuse(agent, mode, said):
    with pytest.raises(Misuse, match=said):
        in_mode(AgentSpec.parse(agent), mode)
