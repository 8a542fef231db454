"""A started warm Python, seen from the host: requests and answers."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from environments.ports import Completed, Process, Sandbox
from environments.tool_runtime.warm.frames import (
    LENGTH_DIGITS,
    MAX_LINE_BYTES,
    NONCE_BYTES,
    Request,
    Response,
)

_SERVER = "environments.tool_runtime.warm.server"
_MEGABYTE = 1024 * 1024


@dataclass(frozen=True)
class Served:
    """The last answer to a request."""

    response: Response
    stdout: bytes
    stderr: bytes

    def completed(self, seconds: float) -> Completed:
        """Return how the call ended, as a program of its own would have ended."""
        said = self.response
        return Completed(said.exit_code, self.stdout, self.stderr, seconds, said.limit)


class WarmProcess:
    """One warm Python; it serves one request at a time."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._unread = bytearray()
        self.has_begun = False
        """The program of the last request has begun."""

    @classmethod
    async def started(cls, sandbox: Sandbox, idle_seconds: float) -> "WarmProcess":
        """Start one, which ends after so long without a request.

        Raises:
            SandboxFailed: the sandbox cannot start it.
        """
        argv = [*sandbox.python(), "-P", "-m", _SERVER, str(idle_seconds)]
        return cls(await sandbox.start(argv))

    async def renew(self) -> bool:
        """Reset the limits for another request; return whether the process still runs."""
        return await self._process.renew()

    async def call(self, request: Request) -> Served:
        """Return the last answer to `request`.

        Raises:
            BrokenPipeError, EOFError, ValidationError: the process is gone, or what it says is no
                answer; it must be closed.
        """
        self.has_begun = False
        nonce = secrets.token_hex(NONCE_BYTES // 2).encode()
        line = request.model_dump_json().encode()
        await self._process.write(b"%s%0*d%s" % (nonce, LENGTH_DIGITS, len(line), line))
        response = await self._response(nonce, request)
        if response.state == "begun":
            self.has_begun = True
            response = await self._response(nonce, request)
        stdout = await self._bytes(response.stdout_bytes)
        return Served(response, stdout, await self._bytes(response.stderr_bytes))

    async def close(self, grace_seconds: float = 0.0) -> Completed:
        """Return how it ended; it is killed if it does not end in time."""
        return await self._process.close(grace_seconds)

    async def _response(self, nonce: bytes, request: Request) -> Response:
        while (end := self._unread.find(b"\n", 0, MAX_LINE_BYTES)) < 0:
            if len(self._unread) >= MAX_LINE_BYTES:
                raise EOFError("no line where an answer begins")
            await self._more()
        line = bytes(self._unread[:end])
        del self._unread[: end + 1]
        if not line.startswith(nonce):
            raise EOFError("an answer to something else")
        response = Response.model_validate_json(line[NONCE_BYTES:])
        if max(response.stdout_bytes, response.stderr_bytes) > request.output_bytes:
            raise EOFError("an answer above the limit")
        return response

    async def _bytes(self, count: int) -> bytes:
        while len(self._unread) < count:
            await self._more()
        content = bytes(self._unread[:count])
        del self._unread[:count]
        return content

    async def _more(self) -> None:
        chunk = await self._process.read()
        if not chunk:
            raise EOFError("its output has ended")
        self._unread += chunk


def new_request(
    sandbox: Sandbox, module: str, stdin: str, load: Sequence[str], *, unrelated: bool = False
) -> Request:
    """Return a request to run a module with all that the sandbox's limits allow."""
    limits = {limit.name: limit.value for limit in sandbox.facts().enforced}
    return Request(
        module=module,
        load=tuple(load),
        stdin=stdin,
        wall_seconds=limits["wall_seconds"],
        output_bytes=int(limits["output_kb"]) * 1024,
        memory_bytes=int(limits["memory_mb"]) * _MEGABYTE,
        unrelated=unrelated,
    )
