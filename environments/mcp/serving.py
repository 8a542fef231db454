"""The catalogue as an MCP server: any client can call our tools, each call in the sandbox."""

import asyncio
import base64
import logging
import os
import socket
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import cast

import anyio
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ContentBlock,
    ImageContent,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
)
from mcp_types import Tool as ShownTool

from environments.ports import Sandbox, Tool
from environments.tool_runtime.catalogue import catalogue
from environments.tool_runtime.registry import MODULES
from environments.toolkit.definition import cut_text
from environments.tools.looking.view_file import VIEW_FILE
from taskdata.errors import Misuse, NightshiftError
from taskdata.schema.tool import ToolErrorKind, ToolResult
from taskdata.version import code_version

_logger = logging.getLogger(__name__)

MAX_CALLS_AT_ONCE = 4

_PAGING = "Ask for a smaller part."
_MAX_REQUEST_BYTES = 4 << 20
_CHUNK_BYTES = 1 << 16
_INSTRUCTIONS = (
    "Every tool runs in a sandbox without network over one workspace: read files below input/, "
    "write files below output/. Paths are relative to the workspace."
)


def servable_tools(names: Sequence[str]) -> Mapping[str, Tool]:
    """Return the named tools that work inside a sandbox; without names, all such tools.

    The other tools belong to a trial: they end it, show its history, or call a model on its budget.

    Raises:
        Misuse: a name is not among these tools.
    """
    known = {name: catalogue()[name] for name in (*MODULES, VIEW_FILE)}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise Misuse(
            f"{', '.join(map(repr, unknown))}: no such tool to serve; there are {', '.join(known)}"
        )
    return {name: known[name] for name in names} if names else known


def catalogue_server(tools: Mapping[str, Tool], sandbox: Sandbox) -> Server:
    """Return an MCP server that offers `tools` and runs their calls in `sandbox`."""
    slots = asyncio.Semaphore(MAX_CALLS_AT_ONCE)

    async def list_tools(
        context: ServerRequestContext, params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        return ListToolsResult(tools=[_shown(tool) for tool in tools.values()])

    async def call_tool(
        context: ServerRequestContext, params: CallToolRequestParams
    ) -> CallToolResult:
        async with slots:
            return _answer(await _result(tools, sandbox, params))

    return Server(
        "nightshift",
        version=code_version(),
        instructions=_INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


async def serve_stdio(server: Server) -> None:
    """Serve on standard input and output until the input ends, or the task is cancelled."""
    with _private_input() as descriptor:
        # The SDK's own reader is a thread that cannot be interrupted before the client writes.
        lines = cast("anyio.AsyncFile[str]", _lines(descriptor))
        async with stdio_server(stdin=lines) as (read_stream, write_stream):
            await server.run(read_stream, write_stream, server.create_initialization_options())


async def serve_http(server: Server, host: str, port: int) -> None:
    """Serve streamable HTTP at `/mcp` until interrupted.

    On loopback addresses, requests of web pages for another host name are refused.

    Raises:
        Misuse: the server cannot listen on the address.
    """
    import uvicorn

    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family)
    except OSError as exc:
        raise Misuse(f"cannot listen on {host}:{port}: {exc.strerror or exc}") from exc
    app = server.streamable_http_app(host=host, max_request_body_size=_MAX_REQUEST_BYTES)
    config = uvicorn.Config(app, log_config=None, timeout_graceful_shutdown=5)
    await uvicorn.Server(config).serve(sockets=[listening])


@contextmanager
def _private_input() -> Iterator[int]:
    """Yield a descriptor of standard input, which appears empty to programs that we start."""
    descriptor = os.dup(0)
    try:
        with open(os.devnull, "rb") as nothing:
            os.dup2(nothing.fileno(), 0)
        yield descriptor
    finally:
        os.dup2(descriptor, 0)
        os.close(descriptor)


async def _lines(descriptor: int) -> AsyncIterator[str]:
    pending = b""
    while True:
        # A file cannot be polled, and reading it does not block.
        with suppress(PermissionError):
            await anyio.wait_readable(descriptor)
        chunk = os.read(descriptor, _CHUNK_BYTES)
        if not chunk:
            break
        *lines, pending = (pending + chunk).split(b"\n")
        for line in lines:
            yield line.decode(errors="replace")
    if pending:
        yield pending.decode(errors="replace")


def _shown(tool: Tool) -> ShownTool:
    spec = tool.spec
    return ShownTool(
        name=spec.name, description=spec.description, input_schema=dict(spec.parameters)
    )


async def _result(
    tools: Mapping[str, Tool], sandbox: Sandbox, params: CallToolRequestParams
) -> ToolResult:
    tool = tools.get(params.name)
    if tool is None:
        text = f"There is no tool {params.name[:200]!r}. Tools: {', '.join(tools)}."
        return ToolResult(text=text, error=ToolErrorKind.UNKNOWN_TOOL)
    try:
        result = await tool.run(params.arguments or {}, sandbox)
    except NightshiftError as exc:
        # This is not the client's fault, but the client must be told.
        _logger.error("%s: %s", params.name, exc)
        return ToolResult(text=f"{params.name} cannot work now: {exc}", error=ToolErrorKind.REFUSED)
    # Paging through long results is a tool of trials, which MCP clients do not have.
    return result.model_copy(update={"text": cut_text(result.text, _PAGING)})


def _answer(result: ToolResult) -> CallToolResult:
    """Return a result in MCP's form: the text, and the files that the call wrote."""
    content: list[ContentBlock] = [TextContent(text=result.text)]
    content += [
        ImageContent(data=base64.b64encode(p.data).decode(), mime_type=p.media_type)
        for p in result.pictures
    ]
    if result.files:
        content.append(TextContent(text="Files written: " + ", ".join(result.files)))
    structured = {
        "files": list(result.files),
        "error": result.error,
        "seconds": round(result.seconds, 3),
    }
    return CallToolResult(
        content=content, structured_content=structured, is_error=result.error is not None
    )
