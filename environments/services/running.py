"""The services of one trial: started, checked for health, exposed, read and stopped."""

import asyncio
import logging
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from environments.ports import ExposedPort, Mount
from environments.sandbox.collect import CollectedFile, collect
from environments.services.inside.lines import KEEP, KEPT, STATE
from environments.services.kinds import KINDS
from environments.services.program import ServiceStopped, ServiceUnable
from environments.services.server import Server
from environments.services.starting import ServiceHost, Started, all_of, started
from taskdata.artifacts import ArtifactStore
from taskdata.schema.limits import KeptState, ServiceFacts
from taskdata.schema.service import FOLDER, Service, ports_of
from taskdata.schema.task import Resources

_logger = logging.getLogger(__name__)

READY_SECONDS = 120.0
"""A service that is not healthy after this time has failed."""

STATE_SECONDS = 120.0
"""Time to write its final state down, and again to keep it."""

RESOURCES = Resources(
    cpu_seconds=3600,
    memory_mb=1024,
    processes=128,
    disk_mb=1024,
    max_files=5000,
    output_kb=64,
)
"""What one service may use, and how large its final state may be."""


_stored_bases: dict[tuple[str, str, int, int], str] = {}
"""Hashes of files that do not change: the trials of a pool share one large base."""

NO_STATE = "there is no final state"
"""Is told of a service that wrote none down because of how it had been used."""

NOT_KEPT = "it cannot be started again"
"""Is told of a service that was not kept because of how it had been used."""


@dataclass(frozen=True)
class FinalState:
    """What the services held when the agent had stopped."""

    files: tuple[CollectedFile, ...]
    """Named `services/<name>/...`."""
    missing: tuple[str, ...]
    """One line for each file or service without a final state, and why."""
    kept: Mapping[str, KeptState] = field(default_factory=dict)
    """What services can be started again from, by name."""


@dataclass(frozen=True)
class _Running:
    service: Service
    facts: ServiceFacts
    exposed_ports: tuple[ExposedPort, ...]
    started: Started
    keeping: "_Keeping | None"


@dataclass(frozen=True)
class _Keeping:
    """How a service is kept."""

    room: ServiceHost
    base_sha256: str | None


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
            NightshiftError: what is to be kept cannot be stored.
        """
        states = await all_of(_state(one) for one in self._running)
        kept = {name: found for state in states for name, found in state.kept.items()}
        self.facts = tuple(
            facts.model_copy(update={"kept": kept.get(facts.name)}) for facts in self.facts
        )
        return FinalState(
            tuple(file for state in states for file in state.files),
            tuple(line for state in states for line in state.missing),
            kept,
        )


@asynccontextmanager
async def running_services(
    services: Sequence[Service], room: ServiceHost, keep: Collection[str] = ()
) -> AsyncIterator[RunningServices]:
    """Yield the services once each is healthy; when the block ends, nothing of them is left.

    Args:
        services: The services.
        room: What it takes to run them.
        keep: Names of those that shall be started again from their final state.

    Raises:
        ServiceFailed: a service did not become healthy in time; the message says which and why.
        SandboxFailed: the sandbox of a service cannot be opened.
    """
    async with AsyncExitStack() as stack:
        ports = ports_of(services)
        yield RunningServices(
            await all_of(
                _started(
                    service,
                    ports[position],
                    _is_first(position, services),
                    room,
                    stack,
                    service.name in keep,
                )
                for position, service in enumerate(services)
            )
        )


def _is_first(position: int, services: Sequence[Service]) -> bool:
    """Return whether the service is the first of its kind, the one that clients use by default."""
    return services[position].kind not in {service.kind for service in services[:position]}


async def _started(
    service: Service,
    ports: Sequence[int],
    is_first: bool,
    room: ServiceHost,
    stack: AsyncExitStack,
    is_kept: bool,
) -> _Running:
    server: Server[Any] = KINDS[service.kind]
    one = await started(service, room, stack, server.settings(service), RESOURCES, READY_SECONDS)
    variables = server.variables(service, ports)
    exposed_ports = one.exposed(ports, variables if is_first else ((),) * len(ports))
    keeping = await _keeping(server, one.mounts, room) if is_kept else None
    return _Running(service, one.facts, exposed_ports, one, keeping)


async def _keeping(server: Server[Any], mounts: Sequence[Mount], room: ServiceHost) -> _Keeping:
    base = server.base(mounts)
    if base is None:
        return _Keeping(room, None)
    # Now, because later the file may be another one.
    return _Keeping(room, await asyncio.to_thread(_stored, base, room.artifacts))


def _stored(base: Path, artifacts: ArtifactStore) -> str:
    """Return the hash of a base that is in the store; blocks."""
    status = base.stat()
    key = (artifacts.url, str(base), status.st_ino, status.st_mtime_ns)
    if key not in _stored_bases or not artifacts.renew(_stored_bases[key]):
        _stored_bases[key] = artifacts.put_file(base)
    return _stored_bases[key]


async def _state(one: _Running) -> FinalState:
    place, program = f"{FOLDER}/{one.service.name}", one.started.program
    try:
        try:
            await program.ask(STATE, "done", STATE_SECONDS)
        except (ServiceStopped, ServiceUnable) as error:
            reason = f"{place}: {NO_STATE}, for {error}"
            _logger.warning("%s", reason)
            return FinalState((), (reason,))
        workspace = one.started.workspace
        collected = await asyncio.to_thread(
            collect, workspace.output / STATE, RESOURCES, workspace.root / "collected"
        )
        files = tuple(CollectedFile(f"{place}/{f.name}", f.path) for f in collected.files)
        missing = tuple(f"{place}: {reason}" for reason in collected.rejected)
        if one.keeping is None:
            return FinalState(files, missing)
        try:
            kept = await _kept(one, one.keeping)
        except (ServiceStopped, ServiceUnable) as error:
            reason = f"{place}: {NOT_KEPT}, for {error}"
            _logger.warning("%s", reason)
            return FinalState(files, (*missing, reason))
        return FinalState(files, missing, {one.service.name: kept})
    finally:
        await program.close()


async def _kept(one: _Running, keeping: _Keeping) -> KeptState:
    """Return the packed final state, which is in the store; the service has ended by then.

    Raises:
        ServiceFailed: the service was lost.
        ServiceUnable: the service cannot pack it, or it is too large.
        ServiceStopped: the service was stopped at a limit.
    """
    await one.started.program.ask(KEEP, KEPT, STATE_SECONDS)
    workspace = one.started.workspace
    collected = await asyncio.to_thread(
        collect, workspace.output / KEPT, RESOURCES, workspace.root / KEPT
    )
    if not collected.files:
        raise ServiceUnable(f"it left nothing: {'; '.join(collected.rejected)}")
    path = collected.files[0].path
    sha256 = await asyncio.to_thread(keeping.room.artifacts.put_file, path)
    size = path.stat().st_size
    return KeptState(sha256=sha256, size_bytes=size, base_sha256=keeping.base_sha256)
