"""The HTTP client that the providers' SDKs are given: their aiohttp client, with safe settings.

The SDK owns the connections, the headers and the error classes. Its default client would follow a
redirect with the key, read an answer of any size into memory, and lose an idle connection; this
module prevents that. The key is removed from answers before the SDK sees them, because the messages
of its exceptions quote answers.
"""

import socket
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

import aiohttp
import httpx2

from environments.models.faults import AttemptFailed, NotSent, one_line
from environments.models.wire.endpoint import Endpoint
from taskdata.errors import ModelRejected

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_ANSWER_BYTES = 32_000_000
CONNECT_SECONDS = 30.0
_IDLE_SECONDS = 60.0
_LARGE_BODY_BYTES = 1_000_000
_PIECE_BYTES = 65_536
_ENCODINGS = ("gzip", "deflate", "identity")
"""Other encodings may unpack a small piece of an answer to more than memory holds."""
_NOT_PASSED_ON = (
    *("content-encoding", "transfer-encoding", "content-length"),
    *("location", "set-cookie"),
)
"""Headers that are wrong for the unpacked answer, or that must have no effect."""
_PROBES = {
    "TCP_KEEPIDLE": 60,
    "TCP_KEEPALIVE": 60,  # The same on macOS.
    "TCP_KEEPINTVL": 15,
    "TCP_KEEPCNT": 4,
    "TCP_USER_TIMEOUT": 120_000,
}
"""A dead server is noticed within two minutes, and routers that drop idle connections keep one to a
model that thinks for an hour."""
_UNCONNECTED = (
    aiohttp.ClientConnectorError,
    aiohttp.ClientHttpProxyError,
    aiohttp.ConnectionTimeoutError,
)


class AnswerTooLarge(httpx2.RequestError):
    """An answer is larger than any reply of a model, or has an encoding that was not requested."""


class SafeClient(httpx2.AsyncClient):
    """Settings for the aiohttp client of an SDK; a mixin that precedes that class."""

    def __init__(self, endpoint: Endpoint, most_bytes: int | None = None) -> None:
        """Make a client for one endpoint; its connections belong to the loop of its first use.

        `most_bytes` limits an answer; None: `MAX_ANSWER_BYTES`.
        """
        self._endpoint = endpoint
        self._most_bytes = most_bytes
        super().__init__(
            # A redirect would send the key to another host.
            follow_redirects=False,
            # A local server is reached directly, whatever proxy the environment names.
            trust_env=endpoint.spec.provider != "local",
            timeout=httpx2.Timeout(None, connect=CONNECT_SECONDS),
            headers={"accept-encoding": ", ".join(_ENCODINGS)},
        )

    def _init_transport(self, *args: Any, **settings: Any) -> httpx2.AsyncBaseTransport:
        return self._safe(super()._init_transport(*args, **settings))

    def _init_proxy_transport(self, *args: Any, **settings: Any) -> httpx2.AsyncBaseTransport:
        return self._safe(super()._init_proxy_transport(*args, **settings))

    def _safe(self, inner: Any) -> httpx2.AsyncBaseTransport:
        inner.client = open_session
        return _SafeTransport(inner, self._endpoint, self._most_bytes or MAX_ANSWER_BYTES)


class _SafeTransport(httpx2.AsyncBaseTransport):
    """Reads every answer whole, up to a size limit, and removes the key."""

    def __init__(
        self, inner: httpx2.AsyncBaseTransport, endpoint: Endpoint, most_bytes: int
    ) -> None:
        self._inner = inner
        self._endpoint = endpoint
        self._most_bytes = most_bytes

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        try:
            answered = await self._inner.handle_async_request(await _in_pieces(request))
            try:
                content = await self._read(answered)
            finally:
                await answered.aclose()
        # The SDK's transport does not translate some of aiohttp's errors.
        except (aiohttp.ClientError, OSError) as exc:
            raise httpx2.RequestError(str(exc)) from exc
        headers = httpx2.Headers(answered.headers.raw)
        for name in _NOT_PASSED_ON:
            headers.pop(name, None)
        return httpx2.Response(
            answered.status_code, headers=headers, content=content, request=request
        )

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def _read(self, answered: httpx2.Response) -> bytes:
        encoding = answered.headers.get("content-encoding", "identity").lower()
        if encoding not in _ENCODINGS:
            raise AnswerTooLarge(f"the answer comes as {one_line(encoding, limit=20)}")
        pieces, size = [], 0
        async for piece in answered.aiter_bytes():
            size += len(piece)
            if size > self._most_bytes:
                raise AnswerTooLarge(f"the answer has more than {self._most_bytes} bytes")
            pieces.append(piece)
        return self._endpoint.without_key(b"".join(pieces))


async def _in_pieces(request: httpx2.Request) -> httpx2.Request:
    """Return a request whose body is sent in pieces if it is large, as aiohttp requires."""
    if int(request.headers.get("content-length", "0")) < _LARGE_BODY_BYTES:
        return request
    body = await request.aread()

    async def pieces() -> AsyncIterator[bytes]:
        for begin in range(0, len(body), _PIECE_BYTES):
            yield body[begin : begin + _PIECE_BYTES]

    return httpx2.Request(
        request.method,
        request.url,
        headers=request.headers,
        content=pieces(),
        extensions=request.extensions,
    )


def open_session(headers: "Mapping[str, str] | None" = None) -> aiohttp.ClientSession:
    """Return an aiohttp session for calls to models, in this event loop.

    It has no limits of its own: the limiter decides how many calls run at a time, and the caller
    how long they may take.
    """
    connector = aiohttp.TCPConnector(
        limit=0, keepalive_timeout=_IDLE_SECONDS, socket_factory=_probing_socket
    )
    return aiohttp.ClientSession(
        connector=connector,
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS),
        headers=headers,
        cookie_jar=aiohttp.DummyCookieJar(),
    )


def _probing_socket(address: tuple[Any, ...]) -> socket.socket:
    """Return a socket with keepalive probes, which detect a dead peer."""
    family, kind, protocol, *_ = address
    probing = socket.socket(family, kind, protocol)
    probing.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _PROBES.items():
        if (option := getattr(socket, name, None)) is not None:
            probing.setsockopt(socket.IPPROTO_TCP, option, value)
    return probing


def connection_fault(endpoint: Endpoint, error: BaseException) -> AttemptFailed | ModelRejected:
    """Return our error for a connection that failed, by the cause of `error`.

    `NotSent` if no connection was made, `ModelRejected` if the answer is too large, else
    `AttemptFailed`: the request may have arrived.
    """
    cause = error
    # The SDK wraps the httpx2 error, which wraps the aiohttp error that names the cause.
    while cause.__cause__ is not None and not isinstance(cause, (aiohttp.ClientError, OSError)):
        cause = cause.__cause__
    told = one_line(str(cause) or type(cause).__name__, endpoint.key)
    if isinstance(cause, AnswerTooLarge):
        return ModelRejected(f"{endpoint}: {told}")
    fault = NotSent if isinstance(cause, _UNCONNECTED) else AttemptFailed
    return fault(f"{endpoint}: the connection failed: {told}")
