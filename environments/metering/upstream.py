"""One attempt at a call: sends the request to the provider and relays its answer."""

import io
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from environments.metering.accounting import CallAccounting
from environments.metering.answers import RecordedAnswer
from environments.metering.calls import Call, Fault, Terms
from environments.metering.formats.dialects import (
    dialects_of,
    error_body,
    family_of,
    real_headers,
)
from environments.metering.formats.replies import all_of, decoded, read_reply
from environments.metering.stream_relay import StreamRelay
from environments.models.faults import (
    AttemptFailed,
    from_error,
    from_status,
    one_line,
    says_too_large,
)
from environments.models.limits.headers import allowances, retry_after
from environments.models.limits.protocols import Outcome
from environments.models.wire.endpoint import Endpoint
from environments.models.wire.http import CONNECT_SECONDS, connection_fault
from taskdata.errors import ModelRejected, ModelUnavailable

if TYPE_CHECKING:
    import aiohttp
    from aiohttp import web

_JSON, _STREAM = "application/json", "text/event-stream"
_MAX_ERROR_BYTES = 64 * 1024
_OURS_TO_MEND = frozenset({401, 402, 403, 407})
"""Statuses that mean our key or account is wrong, which is not the program's fault."""
_PASSED_ON = ("retry-after", "retry-after-ms", "x-should-retry", "request-id", "x-request-id")


class Upstream:
    """Calls the provider of a trial's model and accounts for the result."""

    def __init__(
        self, terms: Terms, accounting: CallAccounting, session: "aiohttp.ClientSession"
    ) -> None:
        self._endpoint = terms.endpoint
        self._silent_seconds = terms.policy.attempt_seconds
        self._accounting = accounting
        self._session = session
        self._proxy = _proxy_for(terms.endpoint)

    async def send(self, call: Call) -> "web.StreamResponse":
        """Send the call to the provider; return the response for the program.

        Raises:
            ModelUnavailable: the provider did not answer, or its answer cannot be parsed.
            StoreUnavailable: the answer could not be stored.
        """
        import aiohttp

        call.was_sent = True
        try:
            # A redirect would send the key to another host.
            async with self._session.post(
                self._endpoint.base_url.rstrip("/") + call.dialect.behind,
                data=io.BytesIO(call.content),
                headers=real_headers(self._endpoint, call.request.headers),
                allow_redirects=False,
                proxy=self._proxy,
                # The same timeout as for our own agents.
                timeout=aiohttp.ClientTimeout(
                    sock_connect=CONNECT_SECONDS, sock_read=self._silent_seconds
                ),
            ) as answered:
                requests, tokens = allowances(answered.headers)
                call.allowances = {"requests": requests, "input_tokens": tokens}
                if answered.status >= 300:
                    return await self._rejected(call, answered)
                if answered.content_type == _STREAM:
                    return await self._streamed(call, answered.content.iter_any())
                return await self._whole(call, await all_of(answered, str(self._endpoint)))
        except (aiohttp.ClientError, OSError) as exc:
            raise connection_fault(self._endpoint, exc) from None

    async def replay(self, call: Call, earlier: RecordedAnswer) -> "web.StreamResponse":
        """Return the answer that an earlier attempt at the trial got; it counts like a new one."""
        if earlier.content_type == _STREAM:
            return await self._streamed(call, _in_one_piece(earlier.content))
        return await self._whole(call, earlier.content)

    def failed(self, call: Call, fault: Fault, status: int = 502) -> "web.Response":
        """Note that the provider made the call fail; return the response for the program."""
        from aiohttp import web

        self._accounting.failed(call, fault)
        told = error_body(family_of(self._endpoint), "api_error", "the model's provider failed")
        return web.json_response(told, status=status)

    async def _rejected(
        self, call: Call, answered: "aiohttp.ClientResponse"
    ) -> "web.StreamResponse":
        from aiohttp import web

        status = answered.status
        call.was_rejected = True
        content = self._endpoint.without_key(await answered.content.read(_MAX_ERROR_BYTES))
        body = decoded(content)
        fault = from_status(str(self._endpoint), status, answered.headers, body, self._endpoint.key)
        if status < 400 or status in _OURS_TO_MEND or (status == 404 and self._is_lost(call)):
            # The program must not see what the provider says about our key.
            return self.failed(call, fault, status if status >= 400 else 502)
        will_never_fit = says_too_large(body)
        if _is_providers(fault, will_never_fit):
            self._accounting.failed(call, fault)
        else:
            self._accounting.rejected(call, fault)
        if (isinstance(fault, AttemptFailed) or status == 429) and not will_never_fit:
            is_limit = status == 429 or (isinstance(fault, AttemptFailed) and fault.is_limit)
            call.outcome = Outcome(
                kind="limited" if is_limit else "fault",
                retry_after_seconds=retry_after(answered.headers),
            )
        kept = {name: answered.headers[name] for name in _PASSED_ON if name in answered.headers}
        return web.Response(
            body=content,
            status=status,
            headers={name: self._without_key(value) for name, value in kept.items()},
            content_type=self._without_key(answered.content_type),
        )

    def _is_lost(self, call: Call) -> bool:
        """Return whether a 404 means that our base URL or model name is wrong.

        A program may also try a format that the provider lacks, which says nothing about the model.
        """
        usual = dialects_of(self._endpoint)[0].name
        return call.dialect.name == usual and not self._accounting.was_answered_in(usual)

    async def _whole(self, call: Call, content: bytes) -> "web.Response":
        from aiohttp import web

        clean = self._endpoint.without_key(content)
        body = decoded(clean)
        if not isinstance(body, dict):
            raise AttemptFailed(f"{self._endpoint}: the answer is not JSON, {len(content)} bytes")
        if not body.get("error"):
            await self._accounting.answered(call, read_reply(call.dialect, body), _JSON, clean)
            return web.Response(body=clean, content_type=_JSON)
        fault = from_error(str(self._endpoint), body, {}, self._endpoint.key)
        if not _is_programs_fault(fault):
            return self.failed(call, fault)
        self._accounting.rejected(call, fault)
        return web.Response(body=clean, status=fault.status or 400, content_type=_JSON)

    async def _streamed(self, call: Call, pieces: AsyncIterator[bytes]) -> "web.StreamResponse":
        from aiohttp import web

        response = web.StreamResponse(headers={"content-type": _STREAM})
        relay = StreamRelay(call.dialect, call.asked.hides_usage, self._endpoint.without_key)
        ends_well = False
        try:
            # The provider charges for the answer even if the program has left, so it is read to its
            # end.
            with suppress(ConnectionError):
                await response.prepare(call.request)
            await relay.begin(pieces, response)
            if relay.is_whole:
                answer = read_reply(call.dialect, relay.reply.body())
                await self._accounting.answered(call, answer, _STREAM, relay.content)
                await relay.end(pieces, response)
                ends_well = True
            else:
                ends_well = self._is_refused(call, relay)
        finally:
            if call.whole is None:
                call.part = read_reply(call.dialect, relay.reply.body())
            if not ends_well:
                # A regular end of the response would make the stream look complete.
                _hang_up(call.request)
        return response

    def _is_refused(self, call: Call, relay: StreamRelay) -> bool:
        """Account for an incomplete stream; return whether the stream reported an error itself."""
        error = relay.reply.error
        if error is None:
            cause = one_line(relay.broke_off or "the stream ended early", self._endpoint.key)
            self._accounting.failed(call, ModelUnavailable(f"{self._endpoint}: {cause}"))
            return False
        fault = from_error(str(self._endpoint), {"error": error}, {}, self._endpoint.key)
        if not _is_programs_fault(fault):
            self._accounting.failed(call, fault)
            return False
        self._accounting.rejected(call, fault)
        return True

    def _without_key(self, header: str) -> str:
        sent = header.encode("utf-8", "surrogateescape")
        return self._endpoint.without_key(sent).decode("utf-8", "surrogateescape")


def _is_providers(fault: ModelRejected | AttemptFailed, will_never_fit: bool) -> bool:
    """Return whether an error status is the provider's fault and not the request's."""
    if fault.status != 429:
        return isinstance(fault, AttemptFailed)
    # A 429 is usually not the agent's fault: the account is empty, or our limiter was probing.
    return isinstance(fault, ModelRejected) or not will_never_fit


def _is_programs_fault(fault: ModelRejected | AttemptFailed) -> bool:
    """Return whether an error in place of an answer is caused by the request."""
    return isinstance(fault, ModelRejected) and fault.status not in {*_OURS_TO_MEND, 429}


def _proxy_for(endpoint: Endpoint) -> str | None:
    """Return the proxy that the environment names for the endpoint, looked up once.

    aiohttp would look it up for every request, in a thread, and would also read logins from
    `.netrc`.
    """
    # A local server is reached directly, whatever the environment says.
    if endpoint.spec.provider == "local" or proxy_bypass(endpoint.host):
        return None
    return getproxies().get(urlsplit(endpoint.base_url).scheme)


async def _in_one_piece(content: bytes) -> AsyncIterator[bytes]:
    yield content


def _hang_up(request: "web.Request") -> None:
    if request.transport is not None:
        request.transport.close()
