"""The Docker provider and its sandbox: one container per opened sandbox, one `exec` per program."""

import asyncio
import contextlib
import functools
import logging
import signal
import tempfile
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from environments.ports import (
    Completed,
    ExposedPort,
    Mount,
    Process,
    Sandbox,
    SandboxFacts,
    Workspace,
)
from environments.reaper.owner import this_process, working_folder
from environments.reaper.removal import remove_tree
from environments.sandbox.docker.container import (
    PYTHON,
    bound,
    container_options,
    exec_argv,
    talking_argv,
)
from environments.sandbox.docker.engine import (
    ExecStream,
    ask,
    connect,
    engine_errors,
    first_line,
    image_variables,
)
from environments.sandbox.docker.host_python import host_python_argv
from environments.sandbox.docker.leftovers import labels_of
from environments.sandbox.docker.live import LiveContainer
from environments.sandbox.docker.places import Place, foreign_mounts, places_apart
from environments.sandbox.docker.pool import Pool, Prepared, prepared_container
from environments.sandbox.docker.process import DockerProcess, start_process
from environments.sandbox.exposed.inside import check_exposed_ports
from environments.sandbox.identity import owner_of_output
from environments.sandbox.limits import Limit, Space, filled_folders, library_folders
from environments.sandbox.shielding import to_the_end
from environments.sandbox.watching.looking import first_limit, watch_space
from taskdata.errors import SandboxFailed
from taskdata.schema.task import Resources

if TYPE_CHECKING:
    from docker import DockerClient

IMAGE = "nightshift-sandbox:latest"

_logger = logging.getLogger(__name__)

_SECONDS_BETWEEN_GLANCES = 0.05
_SECONDS_BETWEEN_LOOKS = 0.2
_STDIN_FILE = "stdin"


class Docker:
    """Makes sandboxes with a Docker engine on this host."""

    name = "docker"

    def __init__(self, image: str = IMAGE, places: Sequence[Place] | None = None) -> None:
        """Make a provider of sandboxes with the given image.

        Args:
            image: Name of an image that the engine has.
            places: Second paths under which programs of a task's own image see folders of the
                workspace; such an image gets this process's Python for tools. None: it is one of
                Nightshift's images, whose own Python has the tools' libraries.
        """
        self._image = image
        self._places = places
        self._pool: Pool | None = None

    def unavailable(self) -> str | None:
        """Return None if the engine answers and has the image, else why not and what to do."""
        from docker.errors import ImageNotFound

        try:
            with contextlib.closing(connect()) as client:
                client.images.get(self._image)
        except ImageNotFound:
            way_out = "run `make image`" if self._image == IMAGE else "build it, or pull it"
            return f"the Docker engine has no image {self._image}: {way_out}"
        except engine_errors() as error:
            return f"no Docker engine answers ({first_line(error)}): start it, or use bubblewrap"
        return None

    @asynccontextmanager
    async def open(
        self,
        workspace: Workspace,
        resources: Resources,
        label: str = "",
        exposed_ports: Sequence[ExposedPort] = (),
    ) -> AsyncIterator[Sandbox]:
        """Yield a sandbox in a started container, which is removed however the block ends.

        With exposed ports the container is always a new one, never one from the pool: the mounts
        of a container are fixed when it is made.

        Args:
            workspace: Its input and output are mounted.
            resources: The limits.
            label: Value of the container's label `nightshift`: the id of the run it is for.
            exposed_ports: The ports that its programs can reach.

        Raises:
            Misuse: a sandbox cannot have these exposed ports.
            SandboxFailed: the engine cannot start the container, or the folder of an exposed port
                cannot be mounted.
        """
        check_exposed_ports(exposed_ports)
        pool = self._pool
        with this_process() as process:
            labels = labels_of(process, label)
            async with nullcontext(pool.client) if pool else _connected() as client:
                prepared = await pool.take(resources, fresh=bool(exposed_ports)) if pool else None
                sandbox = DockerSandbox(
                    client,
                    self._image,
                    workspace,
                    resources,
                    labels,
                    prepared,
                    exposed_ports,
                    self._places,
                )
                try:
                    await to_the_end(sandbox.set_up())
                    yield sandbox
                finally:
                    await to_the_end(sandbox.close())

    @asynccontextmanager
    async def pooled(self, label: str, at_once: int, expected: int) -> AsyncIterator[None]:
        """Within the block, start containers before trials ask for them; see `Pool`."""
        async with AsyncExitStack() as stack:
            try:
                process = stack.enter_context(this_process())
                folder = stack.enter_context(working_folder())
                client = await stack.enter_async_context(_connected())
                labels = labels_of(process, label)
            except SandboxFailed as error:
                # The first sandbox that is opened will fail and report the error.
                _logger.info("no containers are prepared: %s", error)
                yield
                return
            make = functools.partial(prepared_container, client, self._image, labels, folder)
            self._pool = pool = Pool(client, make, at_once, expected)
            try:
                yield
            finally:
                self._pool = None
                await to_the_end(pool.close())


@asynccontextmanager
async def _connected() -> "AsyncIterator[DockerClient]":
    client = await ask("be reached", connect)
    try:
        yield client
    finally:
        client.close()


class DockerSandbox:
    """A container over a workspace; it is replaced by a new one whenever a program was killed.

    Programs run one after another, because the end of each kills every process inside. A background
    program gets a container of its own.
    """

    def __init__(
        self,
        client: "DockerClient",
        image: str,
        workspace: Workspace,
        resources: Resources,
        labels: Mapping[str, str],
        prepared: Prepared | None,
        exposed_ports: Sequence[ExposedPort],
        places: Sequence[Place] | None = None,
    ) -> None:
        self._client = client
        self._image = image
        self._workspace = workspace
        self._resources = resources
        self._prepared = prepared
        self._container: LiveContainer | None = None
        self._facts: SandboxFacts | None = None
        if prepared is not None:
            self._container = prepared.container
            self._stdin_folder, owner = prepared.stdin_folder, prepared.owner
        else:
            self._stdin_folder = Path(tempfile.mkdtemp(prefix="stdin-", dir=workspace.root))
            owner = owner_of_output(workspace.output)
        stdin_folder = str(self._stdin_folder)
        self._exposed_ports = exposed_ports
        self._places = places
        more = () if places is None else foreign_mounts(places, workspace)
        self._options = container_options(
            workspace, stdin_folder, resources, owner, exposed_ports, more
        )
        self._options["labels"] = dict(labels)
        self._variables: dict[str, str] = {}
        self._turn = asyncio.Lock()
        self._started: list[DockerProcess] = []

    def python(self) -> Sequence[str]:
        """Return the argv prefix of the image's Python, or of ours where the image is not ours."""
        return (PYTHON,) if self._places is None else host_python_argv()

    async def run(
        self, argv: Sequence[str], *, stdin: bytes = b"", wall_seconds: float | None = None
    ) -> Completed:
        """Run `argv` and return how it ended; none of its processes outlives the call.

        `wall_seconds` can shorten the wall time of the resources, not lengthen it; waiting for
        another program of this sandbox does not count. An exit code above 128 is read as a signal,
        as shells do.

        Raises:
            SandboxFailed: the container or the engine was lost.
        """
        allowed = self._resources.wall_seconds
        wall = allowed if wall_seconds is None else min(wall_seconds, allowed)
        async with self._turn:
            try:
                container = await to_the_end(self.ready())
                self._write_stdin(stdin)
                return await self._exec(container, argv, wall)
            except BaseException:
                await to_the_end(self._discard())
                raise

    async def start(
        self,
        argv: Sequence[str],
        *,
        mounts: Sequence[Mount] = (),
        reserves_memory: bool = False,
    ) -> Process:
        """Start `argv` in a container of its own and return it; it may always reserve memory there.

        Raises:
            SandboxFailed: the engine cannot start the container or talk to the program.
        """
        return await to_the_end(self._start(argv, mounts))

    def facts(self) -> SandboxFacts:
        """Return the limits that the engine reports to be in force.

        Raises:
            SandboxFailed: no container was ever made.
        """
        if self._facts is None:
            raise SandboxFailed("the Docker sandbox has no container yet")
        return self._facts

    async def set_up(self) -> None:
        """Prepare the container: a pooled one if there is one, else a new one."""
        if self._prepared is not None:
            await asyncio.to_thread(self._prepared.become, self._workspace, self._resources)
        if self._places is not None:
            self._variables = await ask(
                "read the image", image_variables, self._client, self._image
            )
        self._facts = (await self.ready()).facts()

    async def ready(self) -> LiveContainer:
        """Return the container for programs that are waited for; it is made now if missing."""
        if self._container is None:
            self._container = await self._new_container(self._options)
        return self._container

    async def close(self) -> None:
        """Remove the containers."""
        ours = self._prepared.folders.root if self._prepared else self._stdin_folder
        try:
            closing = (process.close() for process in self._started)
            await asyncio.gather(*closing, self._discard())
        finally:
            await asyncio.to_thread(remove_tree, ours)

    async def _start(self, argv: Sequence[str], mounts: Sequence[Mount]) -> Process:
        options = self._options | {"mounts": [*self._options["mounts"], *bound(mounts)]}
        container = await self._new_container(options, mounts)
        output_bytes = self._resources.output_kb * 1024
        try:
            process = await start_process(
                self._client,
                container,
                talking_argv(argv, self._exposed_ports, self._variables),
                output_bytes,
            )
        except BaseException:
            await container.remove()
            raise
        self._started.append(process)
        return process

    async def _new_container(
        self, options: dict[str, Any], mounts: Sequence[Mount] = ()
    ) -> LiveContainer:
        apart = places_apart(self._places or (), self._workspace)
        return await LiveContainer.started(
            self._client,
            self._image,
            options,
            self._resources,
            filled_folders(self._workspace, (*apart, *mounts)),
            self._exposed_ports,
            library_folders(mounts),
        )

    async def _discard(self) -> None:
        container, self._container = self._container, None
        if container is not None:
            await container.remove()

    def _write_stdin(self, stdin: bytes) -> None:
        file = self._stdin_folder / _STDIN_FILE
        try:
            self._stdin_folder.chmod(0o755)
            file.write_bytes(stdin)
            file.chmod(0o644)
        except OSError as error:
            raise SandboxFailed(f"cannot write {file}: {error.strerror}") from error

    async def _exec(self, container: LiveContainer, argv: Sequence[str], wall: float) -> Completed:
        space = await container.space()
        exec_id = await container.create_exec(
            exec_argv(_STDIN_FILE, argv, self._exposed_ports, self._variables)
        )
        began = time.monotonic()
        stream = ExecStream(self._client, exec_id, self._resources.output_kb * 1024)
        limit = await self._watch(container, stream, space, began + wall)
        seconds = time.monotonic() - began
        exit_code = -signal.SIGKILL if limit else await container.exit_code(exec_id)
        overflowed = stream.stdout.overflowed or stream.stderr.overflowed
        limit = limit or await container.exceeded_at_the_end(exit_code, overflowed, space)
        # The container can be used again if nothing was killed and no process is left.
        if limit or exit_code < 0 or not await container.is_quiet():
            await to_the_end(self._discard())
        return Completed(
            exit_code, stream.stdout.content(), stream.stderr.content(), seconds, limit
        )

    async def _watch(
        self, container: LiveContainer, stream: ExecStream, space: Space, deadline: float
    ) -> Limit | None:
        """Return the limit that was exceeded first, None when the program ended before."""
        return await first_limit(
            _ended(stream, deadline),
            container.watch(_SECONDS_BETWEEN_LOOKS),
            watch_space(lambda: container.left(space), _SECONDS_BETWEEN_GLANCES),
        )


async def _ended(stream: ExecStream, deadline: float) -> Limit | None:
    """Return None when the program has ended, or its output or time limit if it exceeded one."""
    while not await stream.ended(
        min(_SECONDS_BETWEEN_GLANCES, max(0.0, deadline - time.monotonic()))
    ):
        if stream.stdout.overflowed or stream.stderr.overflowed:
            return "output"
        if time.monotonic() >= deadline:
            return "wall"
    return None
