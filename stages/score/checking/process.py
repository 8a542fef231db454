"""A process that runs checks, seen from the scoring process: requests, replies, killing it."""

import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import stages
from stages.score.checking.exchange import CheckReply, CheckRequest
from taskdata.errors import ChecksFailed

PROGRAM: tuple[str, ...] = (sys.executable, "-P", "-m", "stages.score.checking.worker")

_CHUNK_BYTES = 1 << 16


class ProcessEnded(Exception):
    """The process is gone; the code is its exit code, negative for a signal."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class CheckProcess:
    """One process; its methods block, except `kill`, which may come from another thread."""

    def __init__(self, command: tuple[str, ...]) -> None:
        # Its environment has no key of a provider, whatever a check can be made to do. The process
        # ends with its standard input, so also when this process is killed.
        environment = {"PATH": os.defpath, "PYTHONPATH": str(Path(stages.__file__).parents[1])}
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=environment,
                bufsize=0,
                # An interrupt in the terminal reaches the scoring process only.
                process_group=0,
            )
        except OSError as exc:
            raise ChecksFailed(f"cannot start the process that runs checks: {exc}") from exc
        self.pid = self._process.pid

    def replies(self, request: CheckRequest, wall_seconds: float) -> Iterator[CheckReply]:
        """Yield a reply to each check of the request, in order.

        Raises:
            ProcessEnded: the process ended before it has replied.
            ChecksFailed: it did not reply to a check within `wall_seconds`.
        """
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:
            raise ChecksFailed("the process that runs checks has no pipes")
        # A process that has ended reads nothing; its end is noticed when its reply is read.
        with suppress(BrokenPipeError):
            line = memoryview(request.model_dump_json().encode() + b"\n")
            while line:
                line = line[stdin.write(line) :]
        unread = b""
        for _ in request.checks:
            deadline = time.monotonic() + wall_seconds
            while b"\n" not in unread:
                unread += self._read(stdout.fileno(), deadline, wall_seconds)
            reply, _, unread = unread.partition(b"\n")
            yield CheckReply.model_validate_json(reply)

    def _read(self, descriptor: int, deadline: float, wall_seconds: float) -> bytes:
        ready = select.poll()
        ready.register(descriptor, select.POLLIN)
        if not ready.poll(max(0.0, deadline - time.monotonic()) * 1000):
            raise ChecksFailed(
                f"a check did not end within {wall_seconds:g} s though it may not use that much "
                "CPU time; the machine is too busy"
            )
        chunk = os.read(descriptor, _CHUNK_BYTES)
        if not chunk:
            raise ProcessEnded(self._process.wait())
        return chunk

    def has_ended(self) -> bool:
        """Return whether the process is gone."""
        return self._process.poll() is not None

    def kill(self) -> None:
        """Kill the process; pending requests fail with `ProcessEnded`."""
        self._process.kill()

    def close(self) -> None:
        """Kill the process and forget it."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()


_idle: dict[tuple[str, ...], list[CheckProcess]] = {}
"""By command; shared by all batches of this process, since starting one takes half a second."""
# Two processes that read from one pipe would each get half of a reply.
os.register_at_fork(after_in_child=_idle.clear)


@contextmanager
def check_process(memory_bytes: int) -> Iterator[CheckProcess]:
    """Yield a process; it is kept for the next block only if this one ends without an error."""
    command = (*PROGRAM, str(memory_bytes))
    process = _taken(command) or CheckProcess(command)
    try:
        yield process
    except BaseException:
        process.close()
        raise
    _idle.setdefault(command, []).append(process)


def warm_up(memory_bytes: int) -> None:
    """Start a process if none is idle, so that it is ready when it is needed."""
    with check_process(memory_bytes):
        pass


def _taken(command: tuple[str, ...]) -> CheckProcess | None:
    while kept := _idle.get(command):
        process = kept.pop()
        if not process.has_ended():
            return process
        process.close()
    return None
