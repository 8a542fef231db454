"""One connection to a server: started or reached, asked for its tools, called, and closed."""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Literal, TypeVar

from mcp import Client, MCPError
from mcp_types import (
    CONNECTION_CLOSED,
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    Implementation,
    PaginatedRequestParams,
    ReadResourceRequest,
    ReadResourceRequestParams,
    ReadResourceResult,
    Tool,
)
from pydantic import BaseModel, ValidationError

from environments.mcp.client.transport import Wire, over_process
from environments.ports import Completed, Process
from environments.sandbox.shielding import to_the_end
from taskdata.errors import NightshiftError, ToolUnavailable
from taskdata.version import code_version

_logger = logging.getLogger(__name__)

START_SECONDS = 60.0
"""How long a server may take to start and list its tools."""

_LEAVE_SECONDS = 2.0
_END_SECONDS = 10.0
_MAX_TOOLS = 256
_MAX_PAGES = 50
_STDERR_SHOWN = 300

Start = Callable[[], Coroutine[Any, Any, Process]]
R = TypeVar("R", bound=BaseModel)
Greeting = Literal["auto", "legacy"]


class Lost(Exception):
    """The connection broke, or the server stopped; the text says why, if that is known."""


class Connection:
    """A connection to a server that answers.

    One asyncio task holds it from start to end: the SDK's scopes must be left in the task that
    entered them, while calls come from any task.
    """

    def __init__(self, name: str, greeting: Greeting = "auto") -> None:
        self.name = name
        self._greeting = greeting
        self.tools: tuple[Tool, ...] = ()
        """The tools as the server listed them at the start; later changes of the list are
        ignored."""
        self._wire = Wire()
        self._client: Client | None = None
        self._ready = asyncio.Event()
        self._leave = asyncio.Event()
        self._life: asyncio.Task[None] | None = None
        self._ending: Completed | None = None
        self._fault: Exception | None = None

    @classmethod
    async def over_process(
        cls, name: str, start: Start, greeting: Greeting = "auto"
    ) -> "Connection":
        """Return a connection to the process that `start` starts; the connection owns the process.

        Args:
            name: The server's name.
            start: Starts the process.
            greeting: `legacy` for servers that exit when they get a request of a newer protocol.

        Raises:
            ToolUnavailable: the process does not answer as a server should; includes its error
                output.
            SandboxFailed: the sandbox cannot start the process.
        """
        connection = cls(name, greeting)
        await connection._open(connection._live_with_process(start))
        return connection

    @classmethod
    async def over_transport(
        cls, name: str, transport: AbstractAsyncContextManager[Any]
    ) -> "Connection":
        """Return a connection over an SDK transport; raises `ToolUnavailable` if that fails."""
        connection = cls(name)
        await connection._open(connection._live(transport))
        return connection

    @property
    def is_alive(self) -> bool:
        """Whether calls may still be answered."""
        return self._life is not None and not self._life.done() and not self._wire.ended

    async def call(self, tool: str, arguments: dict[str, Any], seconds: float) -> CallToolResult:
        """Return the server's answer.

        Raises:
            TimeoutError: no answer came in time; the server may still be working on it.
            Lost: the server stopped, or the connection broke.
            MCPError, ValidationError: the server refused, or its answer is not a valid result.
        """
        params = CallToolRequestParams(name=tool, arguments=arguments)
        # Not `call_tool`, which validates results against a schema that the server wrote: patterns
        # of that schema would run in our process.
        return await self._asked(CallToolRequest(params=params), CallToolResult, seconds)

    @property
    def has_resources(self) -> bool:
        """Whether the server says that its resources can be read."""
        return self._client is not None and self._client.server_capabilities.resources is not None

    async def read(self, uri: str, seconds: float) -> ReadResourceResult:
        """Return a resource as the server gives it, without fetching its address; see `call`."""
        request = ReadResourceRequest(params=ReadResourceRequestParams(uri=uri))
        return await self._asked(request, ReadResourceResult, seconds)

    async def _asked(self, request: Any, kind: type[R], seconds: float) -> R:
        if self._client is None or not self.is_alive:
            raise await self._lost()
        self._wire.renew()
        asking = asyncio.ensure_future(self._client.session.send_request(request, kind))
        try:
            done, _ = await asyncio.wait({asking}, timeout=seconds)
        finally:
            asking.cancel()
        if not done:
            raise TimeoutError
        try:
            return asking.result()
        except MCPError as error:
            if error.code == CONNECTION_CLOSED:
                raise await self._lost() from error
            raise
        except ValidationError:
            raise
        # Any other error of the SDK comes from what the server sent: the connection is unusable.
        except Exception as error:
            self._fault = error
            raise await self._lost() from error

    async def close(self) -> None:
        """End the server; returns once it is gone, and raises nothing if the server misbehaves."""
        self._leave.set()
        if self._life is not None:
            await to_the_end(_over(self._life))

    def diagnosis(self) -> str:
        """Return on one line why the server does not answer, with the end of its error output."""
        ending, words = self._ending, ""
        if self._wire.fault:
            words = self._wire.fault
        elif ending and ending.limit:
            words = f"it was stopped at the {ending.limit} limit"
        elif ending:
            words = f"it ended with code {ending.exit_code}"
        elif self._fault is not None:
            words = _text_of(self._fault)
        else:
            words = "it does not answer"
        if self._wire.stray_lines:
            words += f"; {self._wire.stray_lines} lines of its output were no messages"
        said = _last_words(ending.stderr) if ending else ""
        return f"{words}; it said last: {said}" if said else words

    async def _lost(self) -> Lost:
        """End what is left of the server and return why the connection was lost."""
        await self.close()
        return Lost(self.diagnosis())

    async def _open(self, life: Coroutine[Any, Any, None]) -> None:
        self._life = asyncio.create_task(life, name=f"mcp-{self.name}")
        ready = asyncio.create_task(self._ready.wait())
        try:
            await asyncio.wait(
                {ready, self._life}, timeout=START_SECONDS, return_when=asyncio.FIRST_COMPLETED
            )
        except asyncio.CancelledError:
            self._life.cancel()
            await self.close()
            raise
        finally:
            ready.cancel()
        if self._ready.is_set():
            return
        # A server that hangs while it starts reacts to nothing but cancellation.
        self._life.cancel()
        await self.close()
        if isinstance(self._fault, NightshiftError):
            raise self._fault
        raise ToolUnavailable(f"MCP server {self.name!r} did not start: {self.diagnosis()}")

    async def _live_with_process(self, start: Start) -> None:
        try:
            process = await start()
        except NightshiftError as error:
            self._fault = error
            return
        try:
            await self._live(over_process(process, self._wire))
        finally:
            await self._end(process)

    async def _end(self, process: Process) -> None:
        try:
            self._ending = await process.close(_LEAVE_SECONDS)
            _logger.info("MCP server %s: %s", self.name, self.diagnosis())
        except NightshiftError as error:
            self._fault = error
            _logger.warning("MCP server %s: %s", self.name, error)

    async def _live(self, transport: AbstractAsyncContextManager[Any]) -> None:
        who = Implementation(name="nightshift", version=code_version())
        try:
            async with Client(
                transport, cache=None, client_info=who, mode=self._greeting
            ) as client:
                self.tools = tuple(await _listed(client))
                self._client = client
                self._ready.set()
                await self._leave.wait()
        # Whatever a server makes the SDK raise ends the connection and not our process.
        except Exception as error:  # noqa: BLE001
            self._fault = error
            _logger.info("MCP server %s: %s", self.name, _text_of(error))
        finally:
            self._wire.ended = True


async def _listed(client: Client) -> Sequence[Tool]:
    """Return the server's tools in its order, at most a fixed number."""
    tools: list[Tool] = []
    cursor: str | None = None
    for _ in range(_MAX_PAGES):
        page = await client.session.list_tools(params=PaginatedRequestParams(cursor=cursor))
        tools += page.tools[: _MAX_TOOLS - len(tools)]
        cursor = page.next_cursor
        if cursor is None or len(tools) >= _MAX_TOOLS:
            break
    return tools


async def _over(life: "asyncio.Task[None]") -> None:
    done, _ = await asyncio.wait({life}, timeout=_END_SECONDS)
    if not done:
        # A server at a URL may be slow to close the session.
        life.cancel()
        await asyncio.wait({life})


def _text_of(error: BaseException) -> str:
    """Return the error on one short line, without the exception groups that the SDK adds."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    text = " ".join(str(error).split())[:300]
    return "".join(c if c.isprintable() else "?" for c in text) or type(error).__name__


def _last_words(stderr: bytes) -> str:
    text = " ".join(stderr.decode(errors="replace").split())[-_STDERR_SHOWN:]
    return "".join(c if c.isprintable() else "?" for c in text)
