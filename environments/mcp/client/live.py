"""A server during one trial: its tools, calls under limits, and one restart."""

import asyncio
import itertools
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from mcp import MCPError
from mcp_types import INVALID_PARAMS, CallToolResult
from pydantic import ValidationError

from environments.mcp.client.connection import Connection, Lost
from environments.mcp.client.contents import Attachment, Link, Part, content_of, parts_of
from environments.mcp.client.outputs import changed, stamps
from environments.mcp.client.schemas import explain_bad_arguments, shortened
from environments.mcp.pool.starting import PoolEntry
from environments.mcp.servers import RemoteServer, Server
from environments.ports import Sandbox, Workspace
from environments.toolkit.definition import MAX_RESULT_CHARS, cut_text
from environments.tools.looking.forms import LookRequest
from environments.tools.looking.look import look_at, pictures_of
from taskdata.errors import ToolUnavailable
from taskdata.schema.tool import ToolErrorKind, ToolPicture, ToolResult, ToolSpec

_logger = logging.getLogger(__name__)

MAX_RESTARTS = 1
"""How often a lost server is started again during a trial."""

_PAGING = "Ask for a smaller part."
_MAX_MESSAGE_CHARS = 2_000
_MAX_LINKS = 4
_SAVE = ("/bin/sh", "-c", 'mkdir -p "${1%/*}" && cat >"$1"', "sh")

Connect = Callable[[], Awaitable[Connection]]


class _Answer(NamedTuple):
    """What became of a call."""

    text: str
    error: ToolErrorKind | None = None
    pictures: tuple[ToolPicture, ...] = ()


class LiveServer:
    """A connected server of a trial; several calls may run at once."""

    def __init__(
        self,
        entry: Server | PoolEntry,
        connect: Connect,
        first: Connection,
        workspace: Workspace,
        call_seconds: float,
    ) -> None:
        self._is_remote = isinstance(entry, RemoteServer)
        self._connect = connect
        self._connection = first
        self._workspace = workspace
        self._call_seconds = call_seconds
        self._restarts_left = MAX_RESTARTS
        self._turn = asyncio.Lock()
        self._numbers = itertools.count(1)

    async def call(self, tool: str, arguments: dict[str, Any], sandbox: Sandbox) -> ToolResult:
        """Return the observation of one call; every failure of the server becomes an observation.

        Raises:
            SandboxFailed: the sandbox failed, not the server.
            ToolUnavailable: a server at a URL cannot be reached, which is not the agent's fault.
        """
        began = time.monotonic()
        before = await asyncio.to_thread(stamps, self._workspace.output)
        found = await self._answer(tool, arguments, sandbox)
        after = await asyncio.to_thread(stamps, self._workspace.output)
        return ToolResult(
            text=cut_text(found.text, _PAGING, MAX_RESULT_CHARS),
            files=changed(before, after),
            error=found.error,
            pictures=found.pictures,
            seconds=time.monotonic() - began,
        )

    async def close(self) -> None:
        """End the server."""
        await self._connection.close()

    async def _answer(self, tool: str, arguments: dict[str, Any], sandbox: Sandbox) -> _Answer:
        name = self._connection.name
        try:
            connection = await self._living()
            result = await connection.call(tool, arguments, self._call_seconds)
        except TimeoutError:
            # A call that timed out must not go on unnoticed, so its server is ended.
            await self._connection.close()
            waited = f"{self._call_seconds:.0f} s"
            text = f"{name} did not answer within {waited}. {self._outlook()}"
            return _Answer(text, ToolErrorKind.LIMIT)
        except (Lost, ToolUnavailable) as exc:
            if self._is_remote and isinstance(exc, ToolUnavailable):
                raise
            _logger.warning("MCP server %s was lost: %s", name, exc)
            return _Answer(f"{name} stopped: {exc}. {self._outlook()}", ToolErrorKind.LIMIT)
        except MCPError as exc:
            return _refusal(name, exc)
        except ValidationError as exc:
            _logger.info("MCP server %s: %s", name, exc)
            text = f"{name} answered {tool} with something that is no result."
            return _Answer(text, ToolErrorKind.REFUSED)
        return await self._shown(result, sandbox)

    async def _living(self) -> Connection:
        """Return the connection; a lost one is replaced if a restart is left."""
        async with self._turn:
            if not self._connection.is_alive:
                await self._connection.close()
                if self._restarts_left == 0:
                    raise Lost(self._connection.diagnosis())
                self._restarts_left -= 1
                self._connection = await self._connect()
            return self._connection

    def _outlook(self) -> str:
        if self._restarts_left:
            return "It starts afresh with the next call: what it held in memory is gone."
        return "It cannot be used any more: go on without it."

    async def _shown(self, result: CallToolResult, sandbox: Sandbox) -> _Answer:
        lines: list[str] = []
        pictures: dict[str, int] = {}
        for part in await self._with_resources(parts_of(result)):
            if isinstance(part, str):
                lines.append(part)
                continue
            path = f"output/attachments/{self._connection.name}-{next(self._numbers)}{part.suffix}"
            is_saved = await _is_saved(part, path, sandbox)
            size = f"{part.media_type}, {len(part.data)} bytes"
            if is_saved and part.is_picture:
                pictures[path] = len(lines)
            how = f", saved as {path}" if is_saved else f": could not be saved as {path}"
            lines.append(f"[{size}{how}]")
        shown = await self._drawn(pictures, lines, sandbox) if pictures else ()
        error = ToolErrorKind.REFUSED if result.is_error else None
        text = "\n".join(lines) or ("It gave no reason." if error else "Done.")
        return _Answer(text, error, shown)

    async def _with_resources(self, parts: Sequence[Part]) -> Sequence[str | Attachment]:
        """Return the parts, with the content of each linked resource after its link.

        The content is requested from the MCP server; its address is never fetched.
        """
        found: list[str | Attachment] = []
        links = 0
        for part in parts:
            if not isinstance(part, Link):
                found.append(part)
                continue
            found.append(part.text)
            if self._connection.has_resources and links < _MAX_LINKS:
                links += 1
                found += await self._read(part.uri)
        return found

    async def _read(self, uri: str) -> Sequence[str | Attachment]:
        try:
            resource = await self._connection.read(uri, self._call_seconds)
        except TimeoutError:
            await self._connection.close()
            return ["[the resource was not read in time]"]
        except (Lost, MCPError, ValidationError) as exc:
            said = str(exc) if isinstance(exc, MCPError) else "the server gave no resource"
            return [f"[the resource could not be read: {shortened(said, _MAX_MESSAGE_CHARS)}]"]
        return [
            cut_text(part, _PAGING, MAX_RESULT_CHARS) if isinstance(part, str) else part
            for part in content_of(resource)
        ]

    async def _drawn(
        self, saved: Mapping[str, int], lines: list[str], sandbox: Sandbox
    ) -> tuple[ToolPicture, ...]:
        """Return the saved pictures; the line of one that cannot be decoded says why.

        They are decoded in the sandbox, and scaled to what models read.
        """
        found: list[ToolPicture] = []
        viewed = await look_at(sandbox, LookRequest(paths=tuple(saved)))
        for (path, line), one in zip(saved.items(), viewed, strict=True):
            drawn = pictures_of(path, one)
            if not drawn:
                lines[line] += f" [not shown: {one.refused or 'it could not be decoded'}]"
            found += drawn
        return tuple(found)


async def _is_saved(attachment: Attachment, path: str, sandbox: Sandbox) -> bool:
    """Save a file from inside the sandbox, where the agent's links cannot lead out of it."""
    done = await sandbox.run([*_SAVE, path], stdin=attachment.data)
    return done.exit_code == 0 and not done.limit


@dataclass(frozen=True)
class McpTool:
    """A tool of an MCP server; implements the `Tool` protocol."""

    spec: ToolSpec
    server: LiveServer
    name_there: str
    """The tool's name at the server."""

    async def run(self, arguments: dict[str, Any], sandbox: Sandbox) -> ToolResult:
        """Return the result of one call; arguments that do not fit are not sent to the server."""
        fault = explain_bad_arguments(self.spec.name, self.spec.parameters, arguments)
        if fault:
            return ToolResult(text=fault, error=ToolErrorKind.BAD_ARGUMENTS)
        return await self.server.call(self.name_there, arguments, sandbox)


def _refusal(server: str, error: MCPError) -> _Answer:
    text = shortened(error.message, _MAX_MESSAGE_CHARS) or f"it gave no reason (code {error.code})"
    kind = ToolErrorKind.BAD_ARGUMENTS if error.code == INVALID_PARAMS else ToolErrorKind.REFUSED
    return _Answer(f"{server} refused: {text}", kind)


async def all_closed(servers: Sequence[LiveServer]) -> None:
    """Return when all `servers` have ended."""
    await asyncio.gather(*(server.close() for server in servers))
