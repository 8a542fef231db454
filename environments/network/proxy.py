"""A forward proxy for one trial: CONNECT, and plain HTTP by absolute URL, to allowed hosts.

h11 reads and writes every request head, so that the request that is checked is the request that is
sent on. Each connection serves one request, because the program's next request may be for another
host.
"""

import asyncio
import contextlib
import logging
from collections import Counter
from http import HTTPStatus

import h11

from environments.network.policy import Policy, Refused
from environments.network.request import BadTarget, connect_target, onward, url_target
from environments.network.tunnel import Streams, carry, closed
from taskdata.schema.network import RefusedTarget

_logger = logging.getLogger(__name__)

MAX_HEAD_BYTES = 16_384
MAX_CONNECTIONS = 64
MAX_REFUSED = 100
_MAX_ADDRESSES = 4
_SECONDS_FOR_HEAD = 10.0
_SECONDS_TO_CONNECT = 10.0
_IDLE_SECONDS = 120.0
_CHUNK = 1 << 16


class _Unanswerable(Exception):
    """A request that the proxy answers itself, with a status and a reason."""

    def __init__(self, status: HTTPStatus, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class Proxy:
    """Serves the connections of one trial's programs."""

    def __init__(
        self,
        policy: Policy,
        seconds_for_head: float = _SECONDS_FOR_HEAD,
        idle_seconds: float = _IDLE_SECONDS,
    ) -> None:
        self._policy = policy
        self._seconds_for_head = seconds_for_head
        self._idle_seconds = idle_seconds
        self._refused: Counter[tuple[str, str]] = Counter()
        self._serving: set[asyncio.Task[None]] = set()

    def refused(self) -> tuple[RefusedTarget, ...]:
        """Return the targets that programs were refused, in the order of the first attempts.

        The first `MAX_REFUSED` different targets are named, the others are counted together.
        """
        return tuple(
            RefusedTarget(target=target, reason=reason, times=times)
            for (target, reason), times in self._refused.items()
        )

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection in an asyncio task; one above the limit is closed at once."""
        if len(self._serving) >= MAX_CONNECTIONS:
            self._note("*", f"more than {MAX_CONNECTIONS} connections at once")
            writer.transport.abort()
            return
        task = asyncio.create_task(self._serve((reader, writer)))
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)

    async def close(self) -> None:
        """Cut off the connections that are still open."""
        serving = list(self._serving)
        for task in serving:
            task.cancel()
        await asyncio.gather(*serving, return_exceptions=True)

    async def _serve(self, client: Streams) -> None:
        http = h11.Connection(h11.SERVER, MAX_HEAD_BYTES)
        try:
            await self._answer(client, http)
        except _Unanswerable as error:
            await _refuse(client, http, error.status, str(error))
        except h11.ProtocolError as error:
            await _refuse(client, http, HTTPStatus(error.error_status_hint), str(error))
        except OSError as error:
            _logger.debug("a connection of a sandboxed program broke: %s", error)
        finally:
            await closed(client[1])

    async def _answer(self, client: Streams, http: h11.Connection) -> None:
        request = await self._request(client[0], http)
        try:
            if request.method == b"CONNECT":
                host, port = connect_target(request)
            else:
                host, port, request = *url_target(request), onward(request)
        except BadTarget as error:
            raise _Unanswerable(HTTPStatus.BAD_REQUEST, str(error)) from error
        server = await self._connected(host, port)
        try:
            if request.method == b"CONNECT":
                await self._tunnel(client, http, server)
            else:
                # A server may answer and close the connection before it has read the whole request.
                with contextlib.suppress(ConnectionError):
                    await self._send(client, http, server, request)
                await self._send_back(server, client)
        finally:
            await closed(server[1])

    async def _request(self, reader: asyncio.StreamReader, http: h11.Connection) -> h11.Request:
        try:
            async with asyncio.timeout(self._seconds_for_head):
                while (event := http.next_event()) is h11.NEED_DATA:
                    http.receive_data(await reader.read(_CHUNK))
        except TimeoutError:
            raise _Unanswerable(
                HTTPStatus.REQUEST_TIMEOUT,
                f"the head of the request did not arrive within {self._seconds_for_head:g} s",
            ) from None
        if not isinstance(event, h11.Request):
            raise ConnectionError("the connection ended before its request")
        return event

    async def _connected(self, host: str, port: int) -> Streams:
        target = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        try:
            addresses = await self._policy.addresses(host, port)
        except Refused as error:
            self._note(target, str(error))
            raise _Unanswerable(HTTPStatus.FORBIDDEN, f"{target} is {error}") from error
        except OSError as error:
            raise _Unanswerable(
                HTTPStatus.BAD_GATEWAY, f"{host} has no address here: {error}"
            ) from error
        for address in addresses[:_MAX_ADDRESSES]:
            try:
                async with asyncio.timeout(_SECONDS_TO_CONNECT):
                    return await asyncio.open_connection(address, port)
            except OSError as error:
                _logger.debug("%s at %s cannot be reached: %s", target, address, error)
        raise _Unanswerable(HTTPStatus.BAD_GATEWAY, f"{target} cannot be reached")

    async def _tunnel(self, client: Streams, http: h11.Connection, server: Streams) -> None:
        # The request has no body; reading its end makes h11 accept the answer to CONNECT.
        http.next_event()
        client[1].write(http.send(h11.Response(status_code=HTTPStatus.OK, headers=[])) or b"")
        server[1].write(http.trailing_data[0])
        await carry(client, server, self._idle_seconds)

    async def _send(
        self, client: Streams, http: h11.Connection, server: Streams, request: h11.Request
    ) -> None:
        """Send a request to its server, and the body as it arrives."""
        out = h11.Connection(h11.CLIENT)
        server[1].write(out.send(request) or b"")
        if http.they_are_waiting_for_100_continue:
            go_on = h11.InformationalResponse(status_code=HTTPStatus.CONTINUE, headers=[])
            client[1].write(http.send(go_on) or b"")
        while out.our_state is h11.SEND_BODY:
            event = http.next_event()
            async with asyncio.timeout(self._idle_seconds):
                if event is h11.NEED_DATA:
                    http.receive_data(await client[0].read(_CHUNK))
                elif isinstance(event, h11.Data):
                    server[1].write(out.send(event) or b"")
                    await server[1].drain()
                elif isinstance(event, h11.EndOfMessage):
                    server[1].write(out.send(h11.EndOfMessage()) or b"")

    async def _send_back(self, server: Streams, client: Streams) -> None:
        """Send the answer back unchanged until the server closes the connection."""
        while True:
            async with asyncio.timeout(self._idle_seconds):
                chunk = await server[0].read(_CHUNK)
                if not chunk:
                    return
                client[1].write(chunk)
                await client[1].drain()

    def _note(self, target: str, reason: str) -> None:
        key = target, reason
        if key not in self._refused and len(self._refused) >= MAX_REFUSED:
            key = "*", f"more than {MAX_REFUSED} different targets"
        if key not in self._refused:
            _logger.info("a sandboxed program is kept from %s: %s", *key)
        self._refused[key] += 1


async def _refuse(client: Streams, http: h11.Connection, status: HTTPStatus, reason: str) -> None:
    """Answer with an error, unless an answer has already begun."""
    if http.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
        return
    body = f"{reason}\n".encode()
    headers = [
        ("content-type", "text/plain; charset=utf-8"),
        ("content-length", str(len(body))),
        ("connection", "close"),
    ]
    events = (
        h11.Response(status_code=status, headers=headers, reason=status.phrase.encode()),
        h11.Data(data=body),
        h11.EndOfMessage(),
    )
    client[1].write(b"".join(http.send(event) or b"" for event in events))
