"""The wire to a server, with an end to what it may say: for processes and for URLs.

The SDK holds the conversation; what it gets to read is counted here first.
"""

import contextlib
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
import httpx2
from mcp.client import Transport
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from environments.ports import Process

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

_logger = logging.getLogger(__name__)

MAX_BYTES_PER_CALL = 16 << 20
"""What a server may say between two of our requests, all messages together."""

_MAX_LINE_BYTES = 8 << 20
_CONNECT_SECONDS = 20.0


class Wire:
    """What one connection has carried, and why it was cut."""

    def __init__(self) -> None:
        self.fault: str | None = None
        """Why we stopped listening."""
        self.ended = False
        """Nothing comes any more."""
        self.stray_lines = 0
        """Lines on standard output that are no messages."""
        self._left = MAX_BYTES_PER_CALL

    def renew(self) -> None:
        """Let the server say as much again, because we ask it something."""
        self._left = MAX_BYTES_PER_CALL

    def count(self, size: int) -> bool:
        """Return whether `size` more bytes may be listened to."""
        self._left -= size
        if self._left < 0:
            self.fault = f"it sent more than {MAX_BYTES_PER_CALL >> 20} MB for one request"
        return self._left >= 0


@asynccontextmanager
async def over_process(process: Process, wire: Wire) -> AsyncIterator[Any]:
    """Yield the SDK's streams over a process that speaks on its standard streams."""
    incoming, read_stream = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    write_stream, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_listen, process, incoming, wire)
        tasks.start_soon(_speak, process, outgoing)
        try:
            yield read_stream, write_stream
        finally:
            tasks.cancel_scope.cancel()
            for stream in (incoming, read_stream, write_stream, outgoing):
                stream.close()


def over_http(url: str, token: str | None, read_seconds: float) -> Transport:
    """Return the SDK's transport to `url`, with every answer bounded.

    Args:
        url: Where the server is.
        token: Bearer token, sent there and nowhere else.
        read_seconds: Longest silence within an answer.
    """
    # What is compressed could be a thousand times as much.
    headers = {"Accept-Encoding": "identity"}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    client = httpx2.AsyncClient(
        headers=headers,
        timeout=httpx2.Timeout(_CONNECT_SECONDS, read=read_seconds),
        event_hooks={"response": [_bound]},
    )
    return _closing(url, client)


@asynccontextmanager
async def _closing(url: str, client: httpx2.AsyncClient) -> AsyncIterator[Any]:
    async with client, streamable_http_client(url, http_client=client) as streams:
        yield streams


async def _listen(
    process: Process, incoming: "MemoryObjectSendStream[SessionMessage | Exception]", wire: Wire
) -> None:
    """Pass on the messages line by line; end the stream when the process or our patience ends."""
    unread = bytearray()
    # The other end is closed when the session is over.
    with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
        async with incoming:
            while (chunk := await process.read()) and wire.count(len(chunk)):
                unread += chunk
                if b"\n" in chunk:
                    *lines, unread = unread.split(b"\n")
                    for line in lines:
                        await _pass_on(bytes(line), incoming, wire)
                if len(unread) > _MAX_LINE_BYTES:
                    wire.fault = f"it sent a message of more than {_MAX_LINE_BYTES >> 20} MB"
                    break
            wire.ended = True


async def _pass_on(
    line: bytes, incoming: "MemoryObjectSendStream[SessionMessage | Exception]", wire: Wire
) -> None:
    if not line.strip():
        return
    try:
        message = jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValueError:
        # Servers print greetings where only messages belong; that alone breaks nothing.
        wire.stray_lines += 1
        _logger.debug("a line that is no message: %r", line[:200])
        return
    await incoming.send(SessionMessage(message))


async def _speak(process: Process, outgoing: "MemoryObjectReceiveStream[SessionMessage]") -> None:
    async with outgoing:
        async for item in outgoing:
            text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
            try:
                await process.write(text.encode() + b"\n")
            except BrokenPipeError:
                # The end of its output tells the session.
                return


class _Bounded(httpx2.AsyncByteStream):
    """The bytes of one answer, up to a limit."""

    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream
        self._left = MAX_BYTES_PER_CALL

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._stream:
            self._left -= len(chunk)
            if self._left < 0:
                raise httpx2.RemoteProtocolError(
                    f"the server sent more than {MAX_BYTES_PER_CALL >> 20} MB for one request"
                )
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


async def _bound(response: httpx2.Response) -> None:
    encoding = response.headers.get("content-encoding", "identity")
    if encoding != "identity":
        raise httpx2.RemoteProtocolError(f"the server compresses its answers ({encoding[:40]})")
    if isinstance(response.stream, httpx2.AsyncByteStream):
        response.stream = _Bounded(response.stream)
