"""The state a task starts from: its files, as its own preprocess program leaves them.

The program runs before the agent, in a sandbox of its own over a workspace of its own, so that
nothing but the files it leaves reaches the agent: not the program, its data or its processes. It
reaches the services of the trial, whose state it may bring up to date as well.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from environments.ports import Completed, ExposedPort, Sandbox, SandboxProvider
from environments.sandbox.collect import collect
from environments.sandbox.workspace import new_workspace
from environments.tools.sandboxed import why_stopped
from taskdata.artifacts import ArtifactStore
from taskdata.errors import PreprocessFailed
from taskdata.schema.task import InputFile, Task

ENTRY = "preprocess/main.py"
"""The program, among the task's preprocess files (Toolathlon, section 3)."""

WALL_SECONDS = 300.0
"""It may take longer than one call of an agent's."""

_MAX_FILES = 5_000
_WORKSPACE = "/workspace/output"

Files = Mapping[str, Path | bytes]
"""Files by relative path: where each is, or what is in it."""


@asynccontextmanager
async def initial_files(
    task: Task,
    artifacts: ArtifactStore,
    provider: SandboxProvider,
    folder: Path,
    label: str,
    exposed_ports: Sequence[ExposedPort] = (),
) -> AsyncIterator[Callable[[], Files]]:
    """Yield what reads the files for the trial's input folder, within the block; it blocks.

    Args:
        task: What is tried.
        artifacts: Holds its files.
        provider: Makes the program's sandbox.
        folder: A workspace for the program is made here.
        label: Of the sandbox.
        exposed_ports: What the program reaches.

    Raises:
        PreprocessFailed: the program failed, took too long, or left what cannot be taken over.
        SandboxFailed: the sandbox itself failed.
    """
    read = partial(_bytes_of, task.files, artifacts)
    programs = task.environment.preprocess if task.environment else ()
    if not any(file.path == ENTRY for file in programs):
        yield read
        return
    limits = task.resources.model_copy(
        update={"wall_seconds": WALL_SECONDS, "max_files": _MAX_FILES}
    )
    files = await asyncio.to_thread(read)
    around = await asyncio.to_thread(_bytes_of, programs, artifacts)
    with new_workspace(folder, around, begun=files) as workspace:
        async with provider.open(workspace, limits, label, exposed_ports) as sandbox:
            await _run(task, sandbox)
        collected = await asyncio.to_thread(collect, workspace.output, limits)
        if collected.rejected:
            raise PreprocessFailed(
                f"task {task.id!r}: {ENTRY} left what no workspace may hold: "
                f"{collected.rejected[0]}"
            )
        left: Files = {file.name: file.path for file in collected.files}
        yield lambda: left


def _bytes_of(files: tuple[InputFile, ...], artifacts: ArtifactStore) -> Files:
    return {file.path: artifacts.read_bytes(file.sha256) for file in files}


async def _run(task: Task, sandbox: Sandbox) -> None:
    now = f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S %A}"
    arguments = ["--agent_workspace", _WORKSPACE, "--launch_time", now]
    done = await sandbox.run([*sandbox.python(), f"input/{ENTRY}", *arguments])
    if problem := _problem(done):
        raise PreprocessFailed(f"task {task.id!r}: {ENTRY} {problem}; the task needs mending")


def _problem(done: Completed) -> str | None:
    stopped = why_stopped(done)
    if stopped:
        return f"was stopped after {done.seconds:.0f} s: {stopped}"
    if done.exit_code == 0:
        return None
    lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
    return f"ended with code {done.exit_code}: {lines[-1][:300] if lines else 'no message'}"
