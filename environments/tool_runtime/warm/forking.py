"""Runs one call in a process forked from the warm Python, and watches it until it has ended.

The host resets the CPU time limit of the sandbox for each call, so every call has the whole limit.
The output of a call is kept in memory that later calls do not inherit. This code runs inside the
sandbox.
"""

import contextlib
import ctypes
import os
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from io import BytesIO, TextIOWrapper
from typing import Literal, NoReturn

from environments.tool_runtime.warm.private import PrivateMemory
from environments.tool_runtime.warm.tidying import kill_others

_PR_SET_DUMPABLE = 4

Limit = Literal["wall", "output"]


@dataclass(frozen=True)
class Program:
    """What a forked process runs, and its limits."""

    main: Callable[[], int | None]
    stdin: bytes
    wall_seconds: float
    output_bytes: int
    """How much of standard output and of standard error is kept."""
    private: Sequence[int]
    """Descriptors that the program must not inherit."""


@dataclass(frozen=True)
class Ended:
    """How a forked program ended."""

    exit_code: int
    """Exit code; negative: the signal that killed it."""
    limit: Limit | None
    stdout: "Kept"
    stderr: "Kept"
    is_gone: bool
    """No process that the program started is left."""


class Kept:
    """One output stream, kept up to a number of bytes where later calls cannot read it."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._memory = PrivateMemory(limit_bytes + 1)

    @property
    def overflowed(self) -> bool:
        """More bytes came than may be kept."""
        return self._memory.left == 0

    def read_from(self, descriptor: int) -> int:
        """Keep what one read gives; return how much that was."""
        return self._memory.read_from(descriptor)

    def content(self) -> memoryview:
        """Return what was kept."""
        return self._memory.content(end=self._limit_bytes)

    def close(self) -> None:
        """Forget it; no view of it may be left."""
        self._memory.close()


class _Pipes:
    """Pipes for the output of the call."""

    def __init__(self, output_bytes: int) -> None:
        self.out, self.err = os.pipe(), os.pipe()
        self._open = [list(descriptors) for descriptors in zip(self.out, self.err, strict=True)]
        self.kept = {self.out[0]: Kept(output_bytes), self.err[0]: Kept(output_bytes)}

    def close(self, end: Literal[0, 1]) -> None:
        while self._open[end]:
            os.close(self._open[end].pop())


def set_visible(visible: bool) -> None:
    """Allow or forbid other processes of our user to inspect this one by /proc and ptrace."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_DUMPABLE, int(visible), 0, 0, 0)


def run_forked(program: Program) -> Ended:
    """Return how `program` ended, after killing the processes that it left behind.

    Raises:
        OSError: no process can be forked, so nothing was run.
    """
    pipes = _Pipes(program.output_bytes)
    try:
        sys.stdout.flush()
        sys.stderr.flush()
        call = os.fork()
        if call == 0:
            _call(program, pipes)
        pipes.close(1)
        limit = _watch(call, pipes, time.monotonic() + program.wall_seconds)
        is_gone = kill_others()
        code = -signal.SIGKILL
        if is_gone:
            code = os.waitstatus_to_exitcode(os.waitpid(call, 0)[1])
            limit = _drain(pipes) or limit
    finally:
        pipes.close(0)
        pipes.close(1)
    return Ended(
        exit_code=-signal.SIGKILL if limit else code,
        limit=limit,
        stdout=pipes.kept[pipes.out[0]],
        stderr=pipes.kept[pipes.err[0]],
        is_gone=is_gone,
    )


def _watch(call: int, pipes: _Pipes, deadline: float) -> Limit | None:
    """Collect output until the call has ended; return the limit that was exceeded before."""
    ended = os.pidfd_open(call)
    try:
        ready = select.poll()
        for descriptor in (ended, *pipes.kept):
            ready.register(descriptor, select.POLLIN)
        while (left := deadline - time.monotonic()) > 0:
            found = [descriptor for descriptor, _ in ready.poll(left * 1000)]
            if ended in found:
                return None
            for descriptor in found:
                if not pipes.kept[descriptor].read_from(descriptor):
                    ready.unregister(descriptor)
                if pipes.kept[descriptor].overflowed:
                    return "output"
        return "wall"
    finally:
        os.close(ended)


def _drain(pipes: _Pipes) -> Limit | None:
    """Collect the remaining output of an ended program; return the limit that it exceeded."""
    overflowed = False
    for descriptor, kept in pipes.kept.items():
        while not kept.overflowed and kept.read_from(descriptor):
            pass
        overflowed |= kept.overflowed
    return "output" if overflowed else None


def _call(program: Program, pipes: _Pipes) -> NoReturn:
    code = 1
    try:
        for descriptor in program.private:
            os.close(descriptor)
        pipes.close(0)
        os.dup2(pipes.out[1], 1)
        os.dup2(pipes.err[1], 2)
        pipes.close(1)
        # The limits are watched from outside, which needs access to this process.
        set_visible(True)
        sys.stdin = TextIOWrapper(BytesIO(program.stdin), encoding="utf-8")
        code = program.main() or 0
    except SystemExit as exc:
        code = exc.code if isinstance(exc.code, int) else 1
    except BaseException:  # noqa: BLE001 the process ends here, as a program of its own would
        traceback.print_exc()
    finally:
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code & 0xFF)
