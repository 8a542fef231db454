"""A container that lives no longer than we do, its programs, and the limits they are held to."""

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from signal import SIGKILL, SIGXCPU
from typing import TYPE_CHECKING, Any

from environments.ports import ExposedPort, SandboxFacts
from environments.sandbox.docker.container import OOM_COUNT_ARGV, facts_of, own_processes
from environments.sandbox.docker.engine import ask, remove, running
from environments.sandbox.docker.group import ControlGroup, control_group
from environments.sandbox.limits import MEGABYTE, Limit, Space
from environments.sandbox.shielding import to_the_end
from environments.sandbox.watching.unnamed import unnamed_bytes
from taskdata.errors import SandboxFailed
from taskdata.schema.task import Resources

if TYPE_CHECKING:
    from docker import DockerClient
    from docker.models.containers import Container


class LiveContainer:
    """A started container; programs are `exec`s in it."""

    def __init__(
        self,
        client: "DockerClient",
        container: "Container",
        resources: Resources,
        filled: Sequence[Path],
        exposed_ports: Sequence[ExposedPort],
    ) -> None:
        self._client = client
        self._container = container
        self._resources = resources
        self._filled = filled
        self._exposed_ports = exposed_ports
        self._lifeline: Any = None
        self._group: ControlGroup | None = None
        self._cpu_seconds_before = 0.0

    @classmethod
    async def started(
        cls,
        client: "DockerClient",
        image: str,
        options: dict[str, Any],
        resources: Resources,
        filled: Sequence[Path],
        exposed_ports: Sequence[ExposedPort] = (),
    ) -> "LiveContainer":
        """Make and start a container; what fails half-way is removed.

        Args:
            client: Of the engine.
            image: Name of the image.
            options: Keyword arguments of `containers.create`.
            resources: The limits that are watched.
            filled: Host folders that its programs fill.
            exposed_ports: What they reach.
        """
        container = await ask("make a container", client.containers.create, image, **options)
        live = cls(client, container, resources, filled, exposed_ports)
        try:
            live.facts()
            # While we hold this, the first process has a standard input to wait for.
            live._lifeline = await ask(
                "attach to the container",
                client.api.attach_socket,
                str(container.id),
                params={"stdin": 1, "stream": 1},
            )
            await ask("start the container", container.start)
            await ask("inspect the container", container.reload)
            live._group = await asyncio.to_thread(control_group, container.attrs)
        except BaseException:
            await to_the_end(live.remove())
            raise
        return live

    def serve(self, output: Path, resources: Resources) -> None:
        """Hold it from now on to limits that differ only in what is watched from outside.

        Args:
            output: The host folder that its programs fill, which has a new name.
            resources: The limits.
        """
        self._filled = (output,)
        self._resources = resources

    def facts(self) -> SandboxFacts:
        """Return what the engine made of what we asked for.

        Raises:
            SandboxFailed: it left out a limit.
        """
        return facts_of(self._container.attrs, self._resources, self._exposed_ports)

    async def remove(self) -> None:
        """Remove the container with everything that runs in it."""
        try:
            await ask("remove the container", remove, self._client, str(self._container.id))
        finally:
            lifeline, self._lifeline = self._lifeline, None
            if lifeline is not None:
                lifeline.close()

    async def create_exec(self, argv: Sequence[str], *, stdin: bool = False) -> str:
        """Return the id of a program that is ready to start."""
        created = await ask(
            "run a program",
            self._client.api.exec_create,
            str(self._container.id),
            list(argv),
            stdin=stdin,
        )
        return str(created["Id"])

    async def exit_code(self, exec_id: str) -> int:
        """Return how a program ended; what a shell would take for a signal is negative."""
        state = await ask("tell how a program ended", self._client.api.exec_inspect, exec_id)
        code = state["ExitCode"]
        if code is None:
            raise SandboxFailed("the Docker container was lost while a program ran in it")
        return int(code) if code <= 128 else 128 - int(code)

    async def exceeded(self) -> Limit | None:
        """Return a limit that the running programs are above, if any; not of disk."""
        used = await ask("list the processes", running, self._container)
        if used and used.threads >= self._resources.processes + own_processes(self._exposed_ports):
            return "processes"
        # The processes that run now are not all that have used a CPU.
        cpu_seconds = self._cpu_seconds()
        if cpu_seconds is None and used:
            cpu_seconds = used.cpu_seconds
        return "cpu" if (cpu_seconds or 0) > self._resources.cpu_seconds else None

    async def watch(self, shortest: float) -> Limit:
        """Return a limit, not of disk, once it is exceeded, for however long that takes.

        Each look makes the engine start a ps: that must stay a small share of a core.
        """
        pause = shortest
        while True:
            await asyncio.sleep(pause)
            began = time.monotonic()
            limit = await self.exceeded()
            if limit is not None:
                return limit
            pause = max(shortest, 10 * (time.monotonic() - began))

    async def space(self) -> Space:
        """Return what the program that is about to start may fill; its CPU time begins now."""
        self.renew_cpu_time()
        return await asyncio.to_thread(Space, self._filled, self._resources.disk_mb * MEGABYTE)

    def renew_cpu_time(self) -> None:
        """Count CPU time from now on."""
        self._cpu_seconds_before = 0.0
        self._cpu_seconds_before = self._cpu_seconds() or 0.0

    def left(self, space: Space) -> float:
        """Return how many bytes a program may still write; looks at the disk, and blocks.

        What removed files take counts where the container's processes can be seen from here.
        """
        left = space.left()
        if self._group is None:
            return left
        device = self._filled[0].stat().st_dev
        return left - unnamed_bytes(self._group.processes(), device)

    def _cpu_seconds(self) -> float | None:
        total = self._group.cpu_seconds() if self._group else None
        return None if total is None else total - self._cpu_seconds_before

    async def exceeded_at_the_end(
        self, exit_code: int, overflowed: bool, space: Space
    ) -> Limit | None:
        """Return the limit that the engine or the kernel enforced, or that we saw too late."""
        if exit_code == -SIGXCPU:
            return "cpu"
        if exit_code == -SIGKILL and await self._ran_out_of_memory():
            return "memory"
        if overflowed:
            return "output"
        return "disk" if await asyncio.to_thread(space.exceeded) else None

    async def is_quiet(self) -> bool:
        """Return whether nothing is left of the programs that ran."""
        left = await ask("list the processes", running, self._container)
        return left is not None and left.processes == 1

    async def _ran_out_of_memory(self) -> bool:
        """Return whether the kernel killed anything in this container for want of memory."""
        exec_id = await self.create_exec(OOM_COUNT_ARGV)
        counts = await ask("read memory events", self._client.api.exec_start, exec_id)
        return b"oom_kill " in counts and b"oom_kill 0" not in counts
