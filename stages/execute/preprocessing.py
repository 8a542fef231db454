"""The files that a trial begins with: the task's own, or those that its preprocess program makes.

The preprocess program runs before the agent, with a sandbox and a workspace of its own. Therefore,
only the files that it leaves reach the agent, but not the program and its data. It can use the
services of the trial and change their state. Servers that it leaves running stay in its sandbox
until the trial ends; the trial's other sandboxes reach their ports and nothing else.
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
"""Files by relative path; a file is given by its location or its content."""


@dataclass(frozen=True)
class Begun:
    """The files and servers that a trial begins with."""

    files: Files
    """Locations stay valid until the trial ends."""
    servers: LeftServers | None = None


@asynccontextmanager
async def begun(
    worker: WorkerContext, task: Task, ports: Sequence[ExposedPort], launched: datetime
) -> AsyncIterator[Begun]:
    """Yield what the trial begins with; servers of its preprocess program end with the block.

    Args:
        worker: The worker that runs the trial.
        task: The task of the trial.
        ports: The ports that the program can reach.
        launched: When the trial began.

    Raises:
        PreprocessFailed: the program failed, took too long, or left files that cannot be used.
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
            raise PreprocessFailed(f"task {task.id!r}: {error}; correct the task") from error
        yield Begun(left, servers if servers.exposed_ports else None)


def _left(workspace: Workspace, limits: Resources) -> Files:
    """Return the files that the program left; blocks."""
    collected = collect(workspace.output, limits)
    if collected.rejected:
        raise PreprocessFailed(
            f"{PROGRAM} left a file that a workspace cannot hold: {collected.rejected[0]}"
        )
    return {file.name: file.path for file in collected.files}


def _bytes_of(files: Sequence[InputFile], artifacts: ArtifactStore) -> Files:
    return {file.path: artifacts.read_bytes(file.sha256) for file in files}


def _arguments(task: Task, launched: datetime) -> list[str]:
    # Preprocess programs of pools expect the time without the weekday that evaluators are given.
    moment = launch_time(launched)
    if task.has_one_workspace:
        moment = moment.rpartition(" ")[0]
    return ["--agent_workspace", _WORKSPACE, "--launch_time", moment]
