"""The state that a trial begins with: the task's files, or what its own program makes of them.

A task's preprocess program runs before the agent, in a sandbox of its own over a workspace of its
own. So only the files that it leaves reach the agent, and neither the program nor its data. It can
use the services of the trial and change their state. Servers that it leaves running stay in its
sandbox until the trial ends; other sandboxes of the trial reach their ports and nothing else.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from environments.ports import ExposedPort, Workspace
from environments.sandbox.collect import collect
from environments.sandbox.workspace import open_workspace
from environments.scripts.preprocess import PROGRAM
from environments.scripts.preprocessing import LeftServers, preprocess
from stages.workers.shift import WorkerContext
from taskdata.artifacts import ArtifactStore
from taskdata.errors import PreprocessFailed
from taskdata.schema.environment import launch_time
from taskdata.schema.task import InputFile, Resources, Task

WALL_SECONDS = 300.0
"""The program's time limit, which is longer than that of an agent's call."""

_MAX_FILES = 5_000
_WORKSPACE = "/workspace/output"

Files = Mapping[str, Path | bytes]
"""Files by relative path: the location of each, or its content."""


@dataclass(frozen=True)
class Begun:
    """What a trial begins with."""

    files: Files
    """Valid for as long as the trial runs."""
    servers: LeftServers | None = None


@asynccontextmanager
async def begun(
    worker: WorkerContext, task: Task, ports: Sequence[ExposedPort], launched: datetime
) -> AsyncIterator[Begun]:
    """Yield what the trial begins with; servers of its preprocess program end with the block.

    Args:
        worker: Who runs the trial.
        task: Its task.
        ports: What the program can reach.
        launched: When the trial began.

    Raises:
        PreprocessFailed: the program failed, took too long, or left what cannot be used.
        SandboxFailed: the sandbox itself failed.
    """
    files = await asyncio.to_thread(_bytes_of, task.files, worker.store.artifacts)
    programs = task.environment.preprocess if task.environment else ()
    if not any(file.path == PROGRAM for file in programs):
        yield Begun(files)
        return
    limits = task.resources.model_copy(
        update={"wall_seconds": WALL_SECONDS, "max_files": _MAX_FILES}
    )
    beside = task.folder if task.has_one_workspace else programs
    program = await asyncio.to_thread(_bytes_of, beside, worker.store.artifacts)
    async with (
        open_workspace(worker.folder, program, files, task.folders) as workspace,
        AsyncExitStack() as running,
    ):
        opened = worker.provider.open(workspace, limits, worker.run.id, ports)
        sandbox = await running.enter_async_context(opened)
        try:
            arguments = _arguments(task, launched)
            servers = await preprocess(sandbox, workspace, arguments, WALL_SECONDS)
            if not servers.exposed_ports:
                await running.aclose()
            left = await asyncio.to_thread(_left, workspace, limits)
        except PreprocessFailed as error:
            raise PreprocessFailed(f"task {task.id!r}: {error}; the task needs mending") from error
        yield Begun(left, servers if servers.exposed_ports else None)


def _left(workspace: Workspace, limits: Resources) -> Files:
    """Return the files that the program left; blocks."""
    collected = collect(workspace.output, limits)
    if collected.rejected:
        raise PreprocessFailed(
            f"{PROGRAM} left what no workspace may hold: {collected.rejected[0]}"
        )
    return {file.name: file.path for file in collected.files}


def _bytes_of(files: Sequence[InputFile], artifacts: ArtifactStore) -> Files:
    return {file.path: artifacts.read_bytes(file.sha256) for file in files}


def _arguments(task: Task, launched: datetime) -> list[str]:
    # Programs of pools parse the time without the name of the day, which those that score are told.
    moment = launch_time(launched)
    if task.has_one_workspace:
        moment = moment.rpartition(" ")[0]
    return ["--agent_workspace", _WORKSPACE, "--launch_time", moment]
