"""Workers, or the whole command, die again and again under a server that misbehaves."""

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest

from environments.reaper.owner import base_folder
from stages.prepare import work as preparing
from taskdata.schema.agent import AgentSpec
from taskdata.schema.run import Run, RunConfig, RunStatus
from taskdata.store import Store, StoreAddress
from tests.e2e.chaos import WORKERS
from tests.wire_server import WireServer, running_wire_server

pytestmark = pytest.mark.e2e

PROJECT = Path(__file__).parents[2]
CALLS = 4
"""Of each trial: three with a tool call, and the answer."""
TASKS, REPETITIONS, IN_FLIGHT = 10, 50, 16
SECONDS_BETWEEN_KILLS = 5.0
CANARY = "sk-canary-7f3a9d51c0b84e26a1"


class Trouble:
    """A provider that answers three calls in four, and counts those that it bills."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self.billed = 0
        self.spoiled = 0

    def respond(self, seen):
        assert seen.headers["Authorization"] == f"Bearer {CANARY}"
        chance = self._random.random()
        if chance < 0.08:
            return WireServer.fails(429, retry_after=0.05)
        if chance < 0.14:
            return WireServer.fails(500)
        if chance < 0.17:
            self.spoiled += 1
            return WireServer.truncates()
        if chance < 0.20:
            self.spoiled += 1
            return WireServer.sends(b'{"choices": [{"message"')
        return WireServer.waits(0.8 if chance < 0.24 else 0.05, self._answer)

    async def _answer(self, seen, request):
        said = sum(message["role"] == "assistant" for message in seen.body["messages"])
        if said < CALLS - 1:
            reply = WireServer.says("", ("sleep", {"seconds": 0.001}))
        else:
            reply = WireServer.says("The answer is 5.")
        response = await reply(seen, request)
        self.billed += 1
        return response


@pytest.fixture
def provider():
    trouble = Trouble(seed=11)
    with running_wire_server() as server:
        server.respond = trouble.respond
        trouble.url = server.openai_url
        yield trouble


@pytest.fixture
def planned(tmp_path, provider, new_task):
    """A run of 500 trials that is planned and not begun."""
    home = tmp_path / "home"
    address = StoreAddress(
        database_url=f"sqlite:///{home}/nightshift.db", artifacts_url=f"file://{home}/artifacts"
    )
    store = Store.open(address)
    tasks = [new_task(f"task-{number}", tools=("sleep", "finish")) for number in range(TASKS)]
    agent = AgentSpec.parse("function_calling:compatible/m", base_url=provider.url)
    config = RunConfig(
        bank="chaos",
        agents=(agent,),
        repetitions=REPETITIONS,
        refinement_rounds=0,
        workers=WORKERS,
        trials_per_worker=IN_FLIGHT,
    )
    run = Run(
        id="chaos",
        status=RunStatus.RUNNING,
        config=config,
        release_hash=store.add_release("chaos", tasks, {}).hash,
        code_version="test",
        created_at=datetime.now(UTC),
    )
    store.add_run(run)
    preparing.do(store, run.id)
    yield home, store
    store.close()


def start(home: Path) -> subprocess.Popen[bytes]:
    environment = os.environ | {"COMPATIBLE_API_KEY": CANARY, "NIGHTSHIFT_HOME": str(home)}
    with (home / "output.log").open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "tests.e2e.chaos", str(home), "chaos"],
            cwd=PROJECT,
            env=environment,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def rows(home: Path, query: str) -> list[str]:
    """The first column of what the run's database answers."""
    with sqlite3.connect(f"file:{home}/nightshift.db?mode=ro", uri=True, timeout=30) as connection:
        return [row[0] for row in connection.execute(query)]


def finished(home: Path) -> int:
    return len(rows(home, "SELECT id FROM outcome WHERE status = 'finished'"))


def wait_for_more(home: Path, process: subprocess.Popen[bytes], than: int) -> None:
    """Wait until trials were finished since; so every kill hits work that is under way."""
    deadline = time.monotonic() + 120
    while process.poll() is None and finished(home) <= than + IN_FLIGHT:
        assert time.monotonic() < deadline, (home / "output.log").read_text()[-3000:]
        time.sleep(0.1)


def kill_a_worker(home: Path, chance: random.Random) -> None:
    with suppress(ProcessLookupError):
        os.kill(chance.choice(json.loads((home / "workers.json").read_text())), signal.SIGKILL)


def kill_all(process: subprocess.Popen[bytes]) -> None:
    os.kill(process.pid, signal.SIGKILL)
    process.wait()


def expect_everything_once(
    home: Path, store: Store, provider: Trouble, kills: int, at_each: int
) -> None:
    results = store.results("chaos")
    assert len(results) == TASKS * REPETITIONS
    assert {r.outcome.status for r in results} == {"finished"}
    assert {r.outcome.turns for r in results} == {CALLS}
    outcomes = rows(home, "SELECT trial_id FROM outcome WHERE status = 'finished'")
    calls = rows(home, "SELECT trial_id FROM model_call")
    paid = Counter(calls)
    assert sorted(outcomes) == sorted(r.trial.id for r in results)
    assert provider.spoiled > 0, "the provider never misbehaved"
    assert set(paid.values()) == {CALLS}, "a call was paid for twice, or is not in the ledger"
    lost = provider.billed - sum(paid.values())
    assert 0 <= lost <= kills * at_each, (provider.billed, sum(paid.values()), kills)


def expect_nothing_left(home: Path) -> None:
    deadline = time.monotonic() + 60
    while left := _left(home):
        assert time.monotonic() < deadline, left
        time.sleep(0.5)


def _left(home: Path) -> list[str]:
    """Processes and temporary folders that still belong to the run."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            variables = (folder / "environ").read_bytes()
            if f"NIGHTSHIFT_HOME={home}\0".encode() in variables:
                found.append((folder / "cmdline").read_text().replace("\0", " "))
    return found


def expect_no_secret(home: Path) -> None:
    """The key is in nothing that the run wrote."""
    for file in home.rglob("*"):
        if file.is_file():
            assert CANARY.encode() not in file.read_bytes(), file
    for file in base_folder().rglob("*"):
        if file.is_file():
            assert CANARY.encode() not in file.read_bytes(), file


def test_workers_are_killed_one_after_the_other(planned, provider):
    home, store = planned
    chance, kills = random.Random(5), 0
    process = start(home)
    wait_for_more(home, process, 0)
    while process.poll() is None:
        kill_a_worker(home, chance)
        kills += 1
        with suppress(subprocess.TimeoutExpired):
            process.wait(SECONDS_BETWEEN_KILLS)
    assert process.returncode == 0, (home / "output.log").read_text()[-3000:]
    assert kills >= 2
    expect_everything_once(home, store, provider, kills, IN_FLIGHT)
    expect_nothing_left(home)
    expect_no_secret(home)


def test_the_whole_command_is_killed_again_and_again(planned, provider):
    home, store = planned
    kills = 0
    for _ in range(4):
        process = start(home)
        wait_for_more(home, process, finished(home))
        if process.poll() is None:
            kill_all(process)
            kills += 1
    process = start(home)
    assert process.wait(240) == 0, (home / "output.log").read_text()[-3000:]
    assert kills >= 2
    expect_everything_once(home, store, provider, kills, WORKERS * IN_FLIGHT)
    expect_nothing_left(home)
    expect_no_secret(home)
