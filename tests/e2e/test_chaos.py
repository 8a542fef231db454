"""Workers, or the whole command, die again and again under a server that misbehaves."""

import random
import shutil
import subprocess
import time
from collections import Counter
from contextlib import suppress

import pytest

from environments.sandbox.providers import sandbox_provider
from flows.config import Settings
from flows.locks import is_worked_on
from tests.e2e.chaos import (
    CALLS,
    CANARY,
    IN_FLIGHT,
    WORKERS,
    Night,
    Trouble,
    kill,
    workers_of,
)
from tests.soak import SOAKING, at_length_only
from tests.wire_server import running_wire_server

pytestmark = [pytest.mark.e2e, pytest.mark.soak]

TOOLS = ("list_files", "sleep", "sleep", "sleep", "sleep") * 2
"""Of each task; every fifth trial has a sandbox, since each costs a fifth of a second of CPU."""
REPETITIONS = 50 if SOAKING else 8
TRIALS = len(TOOLS) * REPETITIONS
STEPS = 2 * TRIALS
"""Each trial is executed, and scored."""
SECONDS_BETWEEN_KILLS = 5.0
MOST_KILLS = 12
"""As many as there is time for on two idle cores; on a busy machine they would never end."""
MOST_RESUMED = 2


@pytest.fixture
def provider():
    trouble = Trouble(seed=11)
    with running_wire_server() as server:
        server.respond = trouble.respond
        trouble.url = server.openai_url
        yield trouble


@pytest.fixture
def night(tmp_path, command):
    night = Night(tmp_path, command.argv, command.environment(tmp_path / "home"))
    yield night
    for process in night.started:
        kill(process.pid)
        process.wait()


def ended(night: Night, process: subprocess.Popen[bytes], seconds: float) -> None:
    assert process.wait(seconds) == 0, night.said()[-3000:]


def finish(night: Night, process: subprocess.Popen[bytes]) -> None:
    """Carry the night on until all is done: a trial may be out of luck with every attempt."""
    process.wait(300)
    for _ in range(MOST_RESUMED):
        if process.returncode == 0 and night.done() == STEPS:
            break
        process = night.start("run", "--resume", *night.rows("SELECT id FROM run"))
        process.wait(300)
    ended(night, process, 0)


def expect_everything_once(night: Night, provider: Trouble, at_kills: int) -> None:
    """Each trial ended once; beside what is paid for, only calls in flight at a kill were lost."""
    (run,) = night.rows("SELECT id FROM run WHERE status = 'completed'")
    store = night.store()
    results = store.results(run)
    store.close()
    assert len(results) == TRIALS
    assert {r.outcome.status for r in results} == {"finished"}
    assert {r.outcome.turns for r in results} == {CALLS}
    assert {r.root_score for r in results} == {10}
    ids = sorted(r.trial.id for r in results)
    finished = night.rows("SELECT trial_id FROM outcome WHERE status = 'finished'")
    assert sorted(finished) == ids
    assert sorted(night.rows("SELECT trial_id FROM trial_score")) == ids
    # One without a model stands for attempts without an answer, for which some providers charge.
    paid = Counter(night.rows("SELECT trial_id FROM model_call WHERE model <> ''"))
    assert provider.spoiled > 0, "the provider never misbehaved"
    assert set(paid.values()) == {CALLS}, "a call was paid for twice, or is not in the ledger"
    lost = provider.billed - sum(paid.values())
    assert 0 <= lost <= at_kills, (provider.billed, sum(paid.values()), at_kills)


def expect_interrupted(night: Night, command) -> None:
    """The workers notice within seconds that the command is gone, and leave the run."""
    (run,) = night.rows("SELECT id FROM run")
    deadline = time.monotonic() + 30
    while is_worked_on(Settings(home=night.home), run):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert command.read(night.home, "runs")["runs"][0]["status"] == "interrupted"


def expect_nothing_left(night: Night) -> None:
    deadline = time.monotonic() + 30
    while left := night.left():
        assert time.monotonic() < deadline, left
        time.sleep(0.5)


def expect_no_secret(night: Night) -> None:
    """The key is in nothing that the run wrote."""
    files = [path for path in night.folder.rglob("*") if path.is_file()]
    assert len(files) > TRIALS
    assert [path for path in files if CANARY.encode() in path.read_bytes()] == []


@at_length_only
def test_workers_are_killed_one_after_the_other(night, provider):
    night.configure(provider.url, TOOLS, REPETITIONS)
    chance, kills, sandboxes = random.Random(5), 0, 0
    process, done = night.start("run"), 0
    while process.poll() is None and kills < MOST_KILLS:
        night.wait_for_more(process, min(done + IN_FLIGHT, STEPS - 1))
        if workers := workers_of(process):
            done, sandboxes = night.done(), sandboxes + night.sandboxes()
            kill(chance.choice(workers))
            kills += 1
        with suppress(subprocess.TimeoutExpired):
            process.wait(SECONDS_BETWEEN_KILLS)
    finish(night, process)
    assert kills >= 3
    assert sandboxes, "no sandbox was in use at any kill"
    expect_everything_once(night, provider, kills * IN_FLIGHT)
    expect_nothing_left(night)
    expect_no_secret(night)


def test_a_worker_and_then_the_whole_command_are_killed_again_and_again(night, provider, command):
    night.configure(provider.url, TOOLS, REPETITIONS)
    kills, sandboxes, arguments = 0, 0, ["run"]
    for _ in range(3 if SOAKING else 1):
        process = night.start(*arguments)
        night.wait_for_more(process, night.done() + IN_FLIGHT)
        if kills == 0:
            sandboxes += night.sandboxes()
            kill(workers_of(process)[0])
            night.wait_for_more(process, night.done() + IN_FLIGHT)
        sandboxes += night.sandboxes()
        kill(process.pid)
        assert process.wait() == -9, night.said()[-3000:]
        expect_interrupted(night, command)
        kills += 1
        arguments = ["run", "--resume", *night.rows("SELECT id FROM run")]
    finish(night, night.start(*arguments))
    assert sandboxes, "no sandbox was in use at any kill"
    # One worker was killed before the command.
    expect_everything_once(night, provider, (kills * WORKERS + 1) * IN_FLIGHT)
    expect_nothing_left(night)
    expect_no_secret(night)


@at_length_only  # `test_reap.py` and `test_doctor.py` hold it of a container and of the command
@pytest.mark.docker
def test_containers_of_a_killed_command_are_removed_by_the_doctor(night, provider):
    if reason := sandbox_provider("docker").unavailable():
        pytest.skip(reason)
    night.configure(provider.url, ("list_files",), 12, sandbox="docker")
    process = night.start("run")
    deadline = time.monotonic() + 300
    while not (night.done() and night.containers()):
        assert process.poll() is None, night.said()[-3000:]
        assert time.monotonic() < deadline, night.said()[-3000:]
        time.sleep(0.1)
    kill(process.pid)
    process.wait()
    ended(night, night.start("doctor"), 60)
    expect_nothing_left(night)


def test_a_sandbox_is_counted_wherever_its_program_lies(tmp_path, command):
    folder = tmp_path / "a folder with spaces"
    folder.mkdir()
    program = folder / "bwrap"
    program.symlink_to(shutil.which("sleep"))
    night = Night(folder, command.argv, command.environment(folder / "home"))
    running = subprocess.Popen([program, "60"], env=night.environment)
    try:
        # The kernel shows the environment of a program only a moment after the program's start.
        deadline = time.monotonic() + 10
        while night.sandboxes() != 1:
            assert time.monotonic() < deadline
    finally:
        kill(running.pid)
        running.wait()
    assert night.sandboxes() == 0
