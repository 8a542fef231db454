"""A disk that is full, or takes no writes: one line that says what helps, and nothing is lost."""

import subprocess
from pathlib import Path

import pytest

import stages.execute.work as executing
import stages.score.work as scoring
from flows.config import load_settings
from stages.prepare.work import first_trial
from taskdata.errors import StoreUnavailable
from taskdata.schema.run import RunStatus
from taskdata.store import Store

MEGABYTE = 1 << 20


@pytest.fixture
def disk(tmp_path, home):
    """A disk of 3 MB with the home on it; only root may have one."""
    home.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(home)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("only root can mount a disk")
    yield home
    subprocess.run(["umount", "-l", str(home)], check=True)


@pytest.fixture
def settings(disk):
    return load_settings()


@pytest.fixture
def planned(store, new_run, new_answer_task):
    """A run of twelve trials that are due."""
    task = new_answer_task()
    run = new_run(task, agents=("nop",))
    trials = [first_trial(run.id, "nop", task.content_hash, task, n) for n in range(12)]
    store.plan_trials(trials)
    return run


def fill(disk: Path) -> Path:
    """Take all room that is left."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file:
        for size in (1 << 16, 1 << 12):
            try:
                while file.write(b"x" * size) == size:
                    pass
            except OSError:
                continue
    return ballast


def test_a_run_on_a_full_disk_is_readable_and_can_be_resumed(command, disk, store, planned):
    ballast = fill(disk)
    with pytest.raises(StoreUnavailable, match="make room on that disk") as failed:
        executing.execute_trials(store, planned.id, executing.due(store, planned.id, 0), {})
    assert "\n" not in str(failed.value)
    assert command("runs").returncode == 0
    assert "Trials of run" in command("show").stdout

    ballast.unlink()
    assert len(executing.due(store, planned.id, 0)) == 12
    executing.execute_trials(store, planned.id, executing.due(store, planned.id, 0), {})
    scoring.score_trials(store, planned.id, scoring.due(store, planned.id, 0))
    assert (executing.due(store, planned.id, 0), scoring.due(store, planned.id, 0)) == ([], [])
    assert len([r for r in store.results(planned.id) if r.score is not None]) == 12


def test_a_file_that_finds_no_room_leaves_nothing_behind(disk, store):
    with pytest.raises(StoreUnavailable, match="make room on that disk"):
        store.artifacts.put_bytes(b"x" * 4 * MEGABYTE)
    assert not list(disk.rglob("*.partial"))


def test_a_prune_makes_room_on_a_disk_with_little_left(command, disk, store, recorded):
    recorded("old", 40)
    recorded("new", 0)
    ballast = fill(disk)
    with ballast.open("r+b") as file:
        file.truncate(ballast.stat().st_size - MEGABYTE // 2)
    assert command("prune", "--keep", "1", "--yes").returncode == 0
    assert len(store.runs()) == 1


def test_a_store_that_cannot_be_written_can_be_read(command, disk, store, recorded, tmp_path):
    run = recorded("one", 1, RunStatus.RUNNING).run
    store.close()
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    assert "interrupted" in command("runs").stdout
    assert "Trials of run" in command("show").stdout
    assert command("backup", str(tmp_path / "kept")).returncode == 0
    for arguments in (
        ("run", "--resume", run.id),
        ("prune", "--keep", "0", "--unfinished", "--yes"),
        ("report", run.id),
        ("serve",),
    ):
        done = command(*arguments)
        assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
        assert "mount it for writing" in done.stderr or "mounted read-only" in done.stderr
    subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)
    store.set_run_status(run.id, RunStatus.COMPLETED)
    assert "completed" in command("runs").stdout


@pytest.mark.postgres
def test_a_server_that_takes_no_writes_is_named(store_address, postgres_url, task):
    address = store_address.model_copy(update={"database_url": postgres_url})
    Store.open(address).close()
    only_read = f"{postgres_url}?options=-c%20default_transaction_read_only%3Don"
    store = Store.open(address.model_copy(update={"database_url": only_read}))
    with pytest.raises(StoreUnavailable, match="read-only transaction; the server takes no"):
        store.add_release("bank", [task], {})
    store.close()
