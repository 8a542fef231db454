"""Ctrl-C reaches the command alone; its workers end at once and none takes their place."""

import logging
import os
import signal
import time
from pathlib import Path

import pytest

from flows.config import Settings
from flows.workers.clusters import client
from flows.workers.interrupting import end_workers


@pytest.fixture
def connected(tmp_path):
    with client(Settings(home=tmp_path), workers=1) as connected:
        connected.wait_for_workers(1, timeout=60)
        yield connected


def standing_of_worker() -> tuple[int, bool]:
    """The worker's session, and whether what it starts could be interrupted."""
    return os.getsid(0), signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ())


def hang(note: str) -> None:
    Path(note).write_text(str(os.getpid()))
    time.sleep(600)


def warn() -> None:
    logging.getLogger("stages.execute").warning("bubblewrap was killed")


def wait_until(condition, seconds=30.0):
    ends_at = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < ends_at
        time.sleep(0.05)


def test_workers_are_out_of_the_terminals_reach(connected):
    session, is_blocked = connected.submit(standing_of_worker).result(timeout=60)
    assert session != os.getsid(0)
    assert not is_blocked


def test_a_worker_that_is_at_work_ends_at_once_and_stays_away(connected, tmp_path):
    held = connected.submit(hang, str(tmp_path / "pid"))
    wait_until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text())
    pid = int((tmp_path / "pid").read_text())
    end_workers()
    wait_until(lambda: not Path(f"/proc/{pid}").exists(), seconds=5)
    # Longer than it takes to notice that a worker is missing.
    time.sleep(2)
    assert not connected.scheduler_info()["workers"]
    assert not held.done()


def test_what_a_worker_warns_of_reaches_this_process(connected, caplog):
    connected.submit(warn).result(timeout=60)
    wait_until(lambda: "bubblewrap was killed" in caplog.text)


def test_without_workers_there_is_nobody_to_end():
    end_workers()
