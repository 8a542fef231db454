"""The SDKs' own loops over our tools, their model calls metered like everybody's."""

import json
import sys
from importlib.util import find_spec

import pytest

from stages.execute.harness import require_agent
from taskdata.errors import Misuse
from taskdata.schema.agent import AgentSpec
from taskdata.schema.run import OutcomeStatus
from taskdata.schema.task import Resources
from taskdata.schema.transcript import Ending, ModelEvent, ToolEvent
from tests.soak import at_length_only

KEY = "sk-canary-adapters"
SOAKED = [pytest.mark.soak, at_length_only]
WRITE = ("write_file", {"path": "output/out.json", "content": '{"sum": 5}'})


@pytest.fixture(params=["openai_agents", "pydantic_ai"])
def new_agent(request, wire, monkeypatch):
    """Make an agent of each adapter, its model behind the scripted provider."""
    monkeypatch.setenv("COMPATIBLE_API_KEY", KEY)

    def make(provider: str = "compatible", **settings) -> AgentSpec:
        return AgentSpec.parse(
            f"{request.param}:{provider}/m", base_url=wire.openai_url, **settings
        )

    return make


def test_a_task_is_worked_on_to_its_end(wire, evaluate, new_agent, task):
    finish = ("finish", {"answer": "Done."})
    wire.then(
        wire.called(1, wire.says("First the file.", WRITE)), wire.called(2, wire.says("", finish))
    )
    agent = new_agent(temperature=0.5)
    outcome, transcript = evaluate(agent, task)
    assert (outcome.status, outcome.ending) == (OutcomeStatus.FINISHED, Ending.FINISHED)
    assert outcome.final_answer == "Done."
    assert [file.name for file in outcome.deliverables] == ["out.json"]
    assert [type(event) for event in transcript.events[2:]] == [ModelEvent, ToolEvent] * 2
    assert (outcome.turns, outcome.tool_calls, outcome.usage.total) == (2, 2, 30)
    first, second = (seen.body for seen in wire.seen)
    assert first["temperature"] == 0.5
    assert {tool["function"]["name"] for tool in first["tools"]} >= {"write_file", "finish"}
    assert second["messages"][-1]["role"] == "tool"


def test_the_responses_format_is_spoken_where_the_model_wants_it(
    wire, evaluate, new_agent, task, monkeypatch
):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    wire.then(wire.called(1, wire.says("", WRITE)), wire.says("Five.", input_tokens=20))
    agent = new_agent("openai-responses", reasoning_effort="low")
    outcome, _ = evaluate(agent, task)
    assert (outcome.ending, outcome.final_answer) == (Ending.FINISHED, "Five.")
    assert [seen.path for seen in wire.seen] == ["/v1/responses"] * 2
    assert wire.seen[0].body["reasoning"]["effort"] == "low"
    assert (outcome.tool_calls, outcome.usage.input_tokens) == (1, 30)


def test_a_reply_without_a_call_is_the_answer(wire, evaluate, new_agent, task):
    wire.then(wire.says("Five."))
    outcome, _ = evaluate(new_agent(), task)
    assert (outcome.ending, outcome.final_answer) == (Ending.FINISHED, "Five.")


def test_a_failing_tool_is_an_observation(wire, evaluate, new_agent, task):
    wire.then(wire.says("", ("read_file", {"path": "input/none.txt"})), wire.says("No file."))
    outcome, transcript = evaluate(new_agent(), task)
    assert outcome.tool_errors == 1
    assert transcript.tool_events[0].text in wire.seen[1].body["messages"][-1]["content"]
    assert outcome.final_answer == "No file."


def test_the_rest_of_a_long_result_can_be_read(wire, evaluate, new_agent, new_task):
    code = "for number in range(12_000): print('line', number)"
    read_on = ("handle_overlong_tool_outputs", {"result": 1, "search": "line 11765"})
    wire.then(
        wire.called(1, wire.says("", ("python_execute", {"code": code}))),
        wire.called(2, wire.says("", read_on)),
        wire.says("There."),
    )
    outcome, transcript = evaluate(new_agent(), new_task(tools=("python_execute",)))
    assert (outcome.ending, outcome.final_answer) == (Ending.FINISHED, "There.")
    assert read_on[0] in wire.seen[1].body["messages"][-1]["content"]
    assert "line 11765" in transcript.tool_events[1].text
    offered = [tool["function"]["name"] for tool in wire.seen[0].body["tools"]]
    assert offered == [tool.name for tool in transcript.tools]


DRAW = "from PIL import Image; Image.new('RGB', (60, 40), 'red').save('output/red.png')"


@pytest.mark.parametrize(
    ("provider", "sees"),
    [
        ("compatible", True),
        pytest.param("compatible", False, marks=SOAKED),
        pytest.param("openai-responses", True, marks=SOAKED),
    ],
)
def test_a_picture_of_a_result_is_seen_by_a_model_that_can(
    wire, evaluate, new_agent, new_task, monkeypatch, provider, sees
):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    draw = ("python_execute", {"code": DRAW})
    look = ("view_file", {"path": "output/red.png"})
    wire.then(
        wire.called(7, wire.says("", draw, look)),
        wire.called(8, wire.says("", look)),
        wire.says("Red."),
    )
    agent = new_agent(provider, native_inputs=("image",) if sees else ())

    outcome, transcript = evaluate(agent, new_task(tools=("python_execute", "view_file")))

    assert outcome.final_answer == "Red.", (outcome.error, transcript and transcript.events[-1])
    last = json.dumps(wire.seen[-1].body)
    looked = [event for event in transcript.tool_events if event.pictures]
    assert last.count("data:image/png;base64,") == (len(looked) if sees else 0)
    assert ("that you cannot see" in last) is not sees
    assert looked
    assert all(event.pictures[0].was_shown is sees for event in looked)


def test_the_budget_ends_the_work(wire, evaluate, new_agent, task):
    wire.respond = lambda seen: wire.says("", WRITE)
    outcome, _ = evaluate(new_agent(budget={"max_turns": 3}), task)
    assert (outcome.status, outcome.ending) == (OutcomeStatus.FINISHED, Ending.OUT_OF_TURNS)
    assert outcome.turns == len(wire.seen) == 3
    assert [file.name for file in outcome.deliverables] == ["out.json"]


def test_time_runs_out_within_a_call(wire, evaluate, new_agent, task):
    wire.then(wire.waits(0.5, wire.says("", ("list_files", {}))))
    wire.respond = lambda seen: wire.waits(20, wire.says("late"))
    outcome, _ = evaluate(new_agent(budget={"max_seconds": 1.5}), task)
    assert outcome.ending is Ending.OUT_OF_TIME


def test_a_provider_that_fails_is_not_the_agents_doing(wire, evaluate, new_agent, task):
    wire.respond = lambda seen: wire.fails(500)
    outcome, _ = evaluate(new_agent(), task)
    assert outcome.status is OutcomeStatus.INFRASTRUCTURE
    assert "HTTP 500" in outcome.error


def test_what_the_sdk_asked_again_is_told_with_the_answer(wire, evaluate, new_agent, task):
    wire.then(wire.fails(503), wire.says("Five."))
    _, transcript = evaluate(new_agent(), task)
    (reply,) = [event for event in transcript.events if isinstance(event, ModelEvent)]
    assert [attempt.status for attempt in reply.failed_attempts] == [503]


def test_a_lost_sandbox_is_not_the_agents_doing(wire, evaluate, new_agent, new_task, monkeypatch):
    from environments.tool_runtime import sandboxed
    from taskdata.errors import SandboxFailed

    async def lost(*_):
        raise SandboxFailed("the sandbox was lost")

    monkeypatch.setattr(sandboxed.SandboxedTool, "run", lost)
    wire.respond = lambda seen: wire.says("", WRITE)
    outcome, _ = evaluate(new_agent(budget={"max_turns": 4}), new_task(resources=Resources()))
    assert (outcome.status, outcome.error) == (
        OutcomeStatus.INFRASTRUCTURE,
        "the sandbox was lost",
    )


def test_what_the_provider_refuses_is_an_error_of_the_agent(wire, evaluate, new_agent, task):
    wire.respond = lambda seen: wire.fails(400, "messages: odd")
    outcome, transcript = evaluate(new_agent(), task)
    assert (outcome.status, outcome.ending) == (OutcomeStatus.FINISHED, Ending.IN_ERROR)
    assert "messages: odd" in transcript.events[-1].text


def test_the_real_key_reaches_the_provider_and_nobody_else(
    wire, evaluate, new_agent, task, tmp_path, caplog
):
    caplog.set_level("DEBUG")
    wire.then(wire.says("", WRITE), wire.says("Done."))
    evaluate(new_agent(), task)
    assert {seen.headers["Authorization"] for seen in wire.seen} == {f"Bearer {KEY}"}
    assert KEY not in caplog.text
    for file in tmp_path.rglob("*"):
        assert not file.is_file() or KEY.encode() not in file.read_bytes(), file


def test_an_sdk_that_is_not_installed_is_named_with_the_way_to_get_it(new_agent, monkeypatch):
    from stages.execute.adapters import installed

    monkeypatch.setattr(
        installed, "find_spec", lambda name: None if name in sdks else find_spec(name)
    )
    sdks = ("agents", "pydantic_ai")
    with pytest.raises(Misuse, match="run `make setup-all`"):
        require_agent(new_agent())


def test_an_anthropic_model_is_refused_beforehand(new_agent):
    agent = AgentSpec.parse(f"{new_agent().harness}:anthropic/claude-opus-4-6")
    with pytest.raises(Misuse, match="OpenAI's formats only"):
        require_agent(agent)


def test_sdks_are_not_loaded_before_they_are_used():
    import subprocess

    loaded = "import sys, stages.execute.work; print({'agents', 'pydantic_ai'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True)
    assert done.stdout == "set()\n"
