"""The conversation with a service's program: one JSON object a line, limited in size and time."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any

from environments.ports import Mount, Process, Sandbox
from environments.services.inside.lines import FAILED, LOST
from taskdata.errors import ServiceFailed

_MAX_LINE = 64 * 1024


class ServiceStopped(Exception):
    """The program was stopped at a limit of its sandbox, which its clients can cause."""


class ServiceUnable(ServiceFailed):
    """The program is alive, but did not carry out an order, or not in time."""


class Program:
    """A service's program, started in its sandbox."""

    def __init__(self, name: str, process: Process) -> None:
        self._name = name
        self._process = process
        self._read = bytearray()

    @classmethod
    async def started(
        cls,
        name: str,
        sandbox: Sandbox,
        module: str,
        settings: Mapping[str, Any],
        mounts: Sequence[Mount] = (),
    ) -> "Program":
        """Start the program and send it its settings.

        Args:
            name: Name of the service, for messages.
            sandbox: Sandbox of the service; closing it ends the program.
            module: The module that is run.
            settings: The first line that the program reads.
            mounts: What the program sees besides the workspace.

        Raises:
            SandboxFailed: the sandbox cannot start the program.
        """
        # -P: no file in the workspace may shadow a module.
        argv = [*sandbox.python(), "-P", "-m", module]
        program = cls(name, await sandbox.start(argv, mounts=mounts))
        await program._say(json.dumps(dict(settings)))
        return program

    async def ask(self, order: str, key: str, seconds: float) -> str:
        """Send an order and return what the program answers under `key`; see `answer`."""
        await self._say(order)
        return await self.answer(key, seconds)

    async def answer(self, key: str, seconds: float) -> str:
        """Return what the program answers under `key`.

        Raises:
            ServiceFailed: the program ended, or lost its server.
            ServiceUnable: the program failed, or did not answer in time.
            ServiceStopped: the program was stopped at a limit.
        """
        try:
            async with asyncio.timeout(seconds):
                line = await self._line()
        except TimeoutError:
            raise ServiceUnable(
                f"service {self._name!r} was not {key} within {seconds:g} s; "
                "see whether its files are too large or this machine is overloaded"
            ) from None
        said = json.loads(line)
        if key in said:
            return str(said[key])
        log = f"; its last lines: {said['log']}" if said.get("log") else ""
        if LOST in said:
            raise ServiceFailed(f"service {self._name!r} was lost: {said[LOST]}{log}")
        raise ServiceUnable(f"service {self._name!r} failed: {said.get(FAILED)}{log}")

    async def renew(self) -> None:
        """Reset the program's limits."""
        await self._process.renew()

    async def close(self) -> None:
        """End the program."""
        await self._process.close()

    async def _say(self, line: str) -> None:
        try:
            await self._process.write(line.encode() + b"\n")
        except BrokenPipeError:
            await self._raise_end()

    async def _line(self) -> bytes:
        while b"\n" not in self._read:
            chunk = await self._process.read()
            if not chunk or len(self._read) > _MAX_LINE:
                await self._raise_end()
            self._read += chunk
        line, _, rest = bytes(self._read).partition(b"\n")
        self._read = bytearray(rest)
        return line

    async def _raise_end(self) -> None:
        ended = await self._process.close(grace_seconds=1.0)
        if ended.limit is not None:
            raise ServiceStopped(f"it was stopped at its limit of {ended.limit}")
        lines = ended.stderr.decode("utf-8", "replace").strip().splitlines()
        last = " | ".join(line.strip() for line in lines[-3:])[:500]
        # Only an image can be older than this code: elsewhere `missing` has reported the library.
        way_out = "; build the sandbox image again" if "ModuleNotFoundError" in last else ""
        raise ServiceFailed(
            f"service {self._name!r} ended with code {ended.exit_code}: "
            f"{last or 'no message'}{way_out}"
        )
