"""The services of one trial: started, checked for health, exposed, read and stopped."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Coroutine, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from environments.ports import ExposedPort, Mount, SandboxProvider, Workspace
from environments.sandbox.collect import CollectedFile, collect
from environments.sandbox.identity import give_to_programs
from environments.sandbox.workspace import new_workspace
from environments.services.inside.lines import SOCKETS, STATE
from environments.services.kinds import KINDS, READY, service_state
from environments.services.program import Program, ServiceStopped, ServiceUnable
from taskdata.artifacts import ArtifactStore
from taskdata.errors import SandboxFailed, ServiceFailed
from taskdata.schema.limits import ServiceFacts
from taskdata.schema.service import FOLDER, Service, ports_of
from taskdata.schema.task import Resources

_logger = logging.getLogger(__name__)

T = TypeVar("T")

READY_SECONDS = 120.0
"""A service that is not healthy after this time has failed."""

STATE_SECONDS = 120.0

_SOCKETS = "sockets"
"""Folder beside a service's workspace folders that holds a folder for each of its sockets."""

RESOURCES = Resources(
    cpu_seconds=3600,
    memory_mb=1024,
    processes=128,
    disk_mb=1024,
    max_files=5000,
    output_kb=64,
)
"""What one service may use, and how large its final state may be."""


@dataclass(frozen=True)
class FinalState:
    """What the services held when the agent had stopped."""

    files: tuple[CollectedFile, ...]
    """Named `services/<name>/...`."""
    missing: tuple[str, ...]
    """One line for each file or service without a final state, and why."""


@dataclass(frozen=True)
class _Running:
    service: Service
    facts: ServiceFacts
    exposed_ports: tuple[ExposedPort, ...]
    workspace: Workspace
    program: Program


class RunningServices:
    """The services of a trial, all of them healthy."""

    def __init__(self, running: Sequence[_Running]) -> None:
        self._running = running
        self.exposed_ports = tuple(exposed for one in running for exposed in one.exposed_ports)
        """Ports for the sandboxes that may reach the services."""
        self.facts = tuple(one.facts for one in running)

    async def final_state(self) -> FinalState:
        """Have the services write down what they hold; called once nobody changes it any more.

        A service that was stopped because it exceeded its limits has no state. Nor has a service
        that is alive but cannot write its state: it could when it started, so its clients caused
        this.

        Raises:
            ServiceFailed: a service was lost for another reason.
        """
        states = await _all(_state(one) for one in self._running)
        return FinalState(
            tuple(file for state in states for file in state.files),
            tuple(line for state in states for line in state.missing),
        )


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


@asynccontextmanager
async def running_services(
    services: Sequence[Service], room: ServiceHost
) -> AsyncIterator[RunningServices]:
    """Yield the services once each is healthy; when the block ends, nothing of them is left.

    Raises:
        ServiceFailed: a service did not become healthy in time; the message says which and why.
        SandboxFailed: the sandbox of a service cannot be opened.
    """
    async with AsyncExitStack() as stack:
        ports = ports_of(services)
        yield RunningServices(
            await _all(
                _started(service, ports[position], _is_first(position, services), room, stack)
                for position, service in enumerate(services)
            )
        )


async def _all(work: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Return all results; after the first failure the rest is cancelled and waited for."""
    tasks = [asyncio.ensure_future(one) for one in work]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _is_first(position: int, services: Sequence[Service]) -> bool:
    """Return whether the service is the first of its kind, the one that clients use by default."""
    return services[position].kind not in {service.kind for service in services[:position]}


async def _started(
    service: Service,
    ports: Sequence[int],
    is_first: bool,
    room: ServiceHost,
    stack: AsyncExitStack,
) -> _Running:
    state = service_state(service.kind, room.provider.name)
    if state != READY:
        raise ServiceFailed(f"service {service.name!r}: {state}")
    server = KINDS[service.kind]
    began = time.monotonic()
    files = {
        file.path: await asyncio.to_thread(room.artifacts.read_bytes, file.sha256)
        for file in service.files
    }
    workspace = await asyncio.to_thread(stack.enter_context, new_workspace(room.folder, files))
    sandbox = await stack.enter_async_context(room.provider.open(workspace, RESOURCES, room.label))
    mounts = await server.mounts(sandbox, workspace, room.home)
    sockets = await asyncio.to_thread(_socket_folders, workspace, server.sockets)
    settings = server.settings(service)
    program = await Program.started(
        service.name, sandbox, server.program, settings, (*mounts, *sockets)
    )
    try:
        version = await program.answer("ready", READY_SECONDS)
    except ServiceStopped as error:
        raise ServiceFailed(f"service {service.name!r}: {error} while it started") from error
    seconds = time.monotonic() - began
    variables = server.variables(service, ports)
    exposed_ports = tuple(
        ExposedPort(port, workspace.root / _SOCKETS / socket, named if is_first else ())
        for port, socket, named in zip(ports, server.sockets, variables, strict=True)
    )
    facts = ServiceFacts(name=service.name, kind=service.kind, version=version, seconds=seconds)
    return _Running(service, facts, exposed_ports, workspace, program)


def _socket_folders(workspace: Workspace, sockets: Sequence[str]) -> tuple[Mount, ...]:
    """Make the folders of a service's sockets, which the service may fill but not replace.

    Other sandboxes see these folders, so they lie outside of what the service can change.
    """
    mounts = []
    for socket in sockets:
        name = Path(socket).parent
        folder = workspace.root / _SOCKETS / name
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


async def _state(one: _Running) -> FinalState:
    place = f"{FOLDER}/{one.service.name}"
    try:
        await one.program.ask(STATE, "done", STATE_SECONDS)
    except (ServiceStopped, ServiceUnable) as error:
        reason = f"{place}: there is no final state, for {error}"
        _logger.warning("%s", reason)
        return FinalState((), (reason,))
    finally:
        await one.program.close()
    root = one.workspace.root
    state, copies = one.workspace.output / STATE, root / "collected"
    collected = await asyncio.to_thread(collect, state, RESOURCES, copies)
    return FinalState(
        tuple(CollectedFile(f"{place}/{file.name}", file.path) for file in collected.files),
        tuple(f"{place}: {reason}" for reason in collected.rejected),
    )
