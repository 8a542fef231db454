"""`nightshift export` and `run --import`, as a user types them."""

import json
from datetime import UTC, datetime

import pytest

from flows.config import load_settings, run_config
from stages.execute import work as executing
from stages.prepare import work as preparing
from taskdata.errors import Misuse
from taskdata.schema.agent import AgentSpec
from taskdata.schema.run import Run, RunConfig, RunStatus
from taskdata.store import Store


@pytest.fixture
def night(home, new_task, tmp_path):
    """A run in the user's home: one imported result that is there, one that is not."""
    first, second = new_task("first"), new_task("second")
    (tmp_path / "results" / "first").mkdir(parents=True)
    (tmp_path / "results" / "first" / "final.txt").write_text("five")
    manus = AgentSpec(harness="import", label="manus", results=str(tmp_path / "results"))
    store = Store.open(load_settings().address)
    run = Run(
        id="run-1",
        status=RunStatus.COMPLETED,
        config=RunConfig(bank="test", agents=(manus,)),
        release_hash=store.add_release("test", (first, second), {}).hash,
        code_version="test",
        created_at=datetime.now(UTC),
    )
    store.add_run(run)
    preparing.do(store, run.id)
    executing.do(store, run.id, 0, home)
    trials = {trial.task_id: trial.id for trial in store.trials(run.id)}
    store.close()
    return trials


def test_trajectories_of_the_latest_run_go_into_a_folder(command, night, tmp_path):
    done = command("export", "atif", "out", "--json")
    assert json.loads(done.stdout) == {
        "run": "run-1",
        "format": "atif",
        "place": "out",
        "trials": 1,
        "without_transcript": 1,
    }
    (path,) = (tmp_path / "out").iterdir()
    assert path.stem == night["first"]
    assert json.loads(path.read_text())["agent"]["name"] == "manus"


def test_traces_go_into_a_file(command, night, tmp_path):
    pytest.importorskip("opentelemetry.sdk")
    done = command("export", "otel", "traces.jsonl", "--trial", night["first"])
    assert done.returncode == 0, done.stderr
    assert "transcripts of 1 of 1 trials" in done.stdout
    assert json.loads((tmp_path / "traces.jsonl").read_text())["resourceSpans"]


def test_people_are_told_of_trials_without_a_transcript(command, night):
    done = command("export", "atif", "out", "--run", "run-1")
    assert "1 of 2 trials" in done.stdout
    assert "infrastructure" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["csv", "out"], "atif, otel"),
        (["otel"], "--endpoint"),
        (["otel", "out", "--endpoint", "http://127.0.0.1:9"], "not both"),
        (["atif", "--endpoint", "http://127.0.0.1:9"], "takes format otel"),
        (["otel", "--endpoint", "nowhere"], "expected a URL"),
        (["atif", "out", "--trial", "no-such-trial"], "no-such-trial"),
        (["atif", "out", "--run", "no-such-run"], "no-such-run"),
    ],
)
def test_misuse_of_export_is_one_line(command, night, arguments, message):
    done = command("export", *arguments)
    assert done.returncode == 2, done.stderr
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_collector_that_is_not_there_is_one_line_and_exit_code_1(command, night, monkeypatch):
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http")
    monkeypatch.setattr("taskdata.traces.otlp._SEND_SECONDS", 0.5)
    done = command("export", "otel", "--endpoint", "http://127.0.0.1:9")
    assert done.returncode == 1
    assert "took 0 traces" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_trial_of_another_run_is_misuse(command, night):
    done = command("export", "atif", "out", "--run", "run-2", "--trial", night["first"])
    assert "belongs to run run-1" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--import", "manus"], "NAME=PATH"),
        (["--import", "=results"], "NAME=PATH"),
        (["--import", "Man us=results"], "label"),
        (["--import", "manus=nowhere"], "no results at"),
        (["--import", "nop=."], "a harness has this name"),
        (["--import", "manus=.", "--import", "manus=."], "named twice"),
        (["--import-root", "."], "there is none"),
        (["--agent", "import"], "whose results"),
        (["--resume", "x", "--import", "manus=."], "as it was configured"),
    ],
)
def test_misuse_of_import_is_one_line(command, arguments, message):
    done = command("run", "--task", "harvest-pie", *arguments)
    assert done.returncode == 2, done.stderr
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_an_import_in_the_file_is_an_agent_with_an_absolute_path(home, tmp_path):
    (tmp_path / "nightshift.toml").write_text(
        '[[run.agents]]\nname = "import"\nlabel = "manus"\nresults = "manus_pack.json"\n'
        'results_root = "GTA"\n'
    )
    (agent,) = run_config(load_settings()).agents
    assert agent.name == "manus"
    assert agent.results == str(tmp_path / "manus_pack.json")
    assert agent.results_root == str(tmp_path / "GTA")


def test_two_agents_of_one_label_are_misuse(home, tmp_path):
    (tmp_path / "nightshift.toml").write_text(
        '[[run.agents]]\nname = "nop"\nlabel = "mine"\n'
        '[[run.agents]]\nname = "reference"\nlabel = "mine"\n'
    )
    with pytest.raises(Misuse, match="named twice"):
        run_config(load_settings())
