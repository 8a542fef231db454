"""The Docker provider and its sandbox: one container per opened sandbox, one `exec` per program."""

import asyncio
import contextlib
import shutil
import signal
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from environments.ports import Completed, Sandbox, Workspace
from environments.sandbox.docker.container import (
    OOM_COUNT_ARGV,
    OWN_PROCESSES,
    container_options,
    exec_argv,
)
from environments.sandbox.docker.engine import (
    ExecStream,
    ask,
    connect,
    engine_errors,
    first_line,
    remove,
    running,
)
from environments.sandbox.identity import owner_of_output
from environments.sandbox.limits import MEGABYTE, Limit, exceeds_disk
from environments.sandbox.shielding import to_the_end
from taskdata.errors import SandboxFailed
from taskdata.schema.task import Resources

if TYPE_CHECKING:
    from docker import DockerClient
    from docker.models.containers import Container

IMAGE = "nightshift-sandbox:latest"

_SECONDS_BETWEEN_LOOKS = 0.2
_STDIN_FILE = "stdin"


class Docker:
    """Makes sandboxes with a Docker engine on this host."""

    name = "docker"

    def __init__(self, image: str = IMAGE) -> None:
        self._image = image

    def unavailable(self) -> str | None:
        """Return None if the engine answers and has the image, else why not and what to do."""
        from docker.errors import ImageNotFound

        try:
            with contextlib.closing(connect()) as client:
                client.images.get(self._image)
        except ImageNotFound:
            return f"the Docker engine has no image {self._image}: run `make image`"
        except engine_errors() as error:
            return f"no Docker engine answers ({first_line(error)}): start it, or use bubblewrap"
        return None

    @asynccontextmanager
    async def open(
        self, workspace: Workspace, resources: Resources, label: str = ""
    ) -> AsyncIterator[Sandbox]:
        """Yield a sandbox in a started container, which is removed however the block ends.

        Args:
            workspace: Its input and output are mounted.
            resources: The limits.
            label: Value of the container's label `nightshift`, to find it by.

        Raises:
            SandboxFailed: the engine cannot start the container.
        """
        owner = owner_of_output(workspace.output)
        client = await ask("be reached", connect)
        sandbox = DockerSandbox(client, self._image, workspace, resources, owner, label)
        try:
            await to_the_end(sandbox.start())
            yield sandbox
        finally:
            await to_the_end(sandbox.close())


class DockerSandbox:
    """A container over a workspace; a new one takes its place when something had to be killed.

    Programs run one after another, because each ends with the death of every process inside.
    """

    def __init__(
        self,
        client: "DockerClient",
        image: str,
        workspace: Workspace,
        resources: Resources,
        owner: tuple[int, int],
        label: str,
    ) -> None:
        self._client = client
        self._image = image
        self._workspace = workspace
        self._resources = resources
        self._stdin_folder = Path(tempfile.mkdtemp(prefix="stdin-", dir=workspace.root))
        self._options = container_options(workspace, str(self._stdin_folder), resources, owner)
        self._options["labels"] = {"nightshift": label or "sandbox"}
        self._container: Container | None = None
        self._lifeline: Any = None
        self._turn = asyncio.Lock()

    def python(self) -> Sequence[str]:
        """Return the argv prefix of the image's Python."""
        return ("python3",)

    async def run(
        self, argv: Sequence[str], *, stdin: bytes = b"", wall_seconds: float | None = None
    ) -> Completed:
        """Run `argv` and return how it ended; none of its processes outlives the call.

        `wall_seconds` can shorten the wall time of the resources, not lengthen it; waiting for
        another program of this sandbox does not count. An exit code above 128 is taken for a
        signal, as a shell does.

        Raises:
            SandboxFailed: the container or the engine was lost.
        """
        allowed = self._resources.wall_seconds
        wall = allowed if wall_seconds is None else min(wall_seconds, allowed)
        async with self._turn:
            try:
                container = await to_the_end(self.start())
                self._write_stdin(stdin)
                return await self._exec(container, argv, wall)
            except BaseException:
                await to_the_end(self._discard())
                raise

    async def start(self) -> "Container":
        """Return the running container, made now if there is none."""
        if self._container is None:
            container = await ask(
                "make a container", self._client.containers.create, self._image, **self._options
            )
            self._container = container
            # While we hold this, the container's first process has a standard input to wait for.
            self._lifeline = await ask(
                "attach to the container",
                self._client.api.attach_socket,
                str(container.id),
                params={"stdin": 1, "stream": 1},
            )
            await ask("start the container", container.start)
        return self._container

    async def close(self) -> None:
        """Remove the container and let go of the engine."""
        try:
            await self._discard()
        finally:
            self._client.close()
            shutil.rmtree(self._stdin_folder, ignore_errors=True)

    async def _discard(self) -> None:
        """Remove the container with everything that runs in it."""
        container, self._container = self._container, None
        if container is None:
            return
        try:
            await ask("remove the container", remove, container)
        finally:
            lifeline, self._lifeline = self._lifeline, None
            if lifeline is not None:
                lifeline.close()

    def _write_stdin(self, stdin: bytes) -> None:
        file = self._stdin_folder / _STDIN_FILE
        try:
            self._stdin_folder.chmod(0o755)
            file.write_bytes(stdin)
            file.chmod(0o644)
        except OSError as error:
            raise SandboxFailed(f"cannot write {file}: {error.strerror}") from error

    async def _exec(self, container: "Container", argv: Sequence[str], wall: float) -> Completed:
        exec_id = await self._create_exec(container, exec_argv(_STDIN_FILE, argv))
        began = time.monotonic()
        stream = ExecStream(self._client, exec_id, self._resources.output_kb * 1024)
        limit = await self._watch(container, stream, began + wall)
        seconds = time.monotonic() - began
        exit_code = -signal.SIGKILL if limit else await self._exit_code(exec_id)
        limit = limit or await self._exceeded_at_the_end(container, stream, exit_code)
        if limit or not await self._is_quiet(container, exit_code):
            await to_the_end(self._discard())
        return Completed(
            exit_code, stream.stdout.content(), stream.stderr.content(), seconds, limit
        )

    async def _watch(
        self, container: "Container", stream: ExecStream, deadline: float
    ) -> Limit | None:
        """Return the limit that was exceeded first, None when the program ended before."""
        pause = _SECONDS_BETWEEN_LOOKS
        while not await stream.ended(min(pause, max(0.0, deadline - time.monotonic()))):
            looked = time.monotonic()
            if stream.stdout.overflowed or stream.stderr.overflowed:
                return "output"
            if looked >= deadline:
                return "wall"
            limit = await self._exceeded(container)
            if limit is not None:
                return limit
            # Each look makes the engine start a ps: that must stay a small share of a core.
            pause = max(_SECONDS_BETWEEN_LOOKS, 10 * (time.monotonic() - looked))
        return None

    async def _exceeded(self, container: "Container") -> Limit | None:
        used = await ask("list the processes", running, container)
        if used and used.threads >= self._resources.processes + OWN_PROCESSES:
            return "processes"
        if used and used.cpu_seconds > self._resources.cpu_seconds:
            return "cpu"
        return "disk" if await asyncio.to_thread(self._disk_is_full) else None

    async def _exceeded_at_the_end(
        self, container: "Container", stream: ExecStream, exit_code: int
    ) -> Limit | None:
        """Return the limit that the engine or the kernel enforced, or that we saw too late."""
        if exit_code == -signal.SIGXCPU:
            return "cpu"
        if exit_code == -signal.SIGKILL and await self._ran_out_of_memory(container):
            return "memory"
        if stream.stdout.overflowed or stream.stderr.overflowed:
            return "output"
        return "disk" if self._disk_is_full() else None

    async def _ran_out_of_memory(self, container: "Container") -> bool:
        """Return whether the kernel killed anything in this container for want of memory."""
        exec_id = await self._create_exec(container, OOM_COUNT_ARGV)
        counts = await ask("read memory events", self._client.api.exec_start, exec_id)
        return b"oom_kill " in counts and b"oom_kill 0" not in counts

    async def _is_quiet(self, container: "Container", exit_code: int) -> bool:
        """Return whether the container can be used again: nothing killed, nothing left."""
        if exit_code < 0:
            return False
        left = await ask("list the processes", running, container)
        return left is not None and left.processes == 1

    async def _create_exec(self, container: "Container", argv: Sequence[str]) -> str:
        created = await ask(
            "run a program", self._client.api.exec_create, str(container.id), list(argv)
        )
        return str(created["Id"])

    async def _exit_code(self, exec_id: str) -> int:
        state = await ask("tell how a program ended", self._client.api.exec_inspect, exec_id)
        code = state["ExitCode"]
        if code is None:
            raise SandboxFailed("the Docker container was lost while a program ran in it")
        return int(code) if code <= 128 else 128 - int(code)

    def _disk_is_full(self) -> bool:
        return exceeds_disk(self._workspace.output, self._resources.disk_mb * MEGABYTE)
