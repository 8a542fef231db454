"""HTTP to a model provider: bytes out, bytes in, and every way a connection fails made one type.

The providers' SDKs cost two to ten times as much for each call, and would only carry the same
bytes: bodies are made, answers read and attempts repeated here, so that half-compliant servers
are dealt with in one place.
"""

import io
import json
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit
from urllib.request import getproxies, proxy_bypass

from environments.models.faults import AttemptFailed, NotSent, one_line
from taskdata.errors import ModelRejected
from taskdata.schema.agent import ModelSpec

if TYPE_CHECKING:
    import aiohttp

MAX_ANSWER_BYTES = 32_000_000
CONNECT_SECONDS = 30.0
_IDLE_SECONDS = 60.0
_LARGE_BODY_BYTES = 1_000_000
_LEAST_KEY_CHARS = 9
"""What is shorter, such as the word that stands for no key, may well be part of an answer."""
_PROBES = {
    "TCP_KEEPIDLE": 60,
    "TCP_KEEPALIVE": 60,  # The same on macOS.
    "TCP_KEEPINTVL": 15,
    "TCP_KEEPCNT": 4,
    "TCP_USER_TIMEOUT": 120_000,
}
"""A server that is gone is noticed within two minutes, and one that thinks for an hour is not lost
to a router that forgets silent connections."""


@dataclass(frozen=True)
class Endpoint:
    """Where a model is, and the key to it."""

    spec: ModelSpec
    base_url: str = field(repr=False)
    """May hold a login."""
    key: str = field(repr=False)

    def __str__(self) -> str:
        return f"{self.spec} at {self.host}"

    @cached_property
    def host(self) -> str:
        """Name and, where it is given, port of the server."""
        url = urlsplit(self.base_url)
        return f"{url.hostname}:{url.port}" if url.port else f"{url.hostname}"

    def without_key(self, content: bytes) -> bytes:
        """Return what the server sent with `[key]` wherever it repeats the key."""
        for form in self._key_forms:
            content = content.replace(form, b"[key]")
        return content

    @cached_property
    def _key_forms(self) -> tuple[bytes, ...]:
        """The key as it is, as JSON has it and as an address has it."""
        if len(self.key) < _LEAST_KEY_CHARS:
            return ()
        in_json = json.dumps(self.key)[1:-1]
        forms = {self.key, in_json, in_json.replace("/", "\\/")}
        forms |= {quote(self.key), quote(self.key, safe="")}
        return tuple(form.encode() for form in forms)


@dataclass(frozen=True)
class Received:
    """A whole answer, whatever its status."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def content_type(self) -> str:
        """As the server names it; empty if it does not."""
        return self.headers.get("content-type", "")


class Transport:
    """The connections to one endpoint; made when first used, within that event loop."""

    def __init__(self, endpoint: Endpoint, headers: Mapping[str, str]) -> None:
        """Send `headers`, the key among them, with every request."""
        self._endpoint = endpoint
        self._headers = {"content-type": "application/json", "accept": "application/json"}
        self._headers |= headers
        self._session: aiohttp.ClientSession | None = None
        self._proxy = proxy_for(endpoint)

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def post(self, path: str, body: bytes) -> Received:
        """Return the answer to a JSON request; the caller limits its time.

        Args:
            path: Below the base URL, such as `/messages`.
            body: JSON.

        Raises:
            NotSent: There was no connection.
            AttemptFailed: No whole answer came, though the request may have arrived.
            ModelRejected: It is larger than any answer is, or would send us elsewhere.
        """
        import aiohttp

        if self._session is None:
            self._session = open_session(self._headers)
        url = self._endpoint.base_url.rstrip("/") + path
        # Beyond this aiohttp wants a file, which it sends piece by piece.
        data = body if len(body) < _LARGE_BODY_BYTES else io.BytesIO(body)
        try:
            # A redirect would take the key along to another host.
            async with self._session.post(
                url, data=data, allow_redirects=False, proxy=self._proxy
            ) as response:
                content = self._endpoint.without_key(await self._read(response))
        except (aiohttp.ClientError, OSError) as exc:
            raise connection_fault(self._endpoint, exc) from None
        if 300 <= response.status < 400:
            rejected = ModelRejected(
                f"{self._endpoint}: HTTP {response.status}: the server sends us elsewhere; "
                "correct the base URL"
            )
            rejected.status = response.status
            raise rejected
        return Received(response.status, response.headers, content)

    async def _read(self, response: "aiohttp.ClientResponse") -> bytes:
        pieces, size = [], 0
        async for piece in response.content.iter_any():
            size += len(piece)
            if size > MAX_ANSWER_BYTES:
                raise ModelRejected(
                    f"{self._endpoint}: the answer has more than {MAX_ANSWER_BYTES} bytes"
                )
            pieces.append(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def open_session(headers: Mapping[str, str] | None = None) -> "aiohttp.ClientSession":
    """Return a session for calls to models, in this event loop.

    How many calls are made at once is the limiter's business, and how long they take the caller's.
    """
    import aiohttp

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
    """Return a socket that asks a silent peer whether it is still there."""
    family, kind, protocol, *_ = address
    probing = socket.socket(family, kind, protocol)
    probing.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _PROBES.items():
        if (option := getattr(socket, name, None)) is not None:
            probing.setsockopt(socket.IPPROTO_TCP, option, value)
    return probing


def connection_fault(endpoint: Endpoint, error: Exception) -> AttemptFailed:
    """Return what an error of a connection is: `NotSent` where there was none to send it over."""
    import aiohttp

    unconnected = (
        aiohttp.ClientConnectorError,
        aiohttp.ClientHttpProxyError,
        aiohttp.ConnectionTimeoutError,
    )
    cause = one_line(str(error) or type(error).__name__, endpoint.key)
    fault = NotSent if isinstance(error, unconnected) else AttemptFailed
    return fault(f"{endpoint}: the connection failed: {cause}")


def proxy_for(endpoint: Endpoint) -> str | None:
    """Return the proxy that the environment names for the endpoint, looked up once.

    aiohttp would look at every request, in another thread, and take logins from `.netrc` too.
    """
    url = urlsplit(endpoint.base_url)
    # A local server is reached directly, whatever the environment says.
    if endpoint.spec.provider == "local" or proxy_bypass(endpoint.host):
        return None
    return getproxies().get(url.scheme)
