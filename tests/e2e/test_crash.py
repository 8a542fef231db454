"""kill -9 in the middle of a night, then resume: nothing is lost, nothing is done twice."""

import os
import signal
import sqlite3
import subprocess
import time

import pytest

from tests.soak import at_length_only

pytestmark = [pytest.mark.e2e, pytest.mark.soak, at_length_only]
"""In `make test`, `test_chaos.py` kills the whole command over tasks that take less."""


def outcomes(home):
    """Every outcome row by trial, as (attempt, status, started_at)."""
    database = home / "nightshift.db"
    if not database.exists():
        return []
    with sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=30) as connection:
        try:
            return connection.execute(
                "SELECT trial_id, attempt, status, started_at FROM outcome ORDER BY id"
            ).fetchall()
        except sqlite3.OperationalError:
            return []  # the tables are not there yet


def kill_family(pid):
    """Kill the command and its group without warning; its workers, in theirs, lose their parent."""
    os.killpg(pid, signal.SIGKILL)


def test_a_killed_night_carries_on_where_it_was(tmp_path, command):
    home = tmp_path / "home"
    listed = command.read(home, "bank", "list")["tasks"]
    atomic = [t["id"] for t in listed if t["tier"] == "atomic"]
    workflow = [t["id"] for t in listed if t["tier"] == "workflow"]
    tasks = [part for task in atomic[:6] + workflow[:2] for part in ("--task", task)]
    agents = ["--agent", "reference", "--agent", "nop", "--rounds", "0"]
    night = subprocess.Popen(
        [*command.argv, "run", *agents, *tasks],
        env=command.environment(home),
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    deadline = time.monotonic() + 240
    while len(outcomes(home)) < 5:
        assert night.poll() is None, "the night ended before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.1)
    kill_family(night.pid)
    night.wait()
    time.sleep(3)  # workers notice that their scheduler is gone
    finished = outcomes(home)
    (run,) = command.read(home, "runs")["runs"]
    assert run["status"] == "interrupted"

    done = command.run(home, "run", "--resume", run["id"])
    assert done.returncode == 0, done.stdout + done.stderr
    after = outcomes(home)
    assert after[: len(finished)] == finished
    assert {status for _t, _a, status, _s in after} == {"finished"}
    trials = command.read(home, "show")["trials"]
    assert len(after) == len({t for t, *_rest in after}) == len(trials)
    assert command.read(home, "runs")["runs"][0]["status"] == "completed"
    agents = {a["agent"]: a for a in command.read(home, "results")["agents"]}
    assert agents["reference"]["tier"]["workflow"]["mean"] == pytest.approx(10)
