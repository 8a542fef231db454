"""Programs that we did not write: what they find, what they leave, what they cannot get at."""

import os
import shutil
from pathlib import Path

import pytest

from environments.sandbox.docker.provider import IMAGE, Docker
from stages.execute.command import with_room
from stages.execute.harness import require_agent
from stages.prepare.work import require
from taskdata.errors import Misuse, SandboxFailed
from taskdata.schema.agent import AgentSpec
from taskdata.schema.run import OutcomeStatus, RunConfig
from taskdata.schema.task import InputFile
from taskdata.schema.transcript import Ending, ModelEvent
from taskdata.traces.atif import trajectory
from taskdata.traces.recorded import recorded_trials
from taskdata.traces.spans import trace

KEY = "sk-canary-command"
SHELL = "cat TASK.md input/notes.txt; echo '{}' > output/out.json; echo Done. > output/final.txt"
ASKING = """
import json, os, sys, urllib.error, urllib.request
def ask(text, model="gpt-large", **more):
    body = {"model": model, "messages": [{"role": "user", "content": text}], **more}
    request = urllib.request.Request(
        os.environ["OPENAI_BASE_URL"] + "/chat/completions",
        json.dumps(body).encode(),
        {"authorization": "Bearer " + os.environ["OPENAI_API_KEY"],
         "content-type": "application/json"},
    )
    with urllib.request.urlopen(request) as answered:
        return json.load(answered)["choices"][0]["message"]["content"]
"""


def python(body: str, **settings) -> AgentSpec:
    """An agent that is a Python program with `ask` at hand."""
    command = ("python3", "-c", ASKING + body)
    return AgentSpec.parse(
        "command:compatible/m" if "base_url" in settings else "command",
        label="my-agent",
        command=command,
        **settings,
    )


def shell(line: str, **settings) -> AgentSpec:
    command = ("/bin/sh", "-c", line)
    return AgentSpec.parse("command", label="my-script", command=command, **settings)


@pytest.fixture
def asking(wire, monkeypatch):
    """Make an agent whose program asks its model."""
    monkeypatch.setenv("COMPATIBLE_API_KEY", KEY)
    return lambda body, **settings: python(body, base_url=wire.openai_url, **settings)


@pytest.fixture
def task_with_notes(new_task, store):
    notes = b"milk\neggs\n"
    file = InputFile(path="notes.txt", sha256=store.artifacts.put_bytes(notes), size_bytes=10)
    return new_task(files=(file,))


@pytest.fixture(params=["bubblewrap", pytest.param("docker", marks=pytest.mark.docker)])
def sandbox(request) -> str:
    if request.param == "docker" and (reason := Docker().unavailable()):
        pytest.skip(reason)
    return request.param


def report(transcript) -> str:
    """What the transcript says of the program's run."""
    return next(e.text for e in transcript.events if e.text.startswith("The program ended"))


def test_a_script_finds_the_task_and_leaves_deliverables(sandbox, evaluate, task_with_notes):
    outcome, transcript = evaluate(shell(SHELL), task_with_notes, "Look again.", sandbox=sandbox)
    assert (outcome.status, outcome.ending) == (OutcomeStatus.FINISHED, Ending.FINISHED)
    assert outcome.final_answer == "Done."
    assert [f.name for f in outcome.deliverables] == ["final.txt", "out.json"]
    said = report(transcript)
    for text in (task_with_notes.query, "output/out.json", "input/notes.txt", "Look again."):
        assert text in said
    assert "milk\neggs" in said
    assert (outcome.turns, outcome.cost_usd, outcome.model_id) == (0, 0, None)
    assert outcome.prompt_version == "command_v1+task_v1"


def test_what_a_program_did_with_tools_of_its_own_is_unknown(evaluate, task):
    outcome, transcript = evaluate(shell(SHELL), task)
    assert (outcome.tool_calls, outcome.tool_errors) == (None, None)
    assert transcript.has_unseen_calls
    late, _ = evaluate(shell("sleep 9", budget={"max_seconds": 0.5}), task)
    assert (late.ending, late.tool_calls) == (Ending.OUT_OF_TIME, None)


def test_a_program_asks_its_model_through_the_proxy(sandbox, wire, evaluate, asking, task):
    wire.then(wire.says("Five.", input_tokens=100), wire.says("Six."))
    body = "print(ask('2+3?')); print(ask('2*3?', model='m'))"
    outcome, transcript = evaluate(asking(body), task, sandbox=sandbox)
    assert (outcome.ending, outcome.final_answer) == (Ending.FINISHED, "Five.\nSix.")
    replies = [event for event in transcript.events if isinstance(event, ModelEvent)]
    assert [reply.text for reply in replies] == ["Five.", "Six."]
    assert (outcome.turns, outcome.usage.input_tokens) == (2, 110)
    assert [seen.body["model"] for seen in wire.seen] == ["m", "m"]
    assert {seen.headers["Authorization"] for seen in wire.seen} == {f"Bearer {KEY}"}


def test_what_a_program_tells_its_model_and_offers_it_is_in_every_export(
    wire, evaluate, asking, task, store
):
    wire.then(wire.fails(503), wire.says("Five."))
    body = """
tool = {"type": "function", "function": {"name": "look", "description": "Looks around.",
        "parameters": {"type": "object", "properties": {"at": {"type": "string"}}}}}
system = {"role": "system", "content": "You are careful."}
def careful():
    user = {"role": "user", "content": "2+3?"}
    return ask("", messages=[system, user], tools=[tool])
try:
    careful()
except urllib.error.HTTPError:
    print(careful())
"""
    _, transcript = evaluate(asking(body), task)
    (spec,) = transcript.tools
    assert (spec.name, spec.description) == ("look", "Looks around.")
    (asked,) = [event for event in transcript.events if isinstance(event, ModelEvent)]
    assert [attempt.status for attempt in asked.failed_attempts] == [503]
    (run,) = store.runs()
    (recorded,) = recorded_trials(store, run)
    steps = trajectory(recorded)
    assert steps["agent"]["tool_definitions"][0]["function"]["name"] == "look"
    told = [step["message"] for step in steps["steps"] if step["source"] == "system"]
    assert "The program's instructions to its model:\n\nYou are careful." in told
    chat = next(span for span in trace(recorded).spans if span.name.startswith("chat"))
    assert "You are careful." in chat.attributes["gen_ai.system_instructions"]
    assert '"name": "look"' in chat.attributes["gen_ai.tool.definitions"]


def test_a_program_of_anthropics_format_asks_too(wire, evaluate, task, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    wire.then(wire.says("Five.", input_tokens=100))
    body = """
request = urllib.request.Request(
    os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages",
    json.dumps({"model": os.environ["NIGHTSHIFT_MODEL"], "max_tokens": 100,
                "messages": [{"role": "user", "content": "2+3?"}]}).encode(),
    {"x-api-key": os.environ["ANTHROPIC_API_KEY"], "content-type": "application/json"},
)
with urllib.request.urlopen(request) as answered:
    print(json.load(answered)["content"][0]["text"])
"""
    agent = AgentSpec.parse(
        "command:anthropic/claude-opus-4-6",
        label="my-agent",
        base_url=wire.url,
        command=("python3", "-c", ASKING + body),
    )
    outcome, _ = evaluate(agent, task)
    assert (outcome.final_answer, outcome.usage.input_tokens) == ("Five.", 100)
    assert outcome.cost_usd == pytest.approx(100 * 5e-6 + 5 * 25e-6)
    assert wire.seen[0].headers["x-api-key"] == KEY


def test_the_real_key_is_nowhere_but_at_the_provider(
    sandbox, wire, evaluate, asking, task, tmp_path: Path, caplog
):
    caplog.set_level("DEBUG")
    wire.respond = lambda seen: wire.fails(401, f"Incorrect API key provided: {KEY}")
    body = """
import os, subprocess
os.system("env; cat /proc/*/environ /proc/*/cmdline")
try:
    ask("Which key?")
except urllib.error.HTTPError as refused:
    print(refused.read().decode())
"""
    outcome, _ = evaluate(asking(body), task, sandbox=sandbox)
    assert wire.seen[0].headers["Authorization"] == f"Bearer {KEY}"
    # A wrong key of ours is not the agent's doing.
    assert outcome.status is OutcomeStatus.INFRASTRUCTURE
    assert "API key" in outcome.error
    assert KEY not in caplog.text
    for file in tmp_path.rglob("*"):
        assert not file.is_file() or KEY.encode() not in file.read_bytes(), file


def test_calls_at_once_cannot_go_beyond_the_budget(wire, evaluate, asking, task):
    wire.respond = lambda seen: wire.waits(0.05, wire.says("x"))
    body = """
from concurrent.futures import ThreadPoolExecutor
def safely(text):
    try:
        return ask(text)
    except urllib.error.HTTPError as refused:
        return json.loads(refused.read())["error"]["code"]
with ThreadPoolExecutor(10) as pool:
    print(sorted(pool.map(safely, map(str, range(20)))))
"""
    outcome, transcript = evaluate(asking(body, budget={"max_turns": 7}), task)
    assert len(wire.seen) == outcome.turns == 7
    assert outcome.ending is Ending.OUT_OF_TURNS
    assert report(transcript).count("insufficient_quota") == 13


def test_a_provider_that_fails_is_not_booked_as_the_agents(wire, evaluate, asking, task):
    wire.respond = lambda seen: wire.fails(503, "overloaded")
    outcome, _ = evaluate(asking("ask('Anybody there?')"), task)
    assert (outcome.status, outcome.tool_calls) == (OutcomeStatus.INFRASTRUCTURE, None)
    assert "HTTP 503" in outcome.error


def test_a_program_that_asks_again_gets_over_a_failure(wire, evaluate, asking, task):
    wire.then(wire.fails(500), wire.says("There."))
    body = """
try:
    ask("Anybody there?")
except urllib.error.HTTPError:
    print(ask("Now?"))
"""
    outcome, _ = evaluate(asking(body), task)
    assert (outcome.status, outcome.final_answer) == (OutcomeStatus.FINISHED, "There.")


def test_a_program_that_fails_has_failed_itself(sandbox, evaluate, task):
    outcome, transcript = evaluate(shell("echo oops >&2; exit 3"), task, sandbox=sandbox)
    assert (outcome.status, outcome.ending) == (OutcomeStatus.FINISHED, Ending.IN_ERROR)
    assert "exit code 3" in report(transcript)
    assert "oops" in report(transcript)


def test_the_time_of_the_trial_is_the_programs(sandbox, evaluate, task):
    line = "echo begun; echo '{}' > output/out.json; sleep 60"
    outcome, transcript = evaluate(shell(line, budget={"max_seconds": 2}), task, sandbox=sandbox)
    assert (outcome.status, outcome.ending) == (OutcomeStatus.FINISHED, Ending.OUT_OF_TIME)
    assert outcome.wall_seconds < 20
    assert "begun" in report(transcript)
    assert [f.name for f in outcome.deliverables] == ["out.json"]


def test_it_may_take_longer_than_a_tool_call(evaluate, new_task):
    task = new_task(resources={"wall_seconds": 0.2, "cpu_seconds": 1})
    outcome, _ = evaluate(shell("sleep 0.6; echo slow"), task)
    assert (outcome.ending, outcome.final_answer) == (Ending.FINISHED, "slow")
    limits = {limit.name: limit.value for limit in outcome.limits.enforced}
    assert limits["wall_seconds"] == 1800


@pytest.mark.node
def test_a_program_in_node_reaches_its_model(wire, evaluate, asking, task):
    """Its `fetch` reserves far more address space than it has memory."""
    if shutil.which("node") is None:
        pytest.skip("there is no node")
    wire.then(wire.says("Five."))
    body = """
const body = JSON.stringify({messages: [{role: "user", content: "2+3?"}]});
const headers = {authorization: `Bearer ${process.env.OPENAI_API_KEY}`,
                 "content-type": "application/json"};
const url = process.env.OPENAI_BASE_URL + "/chat/completions";
fetch(url, {method: "POST", headers, body}).then(answered => answered.json())
    .then(answer => console.log(answer.choices[0].message.content));
"""
    agent = asking("").model_copy(update={"command": ("node", "-e", body)})
    outcome, transcript = evaluate(agent, task)
    assert (outcome.ending, outcome.final_answer) == (Ending.FINISHED, "Five."), report(transcript)


def test_a_program_that_takes_too_much_memory_is_stopped(sandbox, evaluate, new_task):
    task = new_task(resources={"memory_mb": 128})
    hoard = python("hoard = []\nwhile True: hoard.append(bytearray(8 << 20))")
    outcome, transcript = evaluate(hoard, task, sandbox=sandbox)
    assert outcome.ending is Ending.IN_ERROR
    assert "stopped by its limit: memory" in report(transcript)


def test_its_processor_time_is_that_of_all_processors(task):
    """Several busy threads may go on as long as one."""
    resources = with_room(shell("true", budget={"max_seconds": 100}), task.resources)
    assert resources.cpu_seconds == 100 * os.cpu_count()


def test_a_flood_of_output_is_cut_at_both_ends_of_the_pipe(evaluate, task):
    outcome, transcript = evaluate(shell("yes | head -c 3000000; echo; echo last"), task)
    assert outcome.final_answer.endswith("last")
    assert len(report(transcript)) < 50_000


def test_an_answer_file_that_leads_elsewhere_shows_nothing_of_the_host(evaluate, task, tmp_path):
    (tmp_path / "secret").write_text("s3cret")
    line = f"ln -s {tmp_path}/secret output/final.txt; echo printed"
    outcome, _ = evaluate(shell(line), task)
    assert outcome.final_answer == "printed"


def test_the_programs_folder_is_there_and_cannot_be_changed(sandbox, evaluate, task, tmp_path):
    folder = tmp_path / "agent"
    folder.mkdir()
    (folder / "main.sh").write_text("echo from the folder; touch /opt/agent/new && exit 9; true\n")
    (tmp_path / "agent").chmod(0o755)
    agent = AgentSpec.parse(
        "command", label="a", command=("/bin/sh", "/opt/agent/main.sh"), program=str(folder)
    )
    outcome, transcript = evaluate(agent, task, sandbox=sandbox)
    assert (outcome.ending, outcome.final_answer) == (Ending.FINISHED, "from the folder")
    assert "sha256" in transcript.events[1].text


def test_a_program_that_was_changed_is_told_apart(evaluate, task, tmp_path):
    folder = tmp_path / "agent"
    folder.mkdir()
    folder.chmod(0o755)
    command = ("/bin/sh", "/opt/agent/main.sh")
    said = []
    for line in ("echo one", "echo two", "echo two"):
        (folder / "main.sh").write_text(line)
        agent = AgentSpec.parse("command", label="a", command=command, program=str(folder))
        _, transcript = evaluate(agent, task)
        said.append(transcript.events[1].text)
    assert said[0] != said[1] == said[2]


def test_a_task_without_a_model_has_no_proxy(evaluate, task):
    _, transcript = evaluate(shell("env; ls /run/nightshift 2>&1"), task)
    assert "OPENAI" not in report(transcript)
    assert "8411" not in report(transcript)


@pytest.mark.docker
def test_a_container_image_is_where_the_program_runs(evaluate, task):
    if reason := Docker().unavailable():
        pytest.skip(reason)
    agent = shell("echo inside", image=IMAGE)
    outcome, _ = evaluate(agent, task, sandbox="docker")
    assert (outcome.final_answer, outcome.sandbox_image[:7]) == ("inside", "sha256:")
    with pytest.raises(SandboxFailed, match="no image none-such"):
        require(RunConfig(agents=(shell("true", image="none-such"),), sandbox="docker"))


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"command": ()}, "needs `command`"),
        ({"program": "/none/such"}, "no folder"),
        ({"temperature": 0.5}, "its program's to choose"),
        ({"label": "react"}, "another label"),
    ],
)
def test_what_makes_no_sense_is_refused_beforehand(settings, said):
    fields = {"harness": "command", "command": ("true",), "label": "mine"} | settings
    with pytest.raises(Misuse, match=said):
        require_agent(AgentSpec.model_validate(fields))


def test_a_program_beside_the_tasks_solutions_is_refused():
    import taskdata

    folder = Path(taskdata.__file__).parent
    with pytest.raises(Misuse, match="solutions"):
        require_agent(
            AgentSpec(harness="command", label="a", command=("true",), program=str(folder))
        )


def test_an_image_needs_docker():
    with pytest.raises(Misuse, match="sandbox 'docker'"):
        require(RunConfig(agents=(shell("true", image="debian"),)))


def test_a_command_is_no_other_harnesses():
    with pytest.raises(Misuse, match="only harness 'command'"):
        require_agent(AgentSpec(harness="nop", command=("true",)))
