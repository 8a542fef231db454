"""What the web search providers share: HTTP session, retries, errors, and secrecy of the key."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import ValidationError

from environments.models import faults
from environments.models.faults import AttemptFailed
from environments.models.retry import RetryPolicy, with_retries
from environments.models.wire.reading import Wire
from taskdata.errors import ModelRejected, ModelUnavailable, ToolUnavailable

if TYPE_CHECKING:
    import aiohttp

MAX_BODY_BYTES = 2_000_000

_CALL_SECONDS = 60.0
W = TypeVar("W", bound=Wire)


class SearchService:
    """A search service over HTTP; safe to share within one event loop."""

    def __init__(self, url: str, key: str, policy: RetryPolicy | None = None) -> None:
        self._url = url
        self._key = key
        self._policy = policy or RetryPolicy(attempts=4, attempt_seconds=20.0)
        self._session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def post(
        self, name: str, headers: Mapping[str, str], body: Mapping[str, Any], form: type[W]
    ) -> W:
        """Return the answer to a JSON request.

        Args:
            name: Name of the service, for messages.
            headers: Headers that include the key.
            body: Body of the request.
            form: The pydantic type of the answer.

        Raises:
            ToolUnavailable: the service cannot be reached, or refused the request.
        """

        async def attempt(seconds: float) -> W:
            return await self._attempt(name, headers, body, form)

        try:
            return await with_retries(attempt, name, _CALL_SECONDS, self._policy)
        except (ModelUnavailable, ModelRejected) as exc:
            raise ToolUnavailable(f"search: {exc}") from None

    async def _attempt(
        self, name: str, headers: Mapping[str, str], body: Mapping[str, Any], form: type[W]
    ) -> W:
        import aiohttp

        if self._session is None:
            self._session = aiohttp.ClientSession(trust_env=True)
        try:
            # A redirect would send the key to another host.
            async with self._session.post(
                self._url, json=body, headers=headers, allow_redirects=False
            ) as response:
                content = await response.content.read(MAX_BODY_BYTES + 1)
                while len(content) <= MAX_BODY_BYTES and not response.content.at_eof():
                    content += await response.content.read(MAX_BODY_BYTES + 1)
        except (aiohttp.ClientError, OSError) as exc:
            cause = faults.one_line(str(exc) or type(exc).__name__, self._key)
            raise AttemptFailed(f"{name}: the connection failed: {cause}") from None
        if response.status >= 300:
            error = _json(content)
            raise faults.from_status(name, response.status, response.headers, error, self._key)
        return self._read(name, content, form)

    def _read(self, name: str, content: bytes, form: type[W]) -> W:
        if len(content) > MAX_BODY_BYTES:
            raise AttemptFailed(f"{name}: the answer has more than {MAX_BODY_BYTES} bytes")
        try:
            return form.model_validate(_json(content))
        except ValidationError as exc:
            first = exc.errors(include_input=False, include_url=False)[0]
            place = ".".join(map(str, first["loc"])) or "answer"
            raise AttemptFailed(f"{name}: unexpected answer: {place}: {first['msg']}") from None


def _json(content: bytes) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None
