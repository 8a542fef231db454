"""A background program in a container of its own, which we write to and read from."""

import asyncio
import contextlib
import os
import signal
import socket
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from environments.ports import Completed
from environments.sandbox.docker.engine import ask
from environments.sandbox.docker.live import LiveContainer
from environments.sandbox.limits import Capture, Limit, Space
from environments.sandbox.pipe import Pipe
from environments.sandbox.shielding import to_the_end
from environments.sandbox.watching.looking import ended_if_full, first_limit, watch_space
from taskdata.errors import SandboxFailed

if TYPE_CHECKING:
    from docker import DockerClient

_GO = b"go\n"
_STDOUT = 1
# For a program that mostly waits.
_SECONDS_BETWEEN_LOOKS = 0.5
_SECONDS_BETWEEN_GLANCES = 0.25


async def start_process(
    client: "DockerClient", container: LiveContainer, argv: Sequence[str], output_bytes: int
) -> "DockerProcess":
    """Return the program as a process of `container`, which it then owns.

    Args:
        client: Of the engine.
        container: Made for this program alone.
        argv: From `talking_argv`.
        output_bytes: How much of standard error is kept.

    Raises:
        SandboxFailed: the engine refuses, or its connection cannot be used as a stream.
    """
    space = await container.space()
    exec_id = await container.create_exec(argv, stdin=True)
    answered = await ask("run a program", client.api.exec_start, exec_id, socket=True)
    connection = _plain_socket(answered)
    # An engine listens on a Unix or TCP socket, and asyncio can use both as streams.
    reader, writer = await asyncio.open_connection(sock=connection)
    writer.write(_GO)
    return DockerProcess(container, exec_id, space, (reader, writer), answered, output_bytes)


def _plain_socket(answered: Any) -> socket.socket:
    """Return a socket of our own for the connection behind the SDK's answer."""
    if not isinstance(answered, socket.SocketIO):
        raise SandboxFailed(
            "long-lived programs need a Docker engine on a unix socket or plain TCP "
            f"(DOCKER_HOST is of another kind: {type(answered).__name__}); use bubblewrap"
        )
    connection = socket.socket(fileno=os.dup(answered.fileno()))
    connection.setblocking(False)
    return connection


class DockerProcess:
    """A program that runs in the background; implements the `Process` protocol."""

    def __init__(
        self,
        container: LiveContainer,
        exec_id: str,
        space: Space,
        streams: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        answered: Any,
        output_bytes: int,
    ) -> None:
        self._container = container
        self._exec_id = exec_id
        self._space = space
        self._reader, self._writer = streams
        # The SDK would reuse the connection if this object were garbage collected.
        self._answered = answered
        self._pipe = Pipe()
        self._stderr = Capture(output_bytes)
        self._began = time.monotonic()
        self._reading = asyncio.create_task(self._read_frames())
        self._watching = asyncio.create_task(self._watch())
        self._closing: asyncio.Task[Completed] | None = None

    async def write(self, data: bytes) -> None:
        """Send `data` to the program; raises `BrokenPipeError` if it no longer reads."""
        if self._reading.done() or self._writer.is_closing():
            raise BrokenPipeError("the program has ended")
        try:
            self._writer.write(data)
            await self._writer.drain()
        except ConnectionError as error:
            raise BrokenPipeError("the program does not read any more") from error

    async def read(self) -> bytes:
        """Return what was written since the last read, nothing after the output ended."""
        return await self._pipe.read()

    async def renew(self) -> bool:
        """Reset the limits for another call; return whether the program still runs."""
        self._container.renew_cpu_time()
        await ended_if_full(self._left, self._watching)
        return not self._watching.done()

    def _left(self) -> float:
        return self._container.left(self._space)

    async def close(self, grace_seconds: float = 0.0) -> Completed:
        """Return how the program ended; it is killed if it does not end in time."""
        if self._closing is None:
            self._closing = asyncio.create_task(self._close(grace_seconds))
        return await to_the_end(_finished(self._closing))

    async def _read_frames(self) -> None:
        """Sort the engine's frames: one byte for the stream, three unused, four for the size."""
        try:
            while True:
                header = await self._reader.readexactly(8)
                payload = await self._reader.readexactly(int.from_bytes(header[4:], "big"))
                if header[0] == _STDOUT:
                    await self._pipe.feed(payload)
                else:
                    self._stderr.feed(payload)
        except (asyncio.IncompleteReadError, ConnectionError):
            await self._pipe.end()

    async def _watch(self) -> Limit | None:
        limit = await first_limit(
            self._ended(),
            self._container.watch(_SECONDS_BETWEEN_LOOKS),
            watch_space(self._left, _SECONDS_BETWEEN_GLANCES),
        )
        if limit is not None:
            await self._container.remove()
        return limit

    async def _ended(self) -> Limit | None:
        """Return None when the program has ended, or a limit if it writes too much to stderr."""
        while not (await asyncio.wait({self._reading}, timeout=_SECONDS_BETWEEN_GLANCES))[0]:
            if self._stderr.overflowed:
                return "output"
        return None

    async def _close(self, grace_seconds: float) -> Completed:
        with contextlib.suppress(OSError):
            self._writer.write_eof()
        done, _ = await asyncio.wait({self._reading}, timeout=grace_seconds)
        if not done:
            self._watching.cancel()
        await asyncio.wait({self._watching})
        seconds = time.monotonic() - self._began
        try:
            limit = None if self._watching.cancelled() else self._watching.result()
            exit_code = -signal.SIGKILL
            if done and limit is None:
                exit_code = await self._container.exit_code(self._exec_id)
                limit = await self._container.exceeded_at_the_end(
                    exit_code, self._stderr.overflowed, self._space
                )
        finally:
            await self._pipe.end()
            await self._container.remove()
            self._writer.close()
            self._answered.close()
            await asyncio.wait({self._reading})
        return Completed(exit_code, b"", self._stderr.content(), seconds, limit)


async def _finished(task: "asyncio.Task[Completed]") -> Completed:
    return await task
