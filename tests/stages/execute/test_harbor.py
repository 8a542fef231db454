"""A task of Harbor's format from its import to its score, in its own image.

The model is a scripted one; everything else is as in a night.
"""

import json
from pathlib import Path

import pytest

from environments.sandbox.docker.provider import Docker
from stages.execute import work
from stages.prepare import work as preparing
from stages.release.importing import import_bank
from stages.score import work as scoring
from taskdata.banks.found import find_bank
from taskdata.schema.agent import AgentSpec
from taskdata.schema.run import OutcomeStatus
from taskdata.schema.scores import Unscored

POOL = Path(__file__).parents[2] / "harbor"
LOOK_AND_WRITE = """
import os
rows = [line.split(",") for line in open("/app/tides.csv")][1:]
open("/app/highest.txt", "w").write(max(rows, key=lambda row: float(row[2]))[0])
print(sorted(os.listdir("output")), os.path.exists("/tests"), os.path.exists("/solution"))
print(os.access("/app/tides.csv", os.X_OK))
"""
PLANT = """
import os
os.symlink("/etc/passwd", "/app/highest.txt")
for path in ("/logs/verifier/reward.txt", "/tests/check.py", "/etc/profile"):
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        open(path, "w").write("1")
        print("written", path)
    except OSError as error:
        print(error)
"""


@pytest.fixture
def trial(store, new_run, wire, tmp_path):
    """Let an agent work on a task of the small pool and score it; returns the store's result."""
    if reason := Docker().unavailable():
        pytest.skip(reason)

    def run(name: str, pool: Path = POOL, **config: object):
        import_bank(store, "harbor", "harbor", pool)
        (task,) = find_bank(store, "harbor", [f"harbor-{name}"]).tasks([f"harbor-{name}"])
        agent = AgentSpec.parse("function_calling:compatible/m", base_url=wire.openai_url)
        config = {"sandbox": "docker", "refinement_rounds": 0, **config}
        made = new_run(task, agents=(agent,), **config)
        preparing.do(store, made.id, tmp_path)
        work.do(store, made.id, 0, tmp_path)
        scoring.do(store, made.id, 0)
        (result,) = store.results(made.id)
        return result

    return run


def calls(wire, code: str):
    """Script a model that runs this code and ends."""
    wire.then(
        wire.says("", ("python_execute", json.dumps({"code": code}))),
        wire.says("Done."),
    )


@pytest.mark.docker
def test_an_agent_works_where_the_task_says_and_its_reward_is_the_score(trial, wire):
    calls(wire, LOOK_AND_WRITE)

    result = trial("tide-table")

    assert result.outcome.status is OutcomeStatus.FINISHED, result.outcome.error_detail
    assert [f.name for f in result.outcome.deliverables] == ["highest.txt", "tides.csv"]
    (leaf,) = result.score.leaves
    assert (result.root_score, leaf.unscored) == (10, None), leaf.reason
    assert "highest.txt: 'Old Lock'" in leaf.reason
    system, _ = wire.seen[0].body["messages"]
    assert "is the folder /app that the task speaks of" in system["content"]
    seen = json.dumps(wire.seen[1].body["messages"])
    assert "['highest.txt', 'tides.csv'] False False\\nTrue" in seen
    assert "Old Lock" not in json.dumps(wire.seen[0].body)


@pytest.mark.docker
def test_what_an_agent_plants_for_the_verifier_is_not_there_when_it_runs(trial, wire):
    calls(wire, PLANT)

    result = trial("tide-table")

    printed = wire.seen[1].body["messages"][-1]["content"]
    assert printed.count("Read-only file system") == 3, printed
    assert [f.name for f in result.outcome.deliverables] == ["tides.csv"]
    assert any("symbolic link" in reason for reason in result.outcome.rejected_files)
    assert result.root_score == 0
    assert "highest.txt: None" in result.score.leaves[0].reason


@pytest.mark.docker
def test_a_verifier_that_says_nothing_leaves_the_trial_unscored(trial, wire, tmp_path):
    task = tmp_path / "silent"
    (task / "tests").mkdir(parents=True)
    (task / "environment").mkdir()
    (task / "instruction.md").write_text("Do nothing.")
    (task / "task.toml").write_text("[verifier]\ntimeout_sec = 1")
    (task / "environment" / "Dockerfile").write_text("FROM nightshift-sandbox\nWORKDIR /app\n")
    (task / "tests" / "test.sh").write_text("echo all is well")
    wire.then(wire.says("Done."))

    result = trial("silent", task)

    (leaf,) = result.score.leaves
    assert (leaf.score, leaf.unscored) == (None, Unscored.SCRIPT_FAILED)
    assert leaf.reason.startswith("tests/test.sh left no reward.txt or reward.json")
    assert leaf.reason.endswith("all is well")
    assert result.root_score is None


@pytest.mark.docker
def test_a_night_without_docker_names_what_its_task_needs(trial, wire):
    result = trial("tide-table", sandbox="bubblewrap")

    assert result.outcome.status is OutcomeStatus.INFRASTRUCTURE
    assert "needs sandbox 'docker'" in result.outcome.error
    assert result.root_score is None
