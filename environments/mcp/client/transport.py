"""Transport to a server over a process or a URL, with a limit on what the server may send.

The SDK speaks the protocol; the bytes that it reads are counted here first.
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
"""What a server may send between two of our requests, all messages together."""

_MAX_LINE_BYTES = 8 << 20
_CONNECT_SECONDS = 20.0


class Wire:
    """How much one connection has carried, and why it was cut."""

    def __init__(self) -> None:
        self.fault: str | None = None
        """Why reading was stopped."""
        self.ended = False
        """No more data will come."""
        self.stray_lines = 0
        """Lines on standard output that are not messages of the protocol."""
        self._left = MAX_BYTES_PER_CALL

    def renew(self) -> None:
        """Reset the byte count, because a new request is sent."""
        self._left = MAX_BYTES_PER_CALL

    def count(self, size: int) -> bool:
        """Count `size` more bytes; return whether the total is still within the limit."""
        self._left -= size
        if self._left < 0:
            self.fault = f"it sent more than {MAX_BYTES_PER_CALL >> 20} MB for one request"
        return self._left >= 0


@asynccontextmanager
async def over_process(process: Process, wire: Wire) -> AsyncIterator[Any]:
    """Yield the SDK's streams over a process that talks on its standard streams."""
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
    """Return the SDK's transport to `url`, with the size of every answer limited.

    Args:
        url: Address of the server.
        token: Bearer token, sent to this server only.
        read_seconds: Longest silence within an answer.
    """
    # A compressed answer could unpack to a thousand times its size.
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
    """Pass on the messages line by line until the process ends or exceeds a limit."""
    unread = bytearray()
    # The receiving end is closed when the session is over.
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
        # Some servers print greetings on standard output; that alone is no failure.
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
                # Closing the stream tells the session that the server has ended.
                return


class _Bounded(httpx2.AsyncByteStream):
    """The bytes of one answer, up to the limit."""

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
