"""The host's side of the warm Python in a trial's sandbox.

The warm Python is a separate background program: neither the agent's code nor an MCP server can
reach it. A call that it cannot serve gets a new Python.
"""

import asyncio
import logging
import signal
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

from pydantic import ValidationError

from environments.ports import Completed, Sandbox
from environments.sandbox.shielding import to_the_end
from environments.tool_runtime.warm.frames import Request
from environments.tool_runtime.warm.process import WarmProcess, new_request
from taskdata.errors import SandboxFailed
from taskdata.schema.limits import LimitName

_logger = logging.getLogger(__name__)

_IDLE_SECONDS = 60.0
_NEARLY_IDLE = 0.8
_SECONDS_TO_KILL = 5.0
"""A call is stopped inside when its time is up; after this time the sandbox stops it."""
_SECONDS_TO_LEAVE = 2.0
_LEAST: Mapping[LimitName, int] = {"processes": 16, "memory_mb": 512, "cpu_seconds": 10}
"""Under tighter limits a call needs all resources, so no warm Python is kept."""


class WarmPython:
    """Runs modules of this project in one trial's sandbox, in a warm Python if that saves time."""

    def __init__(self, sandbox: Sandbox, idle_seconds: float = _IDLE_SECONDS) -> None:
        """Serve the calls of one trial.

        Args:
            sandbox: The trial's sandbox; whatever is started ends with it.
            idle_seconds: The warm Python ends, to free its memory, after so long without a call.
        """
        self._sandbox = sandbox
        self._idle_seconds = idle_seconds
        self._process: WarmProcess | None = None
        self._used = 0.0
        self._turn = asyncio.Lock()
        self._calls = 0
        self._given_up = False

    async def run(self, module: str, stdin: str, load: Sequence[str] | None) -> Completed:
        """Return how `python -m module` ended, under all limits of the sandbox.

        Args:
            module: A module of this project with a function `main` that returns the exit code.
            stdin: Standard input of the module.
            load: What to load before, see `libraries`; None if the call must not share a process.

        Raises:
            SandboxFailed: the sandbox cannot run the module.
        """
        if load is None or self._turn.locked() or not self._helps():
            return await self._alone(module, stdin)
        async with self._turn:
            try:
                completed = await self._served(new_request(self._sandbox, module, stdin, load))
            except BaseException:
                await to_the_end(self._end())
                raise
        return completed or await self._alone(module, stdin)

    def _helps(self) -> bool:
        """Return whether a warm Python may serve this call and will save time."""
        self._calls += 1
        facts = self._sandbox.facts()
        limits = {limit.name: limit.value for limit in facts.enforced}
        if self._given_up or any(limits[name] < least for name, least in _LEAST.items()):
            return False
        # In Docker it needs a container of its own; waiting for that does not pay for a single
        # call.
        return facts.image is None or self._calls > 1

    async def _alone(self, module: str, stdin: str) -> Completed:
        # -P: a module that the agent left in its workspace must not shadow ours.
        argv = [*self._sandbox.python(), "-P", "-m", module]
        completed = await self._sandbox.run(argv, stdin=stdin.encode())
        if completed.limit == "disk" and not self._turn.locked():
            # The warm Python would be stopped for disk space that another program has filled.
            await self._end()
        return completed

    async def _served(self, request: Request) -> Completed | None:
        """Return how the call ended; None if it has not begun."""
        process = await self._ready()
        if process is None:
            return None
        began = time.monotonic()
        try:
            async with asyncio.timeout(request.wall_seconds + _SECONDS_TO_KILL):
                served = await process.call(request)
        except TimeoutError:
            await self._end()
            return Completed(-signal.SIGKILL, b"", b"", time.monotonic() - began, "wall")
        except (BrokenPipeError, EOFError, ValidationError) as exc:
            lost = await self._lost(exc, time.monotonic() - began)
            return lost if process.has_begun else None
        self._used = time.monotonic()
        if served.response.leaving:
            await self._end(_SECONDS_TO_LEAVE)
        if served.response.state != "ended":
            self._given_up = True
            return None
        return served.completed(self._used - began)

    async def _ready(self) -> WarmProcess | None:
        """Return the warm Python, started if needed; None if it cannot be started."""
        idle = time.monotonic() - self._used
        if self._process and idle > _NEARLY_IDLE * self._idle_seconds:
            # The process may be about to end by itself.
            await self._end()
        if self._process and not await self._process.renew():
            await self._end()
        if self._process is None:
            try:
                self._process = await WarmProcess.started(self._sandbox, self._idle_seconds)
                self._used = time.monotonic()
            except SandboxFailed as exc:
                _logger.info("tools start one by one: %s", exc)
                self._given_up = True
        return self._process

    async def _lost(self, reason: Exception, seconds: float) -> Completed:
        """Return how the warm Python, and a call with it, ended."""
        done = await self._end(_SECONDS_TO_LEAVE)
        said = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2][:300]
        _logger.info("the Python that stays is gone (%s, %s): %s", reason, done.limit, said)
        code = done.exit_code if done.exit_code < 0 else -signal.SIGKILL
        return replace(done, exit_code=code, stdout=b"", seconds=seconds)

    async def _end(self, grace_seconds: float = 0.0) -> Completed:
        process, self._process = self._process, None
        if process is None:
            return Completed(0, b"", b"", 0.0)
        return await process.close(grace_seconds)
