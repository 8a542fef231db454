"""One call on its way to the provider and back."""

import asyncio
import io
import json
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

from environments.metering.books import Books
from environments.metering.calls import Call, Fault, Terms
from environments.metering.formats.dialects import (
    Dialect,
    dialects_of,
    error_body,
    family_of,
    limited_as,
    real_headers,
)
from environments.metering.formats.replies import all_of, decoded, read_answer
from environments.metering.formats.requests import Asked
from environments.metering.ledger import Reservation
from environments.metering.paid import PaidAnswer, request_key
from environments.metering.passage import Passage
from environments.models.faults import (
    AttemptFailed,
    from_error,
    from_status,
    one_line,
    says_too_large,
)
from environments.models.limits.headers import allowances, retry_after
from environments.models.limits.seam import Outcome
from environments.models.wire.transport import (
    CONNECT_SECONDS,
    connection_fault,
    open_session,
    proxy_for,
)
from environments.sandbox.shielding import to_the_end
from taskdata.errors import BudgetExhausted, ModelRejected, ModelUnavailable, StoreUnavailable

if TYPE_CHECKING:
    import aiohttp
    from aiohttp import web

SILENT_SECONDS = 600.0
"""A provider that has not sent a byte for so long is given up, as our own agents do it
(`RetryPolicy.attempt_seconds`): it hangs, and a longer wait would be booked as the agent's."""
_JSON, _STREAM = "application/json", "text/event-stream"
_UNKEPT = "an answer could not be kept, so no call is made any more"
_SECONDS_TO_SETTLE = 5.0
_MAX_ERROR_BYTES = 64 * 1024
_OURS_TO_MEND = frozenset({401, 402, 403, 407})
"""A key or an account of ours is wrong: not the program's doing."""
_LIMITING = frozenset({429, 503, 529})
_PASSED_ON = ("retry-after", "retry-after-ms", "x-should-retry", "request-id", "x-request-id")


class Forwarder:
    """Sends calls on with the real key, and has each of them booked."""

    def __init__(self, terms: Terms, books: Books, session: "aiohttp.ClientSession") -> None:
        self._terms = terms
        self._endpoint = terms.endpoint
        self._books = books
        self._session = session
        self._proxy = proxy_for(terms.endpoint)
        self._in_flight: set[asyncio.Task[web.StreamResponse]] = set()

    @classmethod
    @asynccontextmanager
    async def opened(cls, terms: Terms, books: Books) -> "AsyncIterator[Forwarder]":
        """Yield a forwarder with connections of its own."""
        async with open_session() as session:
            forwarder = cls(terms, books, session)
            try:
                yield forwarder
            finally:
                await to_the_end(forwarder.settled())

    async def forward(
        self, dialect: Dialect, request: "web.Request", asked: Asked, room: Reservation
    ) -> "web.StreamResponse":
        """Return the answer to the program, whatever it is: the provider's, or a kept one.

        A call whose program has left goes on, so that what it comes to is known.
        """
        task = asyncio.create_task(self._paid(Call(dialect, request, asked, room)))
        self._in_flight.add(task)
        task.add_done_callback(self._in_flight.discard)
        return await asyncio.shield(task)

    async def settled(self) -> None:
        """Return once no call is in flight any more and all is booked; what takes long is cut."""
        tasks = set(self._in_flight)
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=_SECONDS_TO_SETTLE)
            for task in late:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        self._books.close()

    async def _paid(self, call: Call) -> "web.StreamResponse":
        """Answer the call; whatever becomes of it, its room in the budget is given back."""
        try:
            if self._books.unkept is not None:
                return self._error(500, "api_error", _UNKEPT)
            try:
                self._prepare(call)
            except RecursionError:
                # Written by the program: no fault of ours, or it could escape its score so.
                self._books.forgive()
                return self._error(400, "invalid_request_error", "it is nested too deeply")
            return await self._afforded(call)
        except Exception as exc:
            said = f"the metering proxy failed: {type(exc).__name__}"
            self._books.count(ModelUnavailable(said))
            raise
        finally:
            self._books.settle(call)

    def _prepare(self, call: Call) -> None:
        call.content = json.dumps(call.body).encode()
        if self._terms.paid is not None:
            call.key = request_key(self._endpoint, call.dialect, call.request.headers, call.body)
            call.kept = self._terms.paid.take(call.key)

    async def _afforded(self, call: Call) -> "web.StreamResponse":
        """Answer the call once there is money of the run's for the most that it may cost."""
        bound, purse = call.room.bound.usd, self._terms.purse
        if purse is None or bound == 0 or call.kept is not None:
            return await self._forward(call)
        async with AsyncExitStack() as stack:
            try:
                if bound is None:
                    raise BudgetExhausted(
                        f"max_usd: the price of so long a request to {self._endpoint} is unknown"
                    )
                async with asyncio.timeout(self._terms.ledger.seconds_left):
                    payment = await stack.enter_async_context(purse.holding(bound))
            except BudgetExhausted as exc:
                self._books.count(exc)
                return self._error(429, "insufficient_quota", "the run's money is used up")
            except TimeoutError:
                said = "other calls of the run held its money until the trial's time was up"
                self._books.count(ModelUnavailable(f"{self._endpoint}: {said}"))
                return self._error(504, "timeout_error", "the trial's time is up")
            try:
                answer = await self._forward(call)
            finally:
                payment.cost_usd = call.paid_usd
        return answer

    async def _forward(self, call: Call) -> "web.StreamResponse":
        seconds = self._terms.ledger.seconds_left
        try:
            async with asyncio.timeout(seconds), AsyncExitStack() as stack:
                if call.kept is not None:
                    return await self._again(call, call.kept)
                await self._wait_in_line(call, stack, seconds)
                return await self._exchange(call)
        except TimeoutError:
            # The trial's own time is up: its program is told, and nobody is to blame, unless all
            # that it did was to stand in line.
            said = f"{self._endpoint}: no answer within {seconds:.3g} s"
            if not call.was_sent and call.kept is None:
                line = "its rate limits left no room until the trial's time was up"
                self._books.count(ModelUnavailable(f"{self._endpoint}: {line}"))
            return self._error(504, "timeout_error", said)
        except StoreUnavailable as exc:
            self._books.unkept = exc
            return self._error(500, "api_error", _UNKEPT)
        except ModelUnavailable as exc:
            return self._failed(call, exc, 502)
        finally:
            self._books.settle(call)

    async def _wait_in_line(self, call: Call, stack: AsyncExitStack, seconds: float) -> None:
        if self._terms.limiter is None:
            return
        tokens = call.asked.input_tokens // 4 + call.room.reply_tokens
        name = limited_as(self._endpoint)
        slot = await stack.enter_async_context(self._terms.limiter.slot(name, tokens, seconds))
        call.waited, call.started = slot.waited_seconds, time.monotonic()

        def report() -> None:
            if call.outcome is not None:
                slot.report(call.outcome.model_copy(update=call.allowances))

        stack.callback(report)

    async def _exchange(self, call: Call) -> "web.StreamResponse":
        import aiohttp

        call.was_sent = True
        try:
            # A redirect would take the key along to another host.
            async with self._session.post(
                self._endpoint.base_url.rstrip("/") + call.dialect.behind,
                data=io.BytesIO(call.content),
                headers=real_headers(self._endpoint, call.request.headers),
                allow_redirects=False,
                proxy=self._proxy,
                timeout=aiohttp.ClientTimeout(
                    sock_connect=CONNECT_SECONDS, sock_read=SILENT_SECONDS
                ),
            ) as answered:
                requests, tokens = allowances(answered.headers)
                call.allowances = {"requests": requests, "input_tokens": tokens}
                if answered.status >= 300:
                    return await self._turned_down(call, answered)
                if answered.content_type == _STREAM:
                    return await self._streamed(call, answered.content.iter_any())
                return await self._whole(call, await all_of(answered, str(self._endpoint)))
        except (aiohttp.ClientError, OSError) as exc:
            raise connection_fault(self._endpoint, exc) from None

    async def _turned_down(
        self, call: Call, answered: "aiohttp.ClientResponse"
    ) -> "web.StreamResponse":
        from aiohttp import web

        status = answered.status
        call.was_turned_down = True
        content = self._endpoint.without_key(await answered.content.read(_MAX_ERROR_BYTES))
        body = decoded(content)
        fault = from_status(str(self._endpoint), status, answered.headers, body, self._endpoint.key)
        if status < 400 or status in _OURS_TO_MEND or (status == 404 and self._is_lost(call)):
            # What the provider says of our key is not for the program.
            return self._failed(call, fault, status if status >= 400 else 502)
        if _is_providers(fault, body):
            self._books.failed(call, fault)
        else:
            self._books.turned_down(call, fault)
        if (isinstance(fault, AttemptFailed) or status == 429) and not says_too_large(body):
            call.outcome = Outcome(
                kind="limited" if status in _LIMITING else "fault",
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
        """Return whether a 404 means that a base URL or a model's name of ours is wrong.

        A program may try formats that a provider lacks; that says nothing of the model.
        """
        usual = dialects_of(self._endpoint)[0].name
        return call.dialect.name == usual and not self._books.was_answered_in(usual)

    async def _again(self, call: Call, kept: PaidAnswer) -> "web.StreamResponse":
        """Return what an earlier attempt was answered; it counts as if it came now."""
        if kept.content_type == _STREAM:
            return await self._streamed(call, _in_one_piece(kept.content))
        return await self._whole(call, kept.content)

    async def _whole(self, call: Call, content: bytes) -> "web.Response":
        from aiohttp import web

        clean = self._endpoint.without_key(content)
        body = decoded(clean)
        if not isinstance(body, dict):
            raise AttemptFailed(f"{self._endpoint}: the answer is not JSON, {len(content)} bytes")
        if body.get("error"):
            return self._error_as_answer(call, body, clean)
        await self._books.answered(call, read_answer(call.dialect, body), _JSON, clean)
        return web.Response(body=clean, content_type=_JSON)

    def _error_as_answer(self, call: Call, body: dict[str, Any], clean: bytes) -> "web.Response":
        """Book a failure that was reported with status 200; it may be charged all the same."""
        from aiohttp import web

        fault = from_error(str(self._endpoint), body, {}, self._endpoint.key)
        if isinstance(fault, AttemptFailed):
            raise fault
        status = fault.status or 400
        if status in _OURS_TO_MEND or status == 429:
            return self._failed(call, fault, 502)
        self._books.turned_down(call, fault)
        return web.Response(body=clean, status=status, content_type=_JSON)

    async def _streamed(self, call: Call, pieces: AsyncIterator[bytes]) -> "web.StreamResponse":
        from aiohttp import web

        response = web.StreamResponse(headers={"content-type": _STREAM})
        passage = Passage(call.dialect, call.asked.hides_usage, self._endpoint.without_key)
        is_through = False
        try:
            # A program that has left still owes for the answer, so that is read to its end.
            with suppress(ConnectionError):
                await response.prepare(call.request)
            await passage.begin(pieces, response)
            if passage.is_whole:
                answer = read_answer(call.dialect, passage.reply.body())
                await self._books.answered(call, answer, _STREAM, passage.content)
                await passage.end(pieces, response)
                is_through = True
        finally:
            if not is_through:
                call.part = read_answer(call.dialect, passage.reply.body())
                # An end that looks like one would be taken for the provider's.
                _hang_up(call.request)
        if not is_through:
            cause = one_line(passage.reply.error or "the stream ended early", self._endpoint.key)
            self._failed(call, ModelUnavailable(f"{self._endpoint}: {cause}"), 502)
        return response

    def _failed(self, call: Call, fault: Fault, status: int) -> "web.Response":
        """Book the call to the provider and return what its program is told."""
        self._books.failed(call, fault)
        return self._error(status, "api_error", "the model's provider failed")

    def _error(self, status: int, kind: str, message: str) -> "web.Response":
        from aiohttp import web

        body = error_body(family_of(self._endpoint), kind, message)
        return web.json_response(body, status=status)

    def _without_key(self, header: str) -> str:
        sent = header.encode("utf-8", "surrogateescape")
        return self._endpoint.without_key(sent).decode("utf-8", "surrogateescape")


def _is_providers(fault: ModelRejected | AttemptFailed, body: object) -> bool:
    """Return whether the provider is to blame for a call, rather than what was asked of it."""
    if fault.status != 429:
        return isinstance(fault, AttemptFailed)
    if isinstance(fault, ModelRejected):
        # The account is empty: nothing is to be waited for, and a program cannot bring it about.
        return True
    return fault.retry_after_seconds is not None and not says_too_large(body)


async def _in_one_piece(content: bytes) -> AsyncIterator[bytes]:
    yield content


def _hang_up(request: "web.Request") -> None:
    if request.transport is not None:
        request.transport.close()
