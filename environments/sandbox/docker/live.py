"""A container that lives no longer than this process, its programs, and their limits."""

import asyncio
import time
from collections.abc import Collection, Sequence
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
        libraries: Collection[Path] = (),
    ) -> None:
        self._client = client
        self._container = container
        self._resources = resources
        self._filled = filled
        self._libraries = libraries
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
        libraries: Collection[Path] = (),
    ) -> "LiveContainer":
        """Make and start a container; remove it if its start fails.

        Args:
            client: Client of the engine.
            image: Name of the image.
            options: Keyword arguments of `containers.create`.
            resources: The limits that are watched.
            filled: Host folders that the container's programs write to.
            exposed_ports: The ports that the programs can reach.
            libraries: The folders among `filled` into which libraries are installed.
        """
        container = await ask("make a container", client.containers.create, image, **options)
        live = cls(client, container, resources, filled, exposed_ports, libraries)
        try:
            live.facts()
            # While we hold this connection, the first process has a standard input to wait for.
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
        """Use other limits from now on; only those watched from outside may differ.

        Args:
            output: The host folder that programs write to, under its new name.
            resources: The limits.
        """
        self._filled = (output,)
        self._resources = resources

    def facts(self) -> SandboxFacts:
        """Return the limits that the engine has put in force.

        Raises:
            SandboxFailed: the engine left out a limit.
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
        """Return the id of a prepared `exec` that can be started."""
        created = await ask(
            "run a program",
            self._client.api.exec_create,
            str(self._container.id),
            list(argv),
            stdin=stdin,
        )
        return str(created["Id"])

    async def exit_code(self, exec_id: str) -> int:
        """Return the program's exit code; a code that shells use for a signal becomes negative."""
        state = await ask("tell how a program ended", self._client.api.exec_inspect, exec_id)
        code = state["ExitCode"]
        if code is None:
            raise SandboxFailed("the Docker container was lost while a program ran in it")
        return int(code) if code <= 128 else 128 - int(code)

    async def exceeded(self) -> Limit | None:
        """Return a limit that the running programs exceed, if any; disk is not checked."""
        used = await ask("list the processes", running, self._container)
        if used and used.threads >= self._resources.processes + own_processes(self._exposed_ports):
            return "processes"
        # The processes that run now are not all that have used CPU time.
        cpu_seconds = self._cpu_seconds()
        if cpu_seconds is None and used:
            cpu_seconds = used.cpu_seconds
        return "cpu" if (cpu_seconds or 0) > self._resources.cpu_seconds else None

    async def watch(self, shortest: float) -> Limit:
        """Return the limit, other than disk, that is exceeded first; waits until one is.

        Each look makes the engine start a `ps`, which must stay a small share of a core.
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
        """Return what the next program may write to disk; its CPU time counts from now."""
        self.renew_cpu_time()
        limit_bytes = self._resources.disk_mb * MEGABYTE
        return await asyncio.to_thread(Space, self._filled, limit_bytes, self._libraries)

    def renew_cpu_time(self) -> None:
        """Count CPU time from now on."""
        self._cpu_seconds_before = 0.0
        self._cpu_seconds_before = self._cpu_seconds() or 0.0

    def left(self, space: Space) -> float:
        """Return how many bytes a program may still write; looks at the disk, and blocks.

        Removed files that are still open count where this host can see the container's processes.
        """
        left = space.left()
        if self._group is None:
            return left
        device = self._filled[0].stat().st_dev
        return left - unnamed_bytes(self._group.processes, device)

    def _cpu_seconds(self) -> float | None:
        total = self._group.cpu_seconds() if self._group else None
        return None if total is None else total - self._cpu_seconds_before

    async def exceeded_at_the_end(
        self, exit_code: int, overflowed: bool, space: Space
    ) -> Limit | None:
        """Return the limit that the engine or kernel enforced, or that we noticed after the end."""
        if exit_code == -SIGXCPU:
            return "cpu"
        if exit_code == -SIGKILL and await self._ran_out_of_memory():
            return "memory"
        if overflowed:
            return "output"
        return "disk" if await asyncio.to_thread(space.exceeded) else None

    async def is_quiet(self) -> bool:
        """Return whether no process is left of the programs that ran."""
        left = await ask("list the processes", running, self._container)
        return left is not None and left.processes == 1

    async def _ran_out_of_memory(self) -> bool:
        """Return whether the kernel killed a process in this container for lack of memory."""
        exec_id = await self.create_exec(OOM_COUNT_ARGV)
        counts = await ask("read memory events", self._client.api.exec_start, exec_id)
        return b"oom_kill " in counts and b"oom_kill 0" not in counts
