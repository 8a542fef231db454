"""HTTP to a model provider: bytes out, bytes in, and every way a connection fails made one type.

The providers' SDKs cost two to ten times as much for each call, and would only carry the same
bytes: bodies are made, answers read and attempts repeated here, so that half-compliant servers
are dealt with in one place.
"""

import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from environments.models.faults import AttemptFailed, one_line
from taskdata.errors import ModelRejected
from taskdata.schema.agent import ModelSpec

if TYPE_CHECKING:
    import aiohttp

MAX_ANSWER_BYTES = 32_000_000
_IDLE_SECONDS = 60.0
_LARGE_BODY_BYTES = 1_000_000


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
        self._proxy = _proxy(endpoint)

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
            AttemptFailed: No whole answer came.
            ModelRejected: It is larger than any answer is, or would send us elsewhere.
        """
        import aiohttp

        session = self._session or self._open()
        url = self._endpoint.base_url.rstrip("/") + path
        # Beyond this aiohttp wants a file, which it sends piece by piece.
        data = body if len(body) < _LARGE_BODY_BYTES else io.BytesIO(body)
        try:
            # A redirect would take the key along to another host.
            async with session.post(
                url, data=data, allow_redirects=False, proxy=self._proxy
            ) as response:
                content = await self._read(response)
        except (aiohttp.ClientError, OSError) as exc:
            cause = one_line(str(exc) or type(exc).__name__, self._endpoint.key)
            raise AttemptFailed(f"{self._endpoint}: the connection failed: {cause}") from None
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

    def _open(self) -> "aiohttp.ClientSession":
        import aiohttp

        # How many calls are made at once is the limiter's business; so are their timeouts ours.
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=_IDLE_SECONDS),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=30.0),
            headers=self._headers,
            cookie_jar=aiohttp.DummyCookieJar(),
        )
        return self._session


def _proxy(endpoint: Endpoint) -> str | None:
    """Return the proxy that the environment names for the endpoint, looked up once.

    aiohttp would look at every request, in another thread, and take logins from `.netrc` too.
    """
    url = urlsplit(endpoint.base_url)
    # A local server is reached directly, whatever the environment says.
    if endpoint.spec.provider == "local" or proxy_bypass(endpoint.host):
        return None
    return getproxies().get(url.scheme)
