"""A task of a foreign pool from its import to its score: one workspace, its own prompt and program.

The model is a scripted one; everything else is as in a night.
"""

import json
from pathlib import Path

import pytest

from environments.sandbox.providers import sandbox_provider
from stages.execute import work
from stages.prepare import work as preparing
from stages.release.importing import import_bank
from stages.score import work as scoring
from taskdata.banks.found import find_bank
from taskdata.schema.agent import AgentSpec
from taskdata.schema.run import OutcomeStatus

POOL = Path(__file__).parents[2] / "pool"
TIDY = """
import csv, os
with open("output/guests.csv") as file:
    head, *guests = csv.reader(file)
with open("output/clean.csv", "w", newline="") as file:
    csv.writer(file).writerows([head, *sorted({tuple(guest) for guest in guests})])
os.remove("output/guests.csv")
"""


@pytest.fixture
def trial(store, new_run, wire, tmp_path):
    """Let an agent work on a task of the small pool and score it; returns the store's result."""
    if reason := sandbox_provider("bubblewrap").unavailable():
        pytest.skip(reason)
    import_bank(store, "club", "toolathlon", POOL)

    def run(name: str):
        task_id = f"toolathlon-{name}"
        (task,) = find_bank(store, "club", [task_id]).tasks([task_id])
        agent = AgentSpec.parse("function_calling:compatible/m", base_url=wire.openai_url)
        made = new_run(task, agents=(agent,), refinement_rounds=0)
        preparing.do(store, made.id, tmp_path)
        work.do(store, made.id, 0, tmp_path)
        scoring.do(store, made.id, 0)
        (result,) = store.results(made.id)
        return result

    return run


def test_an_agent_passes_a_task_of_a_pool_in_its_one_workspace(trial, wire, store):
    wire.then(
        wire.says("", ("python_execute", json.dumps({"code": TIDY}))),
        wire.says("", ("claim_done", "{}")),
    )

    result = trial("guest-list")

    assert result.outcome.status is OutcomeStatus.FINISHED, result.outcome.error_detail
    assert [file.name for file in result.outcome.deliverables] == ["clean.csv"]
    assert result.root_score == 10
    (leaf,) = result.score.leaves
    assert "clean.csv is right" in leaf.reason
    system, user = wire.seen[0].body["messages"]
    assert "Accessible workspace directory: /workspace/output\n" in system["content"]
    assert "Call `claim_done` when" in system["content"]
    assert "Your workspace is output/" in system["content"]
    assert "output/guests.csv" in user["content"]
    assert "clean.csv is right" not in json.dumps([seen.body for seen in wire.seen])


def test_an_agent_that_does_nothing_fails_by_what_the_program_found(trial, wire):
    wire.then(wire.says("Done."))

    result = trial("guest-list")

    assert [file.name for file in result.outcome.deliverables] == ["guests.csv"]
    assert result.root_score == 0
    assert "clean.csv: expected" in result.score.leaves[0].reason


def test_a_server_that_is_missing_costs_the_trial_and_names_itself(trial):
    result = trial("opening-hours")

    assert result.outcome.status is OutcomeStatus.INFRASTRUCTURE
    assert result.root_score is None
