"""One service, started in a sandbox of its own and checked for health."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from environments.ports import ExposedPort, Mount, Sandbox, SandboxProvider, Workspace
from environments.sandbox.identity import give_to_programs
from environments.sandbox.workspace import open_workspace
from environments.services.inside.lines import SOCKETS
from environments.services.kinds import KINDS, READY, service_state
from environments.services.program import Program, ServiceStopped
from environments.services.server import Variables
from taskdata.artifacts import ArtifactStore
from taskdata.errors import SandboxFailed, ServiceFailed
from taskdata.schema.limits import ServiceFacts
from taskdata.schema.service import Service
from taskdata.schema.task import Resources

T = TypeVar("T")

_SOCKETS = "sockets"
"""Folder beside a service's workspace folders that holds a folder for each of its sockets."""

MakeMounts = Callable[[Sandbox, Workspace], Awaitable[Sequence[Mount]]]
"""Makes what a service's program needs besides its workspace."""


@dataclass(frozen=True)
class ServiceHost:
    """What it takes to run services."""

    artifacts: ArtifactStore
    """Store of the services' files."""
    provider: SandboxProvider
    folder: Path
    """Folder for their workspaces."""
    home: Path
    """Folder for files that take long to make and are reused."""
    label: str
    """Label of their sandboxes."""


@dataclass(frozen=True)
class Started:
    """A healthy service."""

    facts: ServiceFacts
    sockets: tuple[Path, ...]
    """One for each port."""
    workspace: Workspace
    program: Program
    mounts: tuple[Mount, ...]
    """What it was given besides its workspace, without the sockets."""

    def exposed(
        self, ports: Sequence[int], variables: Sequence[Variables]
    ) -> tuple[ExposedPort, ...]:
        """Return its exposed ports, with the variables that tell about each."""
        return tuple(
            ExposedPort(port, socket, named)
            for port, socket, named in zip(ports, self.sockets, variables, strict=True)
        )


async def all_of(work: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Return all results; after the first failure the rest is cancelled and waited for."""
    tasks = [asyncio.ensure_future(one) for one in work]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def started(
    service: Service,
    room: ServiceHost,
    stack: AsyncExitStack,
    settings: Mapping[str, Any],
    resources: Resources,
    ready_seconds: float,
    make_mounts: MakeMounts | None = None,
) -> Started:
    """Return the service once it is healthy; `stack` removes it.

    Args:
        service: The service.
        room: What it takes to run it.
        stack: Ends its sandbox and removes its workspace.
        settings: Sent to its program first.
        resources: What it may use.
        ready_seconds: How long it may take to become healthy.
        make_mounts: What its program needs, if that is not the start from the task's files.

    Raises:
        ServiceFailed: it did not become healthy in time; the message says why.
        SandboxFailed: its sandbox cannot be opened.
    """
    state = service_state(service.kind, room.provider.name)
    if state != READY:
        raise ServiceFailed(f"service {service.name!r}: {state}")
    server = KINDS[service.kind]
    began = time.monotonic()
    files = {
        file.path: await asyncio.to_thread(room.artifacts.read_bytes, file.sha256)
        for file in (service.files if make_mounts is None else ())
    }
    workspace = await stack.enter_async_context(open_workspace(room.folder, files))
    sandbox = await stack.enter_async_context(room.provider.open(workspace, resources, room.label))
    if make_mounts is None:
        mounts = await server.mounts(service, sandbox, workspace, room.home)
    else:
        mounts = await make_mounts(sandbox, workspace)
    sockets = await asyncio.to_thread(socket_folders, workspace, server.sockets)
    program = await Program.started(
        service.name, sandbox, server.program, settings, (*mounts, *sockets)
    )
    try:
        version = await program.answer("ready", ready_seconds)
    except ServiceStopped as error:
        raise ServiceFailed(f"service {service.name!r}: {error} while it started") from error
    seconds = time.monotonic() - began
    facts = ServiceFacts(name=service.name, kind=service.kind, version=version, seconds=seconds)
    places = tuple(socket_outside(workspace, socket) for socket in server.sockets)
    return Started(facts, places, workspace, program, tuple(mounts))


def socket_outside(workspace: Workspace, socket: str) -> Path:
    """Return the path at which the host sees a program's socket."""
    return workspace.root / _SOCKETS / socket


def socket_folders(workspace: Workspace, sockets: Sequence[str]) -> tuple[Mount, ...]:
    """Make the folders of a program's sockets; the program may fill but not replace them.

    Other sandboxes see these folders, so they are outside of the folders that programs can change.

    Args:
        workspace: The workspace of the program.
        sockets: Paths of the sockets below `SOCKETS` inside, each alone in its folder.

    Raises:
        SandboxFailed: a folder cannot be made.
    """
    mounts = []
    for socket in sockets:
        name = Path(socket).parent
        folder = socket_outside(workspace, socket).parent
        try:
            folder.mkdir(parents=True)
            # Whatever our umask is: programs run as another user.
            for made in (folder.parent, folder):
                made.chmod(0o755)
        except OSError as error:
            raise SandboxFailed(f"cannot make {folder}: {error.strerror}") from error
        give_to_programs(folder, workspace.output)
        mounts.append(Mount(folder, str(SOCKETS / name), writable=True))
    return tuple(mounts)
