"""Any program that reads a task folder and leaves deliverables, run in the trial's sandbox."""

import asyncio
import functools
import hashlib
import math
import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from environments.metering.program_budget import ProgramBudget
from environments.metering.proxy import MeteringProxy
from environments.models.wire.arguments import clean_text
from environments.ports import Completed, Mount, Process, Sandbox
from environments.reaper.owner import working_folder
from environments.sandbox.mounts import masked
from stages.execute.assignment import Assignment
from stages.execute.cases.planner import with_plan
from stages.execute.cases.programs import (
    CASE_FILE,
    PLAN_FILE,
    PROGRAM_PROMPT,
    case_text,
    program_task,
    read_written,
)
from stages.execute.dialogue import prompts
from taskdata.errors import Misuse, SandboxFailed
from taskdata.schema.agent import AgentSpec
from taskdata.schema.task import Resources, TaskBrief
from taskdata.schema.transcript import Ending, Transcript

PROGRAM_FOLDER = "/opt/agent"
"""Where the agent's own files are mounted inside the sandbox, read-only."""

_PROMPT = "command_v1"
_TASK_FILE = "/workspace/TASK.md"
_ANSWER_FILE = "output/final.txt"
_ANSWER_BYTES = 100_000
_PLAN_BYTES = 300_000
"""More than can be read of an answer to a planning case, so that a longer one is no plan."""
_ANSWER_SECONDS = 20.0
_PRINTED_ANSWER_CHARS = 20_000
"""Of the printed output, which is the answer if there is no answer file."""
_SHOWN_CHARS = 20_000
"""The transcript holds the end of each output stream, up to this length."""
_KEPT_BYTES = 256 * 1024
_MOST_ERRORS_KB = 8 * 1024
# There is no standard input: a program that reads from it must not wait.
_WITHOUT_INPUT = ("/bin/sh", "-c", 'exec "$@" </dev/null', "sh")


def require_command(agent: AgentSpec) -> None:
    """Raise `Misuse` unless the agent names a command and its program exists."""
    if not agent.command:
        raise Misuse(
            f"agent {agent.name!r}: harness 'command' needs `command`, such as "
            '["python", "/opt/agent/main.py"]; set it under [[run.agents]] in nightshift.toml'
        )
    if agent.temperature is not None or agent.reasoning_effort is not None:
        raise Misuse(
            f"agent {agent.name!r}: temperature and reasoning_effort are its program's to choose; "
            "remove them"
        )
    if agent.program is None:
        return
    folder = Path(agent.program)
    if not folder.is_dir():
        raise Misuse(f"agent {agent.name!r}: there is no folder {folder}; correct `program`")
    if masked((Mount(folder, PROGRAM_FOLDER),)):
        raise Misuse(
            f"agent {agent.name!r}: its program would see tasks with their solutions in {folder}; "
            "move it to a folder of its own"
        )


def with_room(agent: AgentSpec, asked: Resources) -> Resources:
    """Return a tool call's limits, widened to the time of a whole trial on every CPU."""
    seconds = agent.budget.max_seconds
    return asked.model_copy(
        update={
            "wall_seconds": max(asked.wall_seconds, seconds),
            "cpu_seconds": max(asked.cpu_seconds, math.ceil(seconds) * (os.cpu_count() or 1)),
            "output_kb": max(asked.output_kb, _MOST_ERRORS_KB),
        }
    )


class Command:
    """Runs the program once, with the time limit of the trial."""

    def __init__(self, *, plans: bool = False) -> None:
        """Have it do its task; `plans`: have it answer a planning case."""
        self._plans = plans

    @property
    def prompt_version(self) -> str | None:
        """The prompts in the task file."""
        return PROGRAM_PROMPT if self._plans else prompts.version(_PROMPT)

    async def run(self, assignment: Assignment) -> Transcript:
        """Run the program until it ends or the time is up.

        Raises:
            ModelUnavailable: the provider did not answer the program; `ModelRejected`: it refused.
            SandboxFailed: the sandbox was lost.
        """
        agent, journal, proxy = assignment.agent, assignment.journal, assignment.proxy
        sandbox = assignment.sandbox
        if sandbox is None:
            raise Misuse(f"agent {agent.name!r}: harness 'command' needs a sandbox")
        journal.calls_are_seen = False
        files = _handed_over(assignment.brief)
        journal.message("user", files[_TASK_FILE])
        journal.message("system", await asyncio.to_thread(_described, agent))
        budget = ProgramBudget(agent.budget, price=None) if proxy is None else proxy.budget
        budget.begin()
        run = await _run(sandbox, agent, files, budget)
        if proxy is not None:
            await proxy.settled()
        journal.message("system", run.report)
        if proxy is not None:
            proxy.require_provider()
        if self._plans:
            plan = await _written_text(sandbox, PLAN_FILE, _PLAN_BYTES)
            return with_plan(journal.close(_ending(run, proxy), plan), read_written(plan))
        answer = await _written_text(sandbox, _ANSWER_FILE, _ANSWER_BYTES)
        answer = answer or run.printed[-_PRINTED_ANSWER_CHARS:].strip()
        return journal.close(_ending(run, proxy), answer)


def _handed_over(brief: TaskBrief) -> dict[str, str]:
    """Return the texts that the program finds in its workspace, by path."""
    if brief.case is not None:
        case = f"{Path(_TASK_FILE).parent}/{CASE_FILE}"
        return {_TASK_FILE: program_task(brief), case: case_text(brief)}
    (instructions,) = prompts.opening(_PROMPT, brief, ())
    return {_TASK_FILE: instructions.text}


@dataclass(frozen=True)
class _Run:
    """How the program ended."""

    completed: Completed
    printed: str
    """The end of its standard output."""
    was_late: bool

    @property
    def report(self) -> str:
        """The summary for the transcript."""
        done = self.completed
        limit = f", stopped by its limit: {done.limit}" if done.limit else ""
        late = ", stopped because the trial's time was up" if self.was_late else ""
        errors = clean_text(done.stderr[-_KEPT_BYTES:].decode(errors="replace"))
        return (
            f"The program ended with exit code {done.exit_code} after {done.seconds:.1f} s"
            f"{limit}{late}.\n\nStandard output:\n{_end(self.printed)}\n\n"
            f"Standard error:\n{_end(errors)}"
        )


def _end(text: str) -> str:
    if len(text) <= _SHOWN_CHARS:
        return text or "(nothing)"
    return f"(the last {_SHOWN_CHARS} characters)\n{text[-_SHOWN_CHARS:]}"


def _ending(run: _Run, proxy: MeteringProxy | None) -> Ending:
    if run.was_late:
        return Ending.OUT_OF_TIME
    if proxy is not None and proxy.ending is not None:
        return proxy.ending
    return Ending.FINISHED if run.completed.exit_code == 0 else Ending.IN_ERROR


async def _run(
    sandbox: Sandbox, agent: AgentSpec, files: Mapping[str, str], budget: ProgramBudget
) -> _Run:
    with working_folder() as folder:
        mounts = [
            Mount(_written(folder / Path(path).name, text), path) for path, text in files.items()
        ]
        if agent.program is not None:
            mounts.append(Mount(Path(agent.program), PROGRAM_FOLDER))
        argv = (*_WITHOUT_INPUT, *agent.command)
        process = await sandbox.start(argv, mounts=mounts, reserves_memory=True)
        printed, grace = bytearray(), 0.0
        try:
            async with budget.in_time():
                await _read(process, printed)
            # A program that has closed its output has usually ended, but it may still be running.
            grace = budget.seconds_left
        except TimeoutError:
            grace = 0.0
        finally:
            completed, _ = await asyncio.gather(process.close(grace), _read(process, printed))
    return _Run(
        completed=completed,
        printed=clean_text(bytes(printed).decode(errors="replace")),
        was_late=budget.seconds_left <= 0,
    )


async def _read(process: Process, printed: bytearray) -> None:
    """Collect the end of the program's output until it is closed."""
    while chunk := await process.read():
        printed += chunk
        del printed[:-_KEPT_BYTES]


def _written(file: Path, text: str) -> Path:
    try:
        file.write_text(text, encoding="utf-8")
        file.chmod(0o444)
    except OSError as error:
        raise SandboxFailed(f"cannot write {file}: {error.strerror}") from error
    return file


async def _written_text(sandbox: Sandbox, path: str, most_bytes: int) -> str:
    """Return a text that it left; read inside the sandbox, where links lead nowhere else."""
    argv = ("/usr/bin/head", "-c", str(most_bytes), path)
    done = await sandbox.run(argv, wall_seconds=_ANSWER_SECONDS)
    if done.exit_code != 0:
        return ""
    return clean_text(done.stdout.decode(errors="replace")).strip()


def _described(agent: AgentSpec) -> str:
    """Return the command and a hash of the program, which identify what ran."""
    line = f"The program: {shlex.join(agent.command)}"
    if agent.program is None:
        return line
    folder = Path(agent.program)
    return f"{line}\n{PROGRAM_FOLDER}: sha256 {_content_hash(folder, _state(folder))}"


def _files(folder: Path) -> list[Path]:
    return [p for p in sorted(folder.rglob("*")) if p.is_file() and not p.is_symlink()]


def _state(folder: Path) -> str:
    """Return a hash of names, sizes and times, which changes with any file; reads no contents."""
    digest = hashlib.sha256()
    for path in _files(folder):
        stat = path.stat()
        # A copied file may keep its mtime, but never its ctime.
        stamps = f"{stat.st_size}\0{stat.st_mtime_ns}\0{stat.st_ctime_ns}"
        digest.update(f"{path.relative_to(folder)}\0{stamps}\0".encode())
    return digest.hexdigest()


@functools.lru_cache(maxsize=64)
def _content_hash(folder: Path, state: str) -> str:
    """Return a hash of names and contents; cached per `state`, as folders may be large."""
    digest = hashlib.sha256()
    for path in _files(folder):
        digest.update(f"{path.relative_to(folder)}\0{path.stat().st_size}\0".encode())
        with path.open("rb") as file:
            while chunk := file.read(1 << 20):
                digest.update(chunk)
    return digest.hexdigest()
