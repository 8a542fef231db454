"""Services of a task for the programs that score a trial, each in its final state.

They are started once for all programs of a trial, in sandboxes of their own, from what was kept of
the trial, which stays as it is. Each program finds that state, whatever another one has changed.
"""

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

from environments.ports import ExposedPort, Mount, Sandbox, Workspace
from environments.services.inside.lines import ALIVE, RENEW
from environments.services.kinds import KINDS
from environments.services.running import READY_SECONDS, RESOURCES, STATE_SECONDS
from environments.services.server import ScriptSettings, Server
from environments.services.starting import ServiceHost, Started, all_of, started
from taskdata.errors import SandboxFailed
from taskdata.schema.limits import KeptState
from taskdata.schema.service import Service, ports_of

_FOLDER = "services"
_ANSWER_SECONDS = 30.0
_ROOM = RESOURCES.model_copy(update={"disk_mb": 3 * RESOURCES.disk_mb})
"""What the trial left is there twice, and beside it what a program adds."""


class LiveServices:
    """Services that the programs of one trial use one after the other."""

    def __init__(
        self,
        services: Sequence[Service],
        running: Mapping[str, Started],
        given: Mapping[str, ScriptSettings],
    ) -> None:
        self._services = services
        self._running = running
        self._given = given

    async def renewed(self, names: Collection[str]) -> tuple[ExposedPort, ...]:
        """Return the ports of these services for the next program, all in their final state.

        The variables tell about the first service of each kind; the ports of the others are the
        next ones.

        Raises:
            ServiceFailed: a service was lost, or cannot be brought back to its state.
            ServiceStopped: a service was stopped at its limits.
        """
        await all_of(
            self._running[name].program.ask(RENEW, "done", STATE_SECONDS) for name in names
        )
        exposed: list[ExposedPort] = []
        kinds: set[str] = set()
        for service, ports in zip(self._services, ports_of(self._services), strict=True):
            if service.name not in names:
                continue
            variables = self._given[service.name].variables
            told = variables if service.kind not in kinds else ((),) * len(ports)
            kinds.add(service.kind)
            exposed += self._running[service.name].exposed(ports, told)
        return tuple(exposed)

    async def require_alive(self, names: Collection[str]) -> None:
        """Check that the services still answer.

        Raises:
            ServiceFailed: one does not, and not because of how it was used.
            ServiceStopped: one was stopped at its limits.
        """
        await all_of(self._running[n].program.ask(ALIVE, ALIVE, _ANSWER_SECONDS) for n in names)


@asynccontextmanager
async def live_services(
    services: Sequence[Service],
    names: Collection[str],
    kept: Mapping[str, KeptState] | None,
    seconds: int,
    room: ServiceHost,
) -> AsyncIterator[LiveServices]:
    """Yield the named services once they are healthy; afterwards nothing of them is left.

    Args:
        services: All services of the task.
        names: Those that are started.
        kept: What each was kept as, by name; None: they start from the task's files.
        seconds: How long a program may use the CPU, and so wait for an answer.
        room: What it takes to run them.

    Raises:
        ServiceFailed: a service did not become healthy; the message says which and why.
        SandboxFailed: the sandbox of a service cannot be opened.
        NightshiftError: the store has no longer what was kept.
    """
    ports = dict(zip((s.name for s in services), ports_of(services), strict=True))
    wanted = [service for service in services if service.name in names]
    given = {
        service.name: _server(service).for_scripts(
            service, ports[service.name], seconds, is_kept=kept is not None
        )
        for service in wanted
    }
    async with AsyncExitStack() as stack:
        running = await all_of(
            started(
                service,
                room,
                stack,
                given[service.name].settings,
                _ROOM,
                READY_SECONDS,
                None if kept is None else partial(_mounts, service, kept[service.name], room),
            )
            for service in wanted
        )
        by_name = {service.name: one for service, one in zip(wanted, running, strict=True)}
        yield LiveServices(services, by_name, given)


def _server(service: Service) -> Server[Any]:
    return KINDS[service.kind]


async def _mounts(
    service: Service, kept: KeptState, room: ServiceHost, _: Sandbox, workspace: Workspace
) -> Sequence[Mount]:
    state = workspace.root / "kept"
    await asyncio.to_thread(room.artifacts.copy_to, kept.sha256, state)
    base = None
    if kept.base_sha256 is not None:
        base = await asyncio.to_thread(_base, kept.base_sha256, room)
    return _server(service).kept_mounts(state, base)


def _base(sha256: str, room: ServiceHost) -> Path:
    """Return a local copy of the base, which many trials share."""
    path = room.home.resolve() / _FOLDER / f"base-{sha256}.tar"
    if path.is_file():
        return path
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=path.parent)
        os.close(descriptor)
        try:
            room.artifacts.copy_to(sha256, Path(name))
            os.chmod(name, 0o644)
            os.replace(name, path)
        except BaseException:
            os.unlink(name)
            raise
    except OSError as error:
        raise SandboxFailed(f"cannot copy a cluster to {path.parent}: {error.strerror}") from error
    return path
