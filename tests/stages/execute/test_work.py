"""The execute stage over a real store: outcomes, failures outside the agent, running again."""

import io
import json
from datetime import UTC, datetime
from pathlib import Path

import jsonschema
import pytest
from PIL import Image

from stages.execute import work
from stages.execute.harnesses.step_schema import step_schema
from stages.prepare.work import first_trial
from taskdata.errors import Misuse
from taskdata.schema.agent import AgentSpec, Budget, ModelSpec
from taskdata.schema.run import OutcomeStatus, Run, RunConfig, RunStatus
from taskdata.schema.task import (
    InputFile,
    Provenance,
    ReferenceSolution,
    ReferenceStep,
    Resources,
    Task,
)
from taskdata.schema.transcript import Ending, ModelEvent
from taskdata.store import Store

WRITE = ReferenceStep(
    tool="write_file", arguments={"path": "output/out.json", "content": '{"sum": 5}'}
)
SOLUTION = ReferenceSolution(steps=(WRITE,), final_answer="5")


@pytest.fixture
def plan(store: Store, wire, monkeypatch):
    """Plan one trial of each agent on each task; models are served by the scripted provider."""
    monkeypatch.setenv("COMPATIBLE_API_KEY", "sk-canary-42")

    def make(agents: tuple[str | AgentSpec, ...], *tasks: Task, **config) -> Run:
        specs = [agent if isinstance(agent, AgentSpec) else spec(agent) for agent in agents]
        run = Run(
            id="run-1",
            status=RunStatus.RUNNING,
            config=RunConfig.model_validate({"bank": "test", "agents": specs, **config}),
            release_hash=store.add_release("test", tasks, {}).hash,
            code_version="test",
            created_at=datetime.now(UTC),
        )
        store.add_run(run)
        store.plan_trials(
            [
                first_trial(run.id, agent.name, task.content_hash, task, 0)
                for agent in specs
                for task in tasks
            ]
        )
        return run

    def spec(name: str) -> AgentSpec:
        return AgentSpec.parse(name, base_url=wire.openai_url if ":" in name else None)

    return make


def outcomes(store: Store, run: Run):
    return {trial.agent: store.outcome(trial.id) for trial in store.trials(run.id, 0)}


def test_a_finished_trial_is_recorded_whole(store, plan, new_task, tmp_path: Path):
    run = plan(("reference", "nop"), new_task(reference=SOLUTION))

    report = work.do(store, run.id, 0, tmp_path)

    assert (report.due, report.done, report.errors) == (2, 2, 0)
    reference, nop = outcomes(store, run)["reference"], outcomes(store, run)["nop"]
    assert (reference.status, reference.ending) == (OutcomeStatus.FINISHED, Ending.FINISHED)
    (file,) = reference.deliverables
    assert (file.name, file.size_bytes) == ("out.json", 10)
    assert store.artifacts.read_bytes(file.sha256) == b'{"sum": 5}'
    assert (reference.final_answer, reference.tool_calls, reference.turns) == ("5", 1, 1)
    assert store.transcript(reference.trial_id).tool_events[0].call.tool == "write_file"
    assert (nop.final_answer, nop.deliverables, nop.turns) == ("", (), 0)
    assert nop.wall_seconds < reference.wall_seconds
    assert reference.limits.asked == Resources()
    assert {limit.name for limit in reference.limits.enforced} >= {"memory_mb", "network"}
    assert reference.sandbox_image is None


def test_the_agent_finds_the_tasks_files(store, plan, new_answer_task, wire, tmp_path: Path):
    data = b"milk\neggs\n"
    files = (InputFile(path="notes.txt", sha256=store.artifacts.put_bytes(data), size_bytes=10),)
    wire.then(wire.says("", ("read_file", {"path": "input/notes.txt"})), wire.says("Two."))
    run = plan(("function_calling:compatible/m",), new_answer_task(files=files))

    work.do(store, run.id, 0, tmp_path)

    (outcome,) = outcomes(store, run).values()
    assert outcome.final_answer == "Two."
    assert "milk" in store.transcript(outcome.trial_id).tool_events[0].text
    assert (outcome.usage.total, outcome.cost_usd, outcome.model_id) == (30, None, "wire-model-1")
    assert outcome.prompt_version == "function_calling_v3+task_v1"


def test_finished_trials_are_not_run_again(store, plan, new_answer_task, wire, tmp_path: Path):
    wire.respond = lambda seen: wire.says("Final Answer: 5")
    run = plan(("react:compatible/m",), new_answer_task())
    trial_ids = work.due(store, run.id, 0)

    first = work.execute_trials(store, run.id, trial_ids, {})
    again = work.execute_trials(store, run.id, trial_ids * 2, {})

    assert (first.finished, again.finished, again.skipped) == (1, 0, 1)
    assert len(wire.seen) == 1
    assert work.due(store, run.id, 0) == []


def test_trials_run_at_once_up_to_the_limit(store, plan, new_answer_task, wire, tmp_path: Path):
    wire.respond = lambda seen: wire.waits(0.3, wire.says("Final Answer: 5"))
    tasks = [new_answer_task(f"task-{n}") for n in range(7)]
    run = plan(("react:compatible/m",), *tasks, trials_per_worker=3)

    work.do(store, run.id, 0, tmp_path)

    assert wire.most_at_once == 3
    assert len(wire.seen) == 7


def test_a_failure_outside_the_agent_is_recorded_and_the_batch_goes_on(
    store, plan, new_task, wire, tmp_path: Path
):
    good = new_task("good", reference=SOLUTION)
    lost = InputFile(path="lost.csv", sha256="0" * 64, size_bytes=1)
    run = plan(("reference",), good, new_task("bad", reference=SOLUTION, files=(lost,)))

    report = work.do(store, run.id, 0, tmp_path)

    assert (report.due, report.done, report.errors) == (2, 1, 1)
    results = {r.trial.task_id: r.outcome for r in store.results(run.id)}
    assert results["good"].status is OutcomeStatus.FINISHED
    assert results["bad"].status is OutcomeStatus.INFRASTRUCTURE
    assert "0" * 64 in results["bad"].error
    assert "\n" not in results["bad"].error
    assert "Traceback" in results["bad"].error_detail
    assert (results["bad"].limits.asked, results["bad"].limits.enforced) == (Resources(), ())
    assert "0" * 64 in report.note


def test_what_happened_before_the_failure_is_kept(store, plan, task, wire, tmp_path: Path):
    wire.then(wire.says("", ("list_files", {}), input_tokens=70), wire.fails(404, "gone"))
    run = plan(("function_calling:compatible/m",), task)

    work.do(store, run.id, 0, tmp_path)

    (outcome,) = outcomes(store, run).values()
    assert outcome.status is OutcomeStatus.INFRASTRUCTURE
    assert "HTTP 404" in outcome.error
    assert (outcome.usage.input_tokens, outcome.turns, outcome.tool_calls) == (70, 1, 1)
    kept = outcome.error_detail.rpartition("artifact ")[2]
    assert b'"tool":"list_files"' in store.artifacts.read_bytes(kept)


def test_a_trial_that_failed_is_due_and_its_next_attempt_counts(
    store, plan, task, wire, tmp_path: Path
):
    wire.then(wire.fails(401), wire.says("Final Answer: 5"))
    run = plan(("react:compatible/m",), task)

    work.do(store, run.id, 0, tmp_path)
    assert len(work.due(store, run.id, 0)) == 1
    work.do(store, run.id, 0, tmp_path)

    (outcome,) = outcomes(store, run).values()
    assert (outcome.status, outcome.attempt) == (OutcomeStatus.FINISHED, 2)


def test_a_broken_reference_is_played_and_shows_its_error(store, plan, new_task, tmp_path: Path):
    steps = (ReferenceStep(tool="read_file", arguments={"path": "input/gone.csv"}),)
    broken = new_task(reference=ReferenceSolution(steps=steps, final_answer=""))
    run = plan(("reference",), broken)

    work.do(store, run.id, 0, tmp_path)

    outcome = outcomes(store, run)["reference"]
    assert (outcome.status, outcome.tool_errors) == (OutcomeStatus.FINISHED, 1)


def test_no_key_is_written_anywhere(store, plan, task, wire, tmp_path: Path):
    wire.respond = lambda seen: wire.fails(400, "what is sk-canary-42 doing here?")
    run = plan(("react:compatible/m",), task)

    work.do(store, run.id, 0, tmp_path)

    assert "sk-canary-42" in wire.seen[0].headers["Authorization"]
    assert outcomes(store, run)["react:compatible/m"].status is OutcomeStatus.INFRASTRUCTURE
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert any(path.suffix == ".db" for path in written)
    assert not [path for path in written if b"sk-canary-42" in path.read_bytes()]


def test_a_budget_in_money_needs_a_price(store, plan, task, wire, tmp_path: Path):
    agent = AgentSpec.parse(
        "react:compatible/m", base_url=wire.openai_url, budget=Budget(max_usd=1)
    )
    run = plan((agent,), task)

    work.do(store, run.id, 0, tmp_path)

    assert (
        "compatible/m is not in the price table" in outcomes(store, run)["react:compatible/m"].error
    )
    assert wire.seen == []


def test_unknown_trials_are_misuse_and_do_not_stop_the_others(store, plan, task, wire):
    wire.respond = lambda seen: wire.says("Final Answer: 5")
    run = plan(("react:compatible/m",), task)

    with pytest.raises(Misuse, match="'t-unknown'"):
        work.execute_trials(store, run.id, ["t-unknown", *work.due(store, run.id, 0)], {})

    assert work.due(store, run.id, 0) == []


def test_every_trial_that_is_not_recorded_is_named(store, plan, task, caplog):
    run = plan(("nop",), task)

    with pytest.raises(Misuse, match=r"'t-(one|two)'"):
        work.execute_trials(store, run.id, ["t-one", "t-two"], {})

    named = [record.getMessage() for record in caplog.records if "not recorded" in record.message]
    assert ["t-one" in sorted(named)[0], "t-two" in sorted(named)[1]] == [True, True]


def test_a_real_small_model_works_in_the_sandbox(store, plan, task, tmp_path: Path):
    agent = AgentSpec.parse(
        "react:local/smollm2-135m",
        temperature=0,
        budget=Budget(max_turns=2, max_reply_tokens=160),
    )
    run = plan((agent,), task)

    report = work.do(store, run.id, 0, tmp_path / "home")

    assert (report.done, report.errors) == (1, 0)
    outcome = outcomes(store, run)["react:local/smollm2-135m"]
    assert outcome.model_id == "smollm2-135m"
    assert outcome.usage.output_tokens > 0
    assert outcome.cost_usd == 0
    assert outcome.prompt_version == "react_structured_v2+task_v1"
    transcript = store.transcript(outcome.trial_id)
    schema = step_schema(transcript.tools, ())
    whole = [e for e in transcript.events if isinstance(e, ModelEvent) and e.stop_reason == "stop"]
    assert whole
    for reply in whole:
        jsonschema.validate(json.loads(reply.text), schema)


def test_no_server_is_started_without_local_models(tmp_path: Path):
    hosted = ModelSpec.parse("openai/gpt-5.2")
    with work.local_models([None, hosted], tmp_path / "home") as endpoints:
        assert endpoints == {}
    assert not (tmp_path / "home").exists()


def test_a_task_whose_tool_is_not_ready_is_no_failure_of_the_agent(
    store, plan, new_task, tmp_path: Path
):
    blind = new_task("blind", tools=("ImageDescription",), reference=SOLUTION)
    run = plan(("reference",), blind, new_task("good", reference=SOLUTION))

    report = work.do(store, run.id, 0, tmp_path)

    assert (report.done, report.errors) == (1, 1)
    results = {r.trial.task_id: r.outcome for r in store.results(run.id)}
    assert results["blind"].status is OutcomeStatus.INFRASTRUCTURE
    assert results["blind"].error.startswith(
        "tool ImageDescription: needs a multimodal model: set tool_model"
    )
    assert results["blind"].tool_calls == 0
    assert results["good"].status is OutcomeStatus.FINISHED


def test_a_published_atomic_task_needs_no_tool_backend(store, plan, new_task, tmp_path: Path):
    look = ReferenceStep(
        tool="ImageDescription", arguments={"image": "image/1.jpg"}, result="a red square"
    )
    task = new_task(
        tools=("ImageDescription",),
        reference=ReferenceSolution(steps=(look,), final_answer="5"),
        provenance=Provenance(source="gta-atomic"),
    )
    run = plan(("reference", "nop"), task)

    report = work.do(store, run.id, 0, tmp_path)

    assert (report.done, report.errors) == (2, 0)
    transcript = store.transcript(outcomes(store, run)["reference"].trial_id)
    (event,) = transcript.tool_events
    assert (event.text, event.error) == ("a red square", None)


def test_what_a_tool_asks_of_a_model_is_part_of_the_trials_cost(
    store, plan, new_task, wire, tmp_path: Path, monkeypatch
):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary-42")
    png = io.BytesIO()
    Image.new("RGB", (40, 30), "red").save(png, format="PNG")
    sha256 = store.artifacts.put_bytes(png.getvalue())
    picture = InputFile(path="photo.png", sha256=sha256, size_bytes=len(png.getvalue()))
    count = {"image": "input/photo.png", "text": "squares"}
    steps = (ReferenceStep(tool="CountGivenObject", arguments=count), WRITE)
    task = new_task(
        files=(picture,),
        tools=("CountGivenObject", "write_file"),
        reference=ReferenceSolution(steps=steps, final_answer="1"),
    )
    wire.then(wire.says('{"count": 1}', input_tokens=1_000, output_tokens=10))
    seeing = {"tool_model": "openai/gpt-5.2", "tool_model_base_url": wire.openai_url}
    run = plan(("reference",), task, **seeing)

    report = work.do(store, run.id, 0, tmp_path)

    assert (report.done, report.errors) == (1, 0), report.note
    (outcome,) = outcomes(store, run).values()
    cost = (1_000 * 1.75 + 10 * 14.0) / 1e6
    assert outcome.cost_usd == pytest.approx(cost)
    assert outcome.usage.total == 0, "the agent itself asked no model"
    transcript = store.transcript(outcome.trial_id)
    counted, written = transcript.tool_events
    assert (counted.text, counted.usage.total) == ("1", 1_010)
    assert counted.cost_usd == pytest.approx(cost)
    assert transcript.cost_usd == pytest.approx(cost)
    assert (written.cost_usd, written.usage.total) == (0, 0)


def test_a_tools_model_that_is_out_of_reach_is_no_failure_of_the_agent(
    store, plan, new_task, wire, tmp_path: Path, monkeypatch
):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary-42")
    wire.respond = lambda seen: wire.fails(401)
    solution = ReferenceSolution(
        steps=(ReferenceStep(tool="TextToImage", arguments={"keywords": "boat"}),), final_answer=""
    )
    task = new_task(tools=("TextToImage",), reference=solution)
    drawing = {"image_model": "openai/gpt-image-1", "image_model_base_url": wire.openai_url}
    run = plan(("reference",), task, **drawing)

    work.do(store, run.id, 0, tmp_path)

    (outcome,) = outcomes(store, run).values()
    assert outcome.status is OutcomeStatus.INFRASTRUCTURE
    assert "openai/gpt-image-1" in outcome.error
    assert "sk-canary-42" not in outcome.error


def test_a_search_is_recorded_over_the_nights(store, plan, new_task, tmp_path: Path):
    folder = tmp_path / "corpus"
    folder.mkdir()
    (folder / "tower.md").write_text("# CN Tower\n\nIt is 553.3 m tall.")
    solution = ReferenceSolution(
        steps=(ReferenceStep(tool="web_search", arguments={"query": "tower"}),), final_answer=""
    )
    config = {
        "search": "corpus",
        "search_corpus": str(folder),
        "search_recording": "record",
        "search_cassette": str(tmp_path / "night.jsonl"),
    }
    run = plan(("reference",), new_task(tools=("web_search",), reference=solution), **config)

    work.do(store, run.id, 0, tmp_path / "home")

    (outcome,) = outcomes(store, run).values()
    (event,) = store.transcript(outcome.trial_id).tool_events
    assert "CN Tower" in event.text
    assert '"query":"tower"' in (tmp_path / "night.jsonl").read_text()


def test_claiming_to_be_done_ends_the_trial(store, plan, new_task, wire, tmp_path: Path):
    wire.then(wire.says("", ("claim_done", {})))
    run = plan(("function_calling:compatible/m",), new_task(tools=("claim_done",)))

    work.do(store, run.id, 0, tmp_path)

    (outcome,) = outcomes(store, run).values()
    assert (outcome.ending, outcome.final_answer, outcome.turns) == (Ending.FINISHED, "", 1)


def test_an_agent_can_look_back(store, plan, new_task, wire, tmp_path: Path):
    wire.then(
        wire.says("", ("list_files", {})),
        wire.says("", ("history", {"search": "list_files"})),
        wire.says("Done."),
    )
    run = plan(("function_calling:compatible/m",), new_task(tools=("history",)))

    work.do(store, run.id, 0, tmp_path)

    (outcome,) = outcomes(store, run).values()
    assert "calls list_files" in store.transcript(outcome.trial_id).tool_events[1].text


@pytest.mark.parametrize("harness", ["react", "function_calling"])
def test_a_transcript_holds_what_the_agent_was_told_and_offered(
    store, plan, task, wire, tmp_path: Path, harness
):
    wire.respond = lambda seen: wire.says("Final Answer: 5")
    run = plan((f"{harness}:compatible/m",), task)

    work.do(store, run.id, 0, tmp_path)

    (outcome,) = outcomes(store, run).values()
    transcript = store.transcript(outcome.trial_id)
    assert transcript.events[0].role == "system"
    offered = {tool.name: tool.parameters for tool in transcript.tools}
    assert set(task.tools) <= set(offered)
    assert offered["write_file"]["required"] == ["path", "content"]
