"""One program in a bubblewrap sandbox of its own: started, given input, read and removed."""

import asyncio
import contextlib
import json
import os
import select
import signal
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from environments.sandbox.bubblewrap.command import GO, Descriptors
from environments.sandbox.limits import Capture
from environments.sandbox.pipe import Pipe
from environments.sandbox.seccomp import seccomp_filter
from environments.sandbox.shielding import to_the_end
from taskdata.errors import SandboxFailed

_SECONDS_TO_DIE = 30


class Program:
    """A running bwrap with everything in its pid namespace."""

    def __init__(
        self,
        process: Process,
        status: asyncio.StreamReader,
        init_pid: int,
        stdin: bytes | None,
        output_bytes: int,
    ) -> None:
        self.init_pid = init_pid
        """The first process inside, by its pid on the host; when it ends, the kernel ends them
        all."""
        self.stdout = Capture(output_bytes)
        self.stderr = Capture(output_bytes)
        self.pipe = Pipe()
        """Standard output of a program that we talk to while it runs; used instead of `stdout`."""
        self._process = process
        self._init_fd = os.pidfd_open(init_pid)
        self._end = asyncio.create_task(status.read())
        self._feeding = asyncio.create_task(self._feed(stdin))
        self._reading = [
            asyncio.create_task(
                _pass_on(process.stdout, self.pipe)
                if stdin is None
                else _pump(process.stdout, self.stdout)
            ),
            asyncio.create_task(_pump(process.stderr, self.stderr)),
        ]

    async def ended(self, seconds: float) -> bool:
        """Wait at most `seconds` and return whether the program has ended."""
        await asyncio.wait({self._end}, timeout=seconds)
        return self._end.done()

    async def write(self, data: bytes) -> None:
        """Send `data` to the program; raises `BrokenPipeError` if it no longer reads."""
        await asyncio.wait({self._feeding})
        stream = self._process.stdin
        if stream is None or stream.is_closing():
            raise BrokenPipeError("the program's standard input is closed")
        try:
            stream.write(data)
            await stream.drain()
        except ConnectionError as error:
            raise BrokenPipeError("the program does not read any more") from error

    async def end_input(self) -> None:
        """Close the program's standard input."""
        await asyncio.wait({self._feeding})
        if self._process.stdin is not None:
            self._process.stdin.close()

    def kill(self) -> None:
        """Kill every process still inside, without waiting; not allowed after `stop`."""
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._init_fd, signal.SIGKILL)

    async def stop(self) -> None:
        """Kill every process still inside and return once all are gone.

        Raises:
            SandboxFailed: a process inside does not die, because it is stuck in the kernel.
        """
        try:
            await asyncio.to_thread(self._kill)
        finally:
            self._feeding.cancel()
            os.close(self._init_fd)
        # From now on the pipe accepts everything, so that the remaining output can be read.
        await self.pipe.end()
        await asyncio.gather(*self._reading, self._end)
        await self._process.wait()

    def exit_code(self) -> int | None:
        """Return the exit code (negative: killed by that signal), None if we killed the program."""
        for line in self._end.result().splitlines():
            code = json.loads(line).get("exit-code")
            if code is not None:
                return int(code) if code <= 128 else 128 - int(code)
        return None

    def _kill(self) -> None:
        self.kill()
        gone = select.poll()
        gone.register(self._init_fd, select.POLLIN)
        if not gone.poll(_SECONDS_TO_DIE * 1000):
            raise SandboxFailed(
                f"the sandbox's processes below pid {self.init_pid} did not die within "
                f"{_SECONDS_TO_DIE} s; look at the host's kernel log"
            )

    async def _feed(self, stdin: bytes | None) -> None:
        stream = self._process.stdin
        if stream is None:
            return
        # Programs need not read their input.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            await _dies_with_us(self.init_pid)
            _dies_first(self.init_pid)
            stream.write(GO + (stdin or b""))
            await stream.drain()
        if stdin is not None:
            stream.close()


@asynccontextmanager
async def running(
    command: Callable[[Descriptors], list[str]],
    marks: Mapping[str, str],
    accounts: tuple[bytes, bytes],
    stdin: bytes | None,
    output_bytes: int,
) -> AsyncIterator[Program]:
    """Yield the started program; when the block ends, however it ends, nothing of it is left.

    Args:
        command: Makes the command line, given the numbers of the inherited descriptors.
        marks: Environment of bwrap itself; none of it reaches the program.
        accounts: Contents of /etc/passwd and /etc/group.
        stdin: The program's standard input; None to write to the program and read from its pipe.
        output_bytes: How much of each output stream is kept.

    Raises:
        SandboxFailed: bwrap cannot be started or cannot build the sandbox.
    """
    # A half-started bwrap cannot be killed reliably, so a cancellation waits for the start.
    starting = asyncio.create_task(_start(command, marks, accounts, stdin, output_bytes))
    try:
        yield await asyncio.shield(starting)
    finally:
        await to_the_end(_stop(starting))


async def _start(
    command: Callable[[Descriptors], list[str]],
    marks: Mapping[str, str],
    accounts: tuple[bytes, bytes],
    stdin: bytes | None,
    output_bytes: int,
) -> Program:
    with contextlib.ExitStack() as theirs:
        status_end, status = os.pipe()
        theirs.callback(os.close, status)
        descriptors = Descriptors(
            status=status,
            passwd=_readable(accounts[0], theirs),
            group=_readable(accounts[1], theirs),
            seccomp=_readable(seccomp_filter(), theirs),
        )
        inherited = list(vars(descriptors).values())
        argv = command(descriptors)
        try:
            process = await asyncio.create_subprocess_exec(
                *argv,
                stdin=PIPE,
                stdout=PIPE,
                stderr=PIPE,
                pass_fds=inherited,
                env=dict(marks),
                cwd="/",
            )
        except OSError as error:
            os.close(status_end)
            raise SandboxFailed(f"cannot start {argv[0]}: {error.strerror}") from error
        theirs.close()
        try:
            reader = await _reader(status_end)
            return await _program(process, reader, stdin, output_bytes)
        except BaseException:
            await to_the_end(_abandon(process))
            raise


async def _stop(starting: "asyncio.Task[Program]") -> None:
    await asyncio.wait({starting})
    if starting.exception() is None:
        await starting.result().stop()


async def _program(
    process: Process, reader: asyncio.StreamReader, stdin: bytes | None, output_bytes: int
) -> Program:
    line = await reader.readline()
    if line:
        # The process may have ended already, if bwrap could not build the sandbox.
        with contextlib.suppress(ProcessLookupError):
            init_pid = int(json.loads(line)["child-pid"])
            return Program(process, reader, init_pid, stdin, output_bytes)
    said = await process.stderr.read() if process.stderr else b""
    raise SandboxFailed(f"bubblewrap failed: {last_line(said)}")


async def _dies_with_us(init_pid: int) -> None:
    """Wait until the kernel is set to kill the init process when our process is killed.

    bwrap sets this just before it executes the init process, which shows in the process name.
    """
    with contextlib.suppress(OSError):
        while Path(f"/proc/{init_pid}/comm").read_text() == "bwrap\n":
            await asyncio.sleep(0.001)


def _dies_first(init_pid: int) -> None:
    """Have the kernel kill the sandbox first when the host runs out of memory.

    If we are root, no program inside can undo this; otherwise a program can restore the default.
    """
    with contextlib.suppress(OSError):
        Path(f"/proc/{init_pid}/oom_score_adj").write_text("1000")


async def _abandon(process: Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        process.kill()
    await process.wait()


def last_line(said: bytes) -> str:
    """Return the last line that a program wrote on standard error, short and printable."""
    lines = said.decode(errors="replace").split("\n")
    text = next((line for line in reversed(lines) if line.strip()), "it said nothing")
    return "".join(c if c.isprintable() else "?" for c in text.strip())[:300]


async def _pump(stream: asyncio.StreamReader | None, capture: Capture) -> None:
    while stream and (chunk := await stream.read(1 << 16)):
        capture.feed(chunk)


async def _pass_on(stream: asyncio.StreamReader | None, pipe: Pipe) -> None:
    while stream and (chunk := await stream.read(1 << 16)):
        await pipe.feed(chunk)
    await pipe.end()


async def _reader(descriptor: int) -> asyncio.StreamReader:
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(descriptor, "rb", 0)
    )
    return reader


def _readable(content: bytes, owner: contextlib.ExitStack) -> int:
    """Return a descriptor for reading `content`, which must fit in a pipe's buffer."""
    read_end, write_end = os.pipe()
    owner.callback(os.close, read_end)
    os.write(write_end, content)
    os.close(write_end)
    return read_end
