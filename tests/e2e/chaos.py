"""A provider that misbehaves, nights against it that are killed, and what these leave behind."""

import os
import random
import re
import signal
import sqlite3
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from flows.config import Settings
from flows.locks import is_worked_on
from taskdata.store import Store, StoreAddress
from tests.wire_server import Seen, WireServer

CALLS = 2
"""Of each trial: one with a tool call, and the answer."""
WORKERS, IN_FLIGHT = 2, 16
AGENT = "function_calling:compatible/chaos"
CANARY = "sk-canary-7f3a9d51c0b84e26a1"

TASK = """\
tier: atomic
category: data_analysis
capabilities: [logic]
title: Add two numbers
query: What do 2 and 3 make? This is sheet {number}.
tools: [{tool}, finish]
answer: {{kind: objective, whitelist: [["5"]]}}
checkpoints:
  id: root
  requirement: The answer is right.
  children:
    - id: sum
      requirement: It says 5.
      verifier: {{kind: check, name: answer_contains, args: {{all: [["5"]]}}}}
"""
_ARGUMENTS = {"sleep": {"seconds": 0.001}, "list_files": {}}


class Trouble:
    """A provider that answers five calls in six, and counts those that it bills."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self.url = ""
        self.billed = 0
        self.spoiled = 0

    def respond(self, seen: Seen):
        assert seen.headers["Authorization"] == f"Bearer {CANARY}"
        chance = self._random.random()
        if chance < 0.05:
            return WireServer.fails(429, retry_after=0.05)
        if chance < 0.11:
            return WireServer.fails(500)
        if chance < 0.14:
            self.spoiled += 1
            return WireServer.truncates()
        if chance < 0.17:
            self.spoiled += 1
            return WireServer.sends(b'{"choices": [{"message"')
        return WireServer.waits(0.8 if chance < 0.20 else 0.05, self._answer)

    async def _answer(self, seen: Seen, request):
        said = sum(message["role"] == "assistant" for message in seen.body["messages"])
        if said < CALLS - 1:
            tool = seen.body["tools"][0]["function"]["name"]
            reply = WireServer.says("", (tool, _ARGUMENTS[tool]))
        else:
            reply = WireServer.says("The answer is 5.")
        response = await reply(seen, request)
        self.billed += 1
        return response


class Night:
    """A run through the command, with a home and a folder for temporary files of its own."""

    def __init__(self, folder: Path, argv: Sequence[str], environment: dict[str, str]) -> None:
        self.home, self.temporary = folder / "home", folder / "tmp"
        self.folder = folder
        self.started: list[subprocess.Popen[bytes]] = []
        self._argv, self._log = argv, folder / "output.log"
        own = {"COMPATIBLE_API_KEY": CANARY, "TMPDIR": str(self.temporary)}
        self.environment = environment | own
        self.home.mkdir()
        self.temporary.mkdir()

    def configure(
        self, url: str, tools: Sequence[str], repetitions: int, sandbox: str = "bubblewrap"
    ) -> None:
        """Write a bank with a task for each of the tools, and the settings of the run."""
        for number, tool in enumerate(tools):
            task = self.folder / "bank" / f"task-{number}"
            task.mkdir(parents=True)
            (task / "task.yaml").write_text(TASK.format(number=number, tool=tool))
        (self.folder / "nightshift.toml").write_text(
            f'[run]\nbank = "{self.folder / "bank"}"\nrefinement_rounds = 0\n'
            f'agents = [{{name = "{AGENT}", base_url = "{url}"}}]\nsandbox = "{sandbox}"\n'
            f"workers = {WORKERS}\ntrials_per_worker = {IN_FLIGHT}\nrepetitions = {repetitions}\n"
        )

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        with self._log.open("ab") as log:
            process = subprocess.Popen(
                [*self._argv, *arguments],
                cwd=self.folder,
                env=self.environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.started.append(process)
        return process

    def said(self) -> str:
        """What the command printed, all starts of it."""
        return self._log.read_text()

    def rows(self, query: str) -> list[str]:
        """The first column of what the store's database answers; nothing before it is made."""
        file = f"file:{self.home}/nightshift.db?mode=ro"
        with (
            suppress(sqlite3.OperationalError),
            sqlite3.connect(file, uri=True, timeout=30) as connection,
        ):
            return [row[0] for row in connection.execute(query)]
        return []

    def done(self) -> int:
        """How many trials were executed, and how many scored, together."""
        finished = self.rows("SELECT id FROM outcome WHERE status = 'finished'")
        return len(finished) + len(self.rows("SELECT trial_id FROM trial_score"))

    def wait_for_more(self, process: subprocess.Popen[bytes], than: int) -> None:
        """Wait until more was done, so that every kill hits work under way."""
        deadline = time.monotonic() + 300
        while process.poll() is None and self.done() <= than:
            assert time.monotonic() < deadline, self.said()[-3000:]
            time.sleep(0.1)

    def store(self) -> Store:
        database = f"sqlite:///{self.home}/nightshift.db"
        return Store(
            StoreAddress(database_url=database, artifacts_url=f"file://{self.home}/artifacts")
        )

    def sandboxes(self) -> int:
        """How many programs in sandboxes of this night there are now."""
        return sum("bwrap" in program for program, *_arguments in self._command_lines())

    def processes(self) -> list[str]:
        """The command lines of the processes that still belong to this night."""
        return [" ".join(arguments) for arguments in self._command_lines()]

    def _command_lines(self) -> list[list[str]]:
        """Program and arguments of each of these processes; a path may hold spaces."""
        marks = [f"NIGHTSHIFT_HOME={self.home}\0", f"TMPDIR={self.temporary}\0"]
        marks += [f"NIGHTSHIFT_RUN={run}\0" for run in self.rows("SELECT id FROM run")]
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                known, line = (folder / "environ").read_bytes(), (folder / "cmdline").read_bytes()
                is_ours = any(mark.encode() in known for mark in marks)
                if is_ours or str(self.temporary).encode() in line:
                    found.append(line.decode(errors="replace").split("\0"))
        return found

    def left(self) -> list[str]:
        """Whatever of this night there should not be any more once it is over."""
        base = self.temporary / f"nightshift-{os.geteuid()}"
        lasting = {base, base / "id", base / "docker"}
        files = [path for path in self.temporary.rglob("*") if path not in lasting]
        files = [path for path in files if not _is_probe(path)]
        (run,) = self.rows("SELECT id FROM run")
        held = [f"lock of {run}"] if is_worked_on(Settings(home=self.home), run) else []
        return [*self.processes(), *map(str, files), *held, *self.containers()]

    def containers(self) -> list[str]:
        """The ids of its containers."""
        base = self.temporary / f"nightshift-{os.geteuid()}"
        if not (base / "docker").exists():
            return []
        mark = f"label=nightshift.base={(base / 'id').read_text()}"
        listed = subprocess.run(
            ["docker", "ps", "--all", "--quiet", "--filter", mark],
            capture_output=True,
            text=True,
            check=True,
        )
        return listed.stdout.split()


def _is_probe(path: Path) -> bool:
    """Whether Python made the file to see if it can write there, and was killed in between."""
    is_named_so = re.fullmatch(r"[a-z0-9_]{8}", path.name) is not None
    return is_named_so and path.is_file() and path.read_bytes() in (b"", b"blat")


def workers_of(process: subprocess.Popen[bytes]) -> list[int]:
    """The Dask workers that the command started."""
    children = Path(f"/proc/{process.pid}/task").glob("*/children")
    found = []
    with suppress(OSError):
        for pid in " ".join(file.read_text() for file in children).split():
            with suppress(OSError):
                if b"--multiprocessing-fork" in Path(f"/proc/{pid}/cmdline").read_bytes():
                    found.append(int(pid))
    return found


def kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
