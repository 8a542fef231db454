"""The initial workspace of a task with an image, and the workspace that its solution leaves.

The solution runs in a sandbox like an agent's, over the same files and with `solution/`.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from environments.ports import Completed
from environments.sandbox.collect import collect
from environments.sandbox.docker.contents import image_files
from environments.sandbox.docker.places import Place
from environments.sandbox.endings import why_stopped
from environments.sandbox.imaged import let_files_be_run, provider_of_image
from environments.sandbox.workspace import open_workspace
from environments.services.starting import ServiceHost
from stages.score.scripts.conventions.harbor import missing_in, shell_program
from stages.score.scripts.verdicts import said_by
from taskdata.artifacts import ArtifactStore
from taskdata.schema.image import TaskImage
from taskdata.schema.run import Deliverable
from taskdata.schema.task import Task

ENTRY = "solution/solve.sh"
_PLACES = (Place("input/solution", "/solution"),)
_MAX_SAID = 300


@dataclass(frozen=True)
class Solved:
    """The files that a task's solution left."""

    files: tuple[Deliverable, ...]
    doubt: str = ""
    """Why the solution may leave more on another machine; empty without such a reason."""


async def begun_files(host: ServiceHost, task: Task) -> tuple[Deliverable, ...]:
    """Return the files of the initial workspace that come from the task's image and its files.

    Raises:
        SandboxFailed: the Docker engine does not have the image.
    """
    if task.image is None:
        return ()
    files = await _begun(host, task, task.image)
    return await asyncio.to_thread(
        lambda: tuple(_stored(host.artifacts, name, content) for name, content in files.items())
    )


async def solved(host: ServiceHost, task: Task) -> Solved | None:
    """Return what the task's solution leaves; None if the task has no solution.

    Raises:
        Misuse: the run's kind of sandbox cannot use images.
        SandboxFailed: the sandbox failed, not the solution.
    """
    around = task.environment
    programs = around.groundtruth if around else ()
    if task.image is None or not any(file.path == ENTRY for file in programs):
        return None
    provider = provider_of_image(host.provider, task.image, *_PLACES)
    files = await _begun(host, task, task.image)
    solution = await asyncio.to_thread(
        lambda: {file.path: host.artifacts.read_bytes(file.sha256) for file in programs}
    )
    async with open_workspace(host.folder, solution, files) as workspace:
        await asyncio.to_thread(let_files_be_run, workspace.output)
        async with provider.open(workspace, task.resources, host.label) as sandbox:
            done = await sandbox.run(shell_program(task.image.workdir, ENTRY))
        left = await asyncio.to_thread(collect, workspace.output, task.resources)
        kept = await asyncio.to_thread(
            lambda: tuple(_stored(host.artifacts, f.name, f.path) for f in left.files)
        )
    return Solved(kept, _doubt(done, left.rejected))


async def _begun(host: ServiceHost, task: Task, image: TaskImage) -> Mapping[str, bytes]:
    of_image = await image_files(image, task.resources)
    read = partial(_read, task, host.artifacts)
    return of_image | await asyncio.to_thread(read)


def _read(task: Task, artifacts: ArtifactStore) -> dict[str, bytes]:
    return {file.path: artifacts.read_bytes(file.sha256) for file in task.files}


def _doubt(done: Completed, rejected: tuple[str, ...]) -> str:
    """Return why the solution may have left too little."""
    output = said_by(done)
    if stopped := why_stopped(done):
        return f"{ENTRY} was stopped: {stopped}"
    if missing := missing_in(output):
        return f"{ENTRY} cannot work here: it needs {missing}"
    if done.exit_code != 0:
        said = " ".join(output.split())[-_MAX_SAID:]
        return f"{ENTRY} ended with exit code {done.exit_code}: {said}"
    return f"{ENTRY} left a file that is not kept: {rejected[0]}" if rejected else ""


def _stored(artifacts: ArtifactStore, name: str, content: bytes | Path) -> Deliverable:
    data = content if isinstance(content, bytes) else content.read_bytes()
    return Deliverable(name=name, sha256=artifacts.put_bytes(data), size_bytes=len(data))
