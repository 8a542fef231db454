"""What is removed of killed processes, and what is let alone."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import environments
from environments.reaper.owner import VARIABLE, Owner, base_folder, this_process, working_folder
from environments.reaper.reap import Reaped, reap, reaped
from environments.sandbox.providers import sandbox_provider

PROJECT = Path(environments.__file__).parent.parent
HOLDING = """
import subprocess, sys, time
from environments.reaper.owner import working_folder, this_process
with this_process() as owner, working_folder() as folder:
    (folder / "note.txt").write_text("left")
    if "--child" in sys.argv:
        subprocess.Popen(["sleep", "60.4417"], env=owner.variables, start_new_session=True)
    print(owner.name, flush=True)
    time.sleep(60)
"""
INTERRUPTIBLE = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
"""A shell that starts the tests in the background has them, and their children, ignore Ctrl-C."""
CREATING = """
import docker, os, sys, time
from environments.reaper.owner import this_process
from environments.sandbox.docker.leftovers import labels_of
with this_process() as owner:
    client = docker.from_env()
    client.containers.create("nightshift-sandbox:latest", ["true"],
                             labels=labels_of(owner, "run-9"), network_mode="none")
    print(owner.name, flush=True)
    time.sleep(60)
"""


def _killed(code: str, *arguments: str) -> Owner:
    """Run code in a process that says its owner's name, kill it, and return the owner."""
    with subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        stdout=subprocess.PIPE,
        text=True,
        cwd=PROJECT,
    ) as process:
        assert process.stdout is not None
        name = process.stdout.readline().strip()
        process.kill()
    assert name
    return Owner(base_folder(), name)


def test_nothing_is_done_where_nobody_was_killed():
    assert reap() == Reaped()


def test_folders_of_a_killed_process_go():
    owner = _killed(HOLDING)
    assert list(owner.folder.rglob("note.txt"))

    assert reap() == Reaped(owners=1, folders=1)
    assert list(base_folder().iterdir()) == []
    assert reap() == Reaped()


def test_a_living_process_keeps_everything():
    with working_folder() as folder:
        (folder / "note.txt").write_text("mine")

        assert reap() == Reaped()
        assert (folder / "note.txt").read_text() == "mine"


def test_processes_that_a_killed_one_marked_are_killed(alive):
    owner = _killed(HOLDING, "--child")
    other = subprocess.Popen(["sleep", "60.5528"], env={VARIABLE: "somebody-else"})
    try:
        assert alive("60.4417")

        assert reap() == Reaped(owners=1, processes=1, folders=1)
        assert not alive("60.4417")
        assert other.poll() is None
        assert not owner.lock.exists()
    finally:
        other.kill()
        other.wait()


def test_a_reaper_that_is_killed_is_continued_by_the_next(monkeypatch: pytest.MonkeyPatch):
    _killed(HOLDING)
    with monkeypatch.context() as patched:
        patched.setattr("environments.reaper.reap.remove_tree", lambda folder: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            reap()

    assert reap() == Reaped(owners=1, folders=1)


def test_a_block_is_reaped_before_and_after():
    _killed(HOLDING)
    with reaped():
        assert list(base_folder().iterdir()) == []
        _killed(HOLDING)

    assert list(base_folder().iterdir()) == []


@pytest.mark.docker
def test_a_container_that_never_started_goes_and_those_of_the_living_stay():
    if reason := sandbox_provider("docker").unavailable():
        pytest.skip(reason)
    import docker

    from environments.sandbox.docker.leftovers import labels_of

    client = docker.from_env()
    dead = _killed(CREATING)
    with this_process() as owner:
        mine = client.containers.create(
            "nightshift-sandbox:latest", ["true"], labels=labels_of(owner, "run-9")
        )
        try:
            assert reap() == Reaped(owners=1, containers=1, folders=1)
            # Those of other tests may go while they are listed.
            left = client.containers.list(
                all=True, filters={"label": "nightshift.owner"}, ignore_removed=True
            )
            names = {container.labels["nightshift.owner"] for container in left}
            assert owner.name in names
            assert dead.name not in names
        finally:
            mine.remove(force=True)
            client.close()


@pytest.mark.docker
def test_an_engine_that_is_away_keeps_nothing_else(monkeypatch: pytest.MonkeyPatch, caplog):
    (base_folder() / "docker").touch()
    monkeypatch.setenv("DOCKER_HOST", f"unix://{base_folder()}/no.sock")
    _killed(HOLDING)

    reaped = reap()
    assert (reaped.owners, reaped.folders, reaped.containers) == (1, 1, 0)
    assert "Docker cannot list our containers" in reaped.unseen_containers
    assert not [r for r in caplog.records if r.levelname not in ("DEBUG", "INFO")]
    assert "Docker cannot list our containers" in reap().unseen_containers


def test_ctrl_c_leaves_nothing():
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTIBLE + HOLDING],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=PROJECT,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        os.kill(process.pid, signal.SIGINT)
        assert process.wait(timeout=30) == -signal.SIGINT

    assert list(base_folder().iterdir()) == []
