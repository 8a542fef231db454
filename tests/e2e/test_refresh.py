"""Three requests become a released bank through the commands, with a person who decides.

`test_documented_run.py` takes the 25 requests of docs/task-bank.md and the starter bank this way.
"""

import json
import shutil

import pytest

from tests.e2e.conftest import SEEDS, shared_server

pytestmark = pytest.mark.e2e

REQUESTS = 3


@pytest.fixture
def refreshing(tmp_path, command, scripted_model, seed_rows):
    """Run a command that must succeed in a home with a few seeds; returns what it said."""
    home = tmp_path / "home"
    (tmp_path / "nightshift.toml").write_text(
        f'''
[refresh]
model = "compatible/scripted"
base_url = "{scripted_model}"
bank = "office"
base = "none"
draft_references = true
max_augmentations = 0
'''
    )

    def said(*words, here=False):
        run = command.here if here else command.run
        done = run(home, *words)
        assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
        return done.stdout

    shutil.copytree(SEEDS / "files", tmp_path / "files")
    said("seeds", "add", str(seed_rows("internal.jsonl", REQUESTS - 1)), here=True)
    with shared_server(home):
        yield said


def test_requests_become_a_released_bank(refreshing):
    refreshing("refresh")
    waiting = json.loads(refreshing("review", "list", "--json", here=True))["candidates"]
    assert waiting
    named, *others = (candidate["task_id"] for candidate in waiting)
    refreshing("review", "reject", named, "--comment", "another says it all", here=True)
    refreshing("review", "approve", "--all", "--comment", "read and tried", here=True)
    refreshing("refresh", "--resume", "latest")

    (refresh,) = json.loads(refreshing("refreshes", "--json", here=True))["refreshes"]
    assert (refresh["status"], refresh["release"]) == ("released", "office@1")
    assert refresh["candidates"]["released"] == len(others)
    assert sum(refresh["candidates"].values()) == REQUESTS
    told = json.loads(refreshing("bank", "release", "--json", here=True))
    assert {task["origin"] for task in told["lineage"]} == {"seed"}
    assert sorted(task["proof"] for task in told["lineage"]) == ["proven", "unproven"]
    listed = json.loads(refreshing("bank", "list", "--bank", "office", "--json", here=True))
    assert sorted(task["id"] for task in listed["tasks"]) == sorted(others)
