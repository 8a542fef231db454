"""A server during one trial: its tools, calls under limits, and one restart."""

import asyncio
import itertools
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from mcp import MCPError
from mcp_types import INVALID_PARAMS, CallToolResult
from pydantic import ValidationError

from environments.mcp.client.connection import Connection, Lost
from environments.mcp.client.contents import Attachment, parts_of
from environments.mcp.client.outputs import changed, stamps
from environments.mcp.client.schemas import explain_bad_arguments, shortened
from environments.mcp.servers import RemoteServer, Server
from environments.ports import Sandbox, Workspace
from environments.toolkit.definition import MAX_RESULT_CHARS, cut_text
from taskdata.errors import ToolUnavailable
from taskdata.schema.tool import ToolErrorKind, ToolResult, ToolSpec

_logger = logging.getLogger(__name__)

MAX_RESTARTS = 1
"""How often a lost server is started again during a trial."""

_PAGING = "Ask for a smaller part."
_MAX_MESSAGE_CHARS = 2_000
_SAVE = ("/bin/sh", "-c", 'mkdir -p "${1%/*}" && cat >"$1"', "sh")

Connect = Callable[[], Awaitable[Connection]]


class LiveServer:
    """A connected server of a trial; several calls may run at once."""

    def __init__(
        self,
        entry: Server,
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
        text, error = await self._answer(tool, arguments, sandbox)
        after = await asyncio.to_thread(stamps, self._workspace.output)
        return ToolResult(
            text=cut_text(text, _PAGING, MAX_RESULT_CHARS),
            files=changed(before, after),
            error=error,
            seconds=time.monotonic() - began,
        )

    async def close(self) -> None:
        """End the server."""
        await self._connection.close()

    async def _answer(
        self, tool: str, arguments: dict[str, Any], sandbox: Sandbox
    ) -> tuple[str, ToolErrorKind | None]:
        name = self._connection.name
        try:
            connection = await self._living()
            result = await connection.call(tool, arguments, self._call_seconds)
        except TimeoutError:
            # A call that timed out must not go on unnoticed, so its server is ended.
            await self._connection.close()
            waited = f"{self._call_seconds:.0f} s"
            return f"{name} did not answer within {waited}. {self._outlook()}", ToolErrorKind.LIMIT
        except (Lost, ToolUnavailable) as exc:
            if self._is_remote and isinstance(exc, ToolUnavailable):
                raise
            _logger.warning("MCP server %s was lost: %s", name, exc)
            return f"{name} stopped: {exc}. {self._outlook()}", ToolErrorKind.LIMIT
        except MCPError as exc:
            return _refusal(name, exc)
        except ValidationError as exc:
            _logger.info("MCP server %s: %s", name, exc)
            text = f"{name} answered {tool} with something that is no result."
            return text, ToolErrorKind.REFUSED
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

    async def _shown(
        self, result: CallToolResult, sandbox: Sandbox
    ) -> tuple[str, ToolErrorKind | None]:
        shown = [
            part if isinstance(part, str) else await self._saved(part, sandbox)
            for part in parts_of(result)
        ]
        error = ToolErrorKind.REFUSED if result.is_error else None
        return "\n".join(shown) or ("It gave no reason." if error else "Done."), error

    async def _saved(self, attachment: Attachment, sandbox: Sandbox) -> str:
        """Save a file from inside the sandbox, where the agent's links cannot lead out of it."""
        number = next(self._numbers)
        path = f"output/attachments/{self._connection.name}-{number}{attachment.suffix}"
        done = await sandbox.run([*_SAVE, path], stdin=attachment.data)
        size = f"{attachment.media_type}, {len(attachment.data)} bytes"
        if done.exit_code != 0 or done.limit:
            return f"[{size}: could not be saved as {path}]"
        return f"[{size}, saved as {path}]"


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


def _refusal(server: str, error: MCPError) -> tuple[str, ToolErrorKind]:
    text = shortened(error.message, _MAX_MESSAGE_CHARS) or f"it gave no reason (code {error.code})"
    kind = ToolErrorKind.BAD_ARGUMENTS if error.code == INVALID_PARAMS else ToolErrorKind.REFUSED
    return f"{server} refused: {text}", kind


async def all_closed(servers: Sequence[LiveServer]) -> None:
    """Return when all `servers` have ended."""
    await asyncio.gather(*(server.close() for server in servers))
