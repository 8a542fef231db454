"""One call on its way to the provider and back, and what is learned from it."""

import asyncio
import io
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from datetime import datetime
from typing import TYPE_CHECKING

from environments.metering.calls import Call
from environments.metering.dialects import (
    Dialect,
    dialects_of,
    error_body,
    family_of,
    limited_as,
    real_headers,
)
from environments.metering.ledger import Ledger, Reservation
from environments.metering.paid import PaidAnswer, PaidAnswers, request_key
from environments.metering.passage import Passage
from environments.metering.replies import all_of, decoded, read_answer
from environments.metering.requests import Asked
from environments.models.client import Answer
from environments.models.faults import AttemptFailed, from_status, one_line, says_too_large
from environments.models.limits.headers import allowances, retry_after
from environments.models.limits.purse import Purse
from environments.models.limits.seam import Limiter, Outcome
from environments.models.money.spending import Spending
from environments.models.wire.transport import Endpoint
from environments.ports import ModelReply
from environments.sandbox.shielding import to_the_end
from taskdata.errors import BudgetExhausted, ModelRejected, ModelUnavailable, StoreUnavailable

if TYPE_CHECKING:
    import aiohttp
    from aiohttp import web

Record = Callable[[ModelReply, datetime], None]
Fault = ModelUnavailable | ModelRejected | BudgetExhausted
"""Why a call was not answered, other than through the program."""

LONGEST_CALL_SECONDS = 900.0
_JSON, _STREAM = "application/json", "text/event-stream"
_UNKEPT = "an answer could not be kept, so no call is made any more"
_SECONDS_TO_SETTLE = 5.0
_MAX_ERROR_BYTES = 64 * 1024
_OURS_TO_MEND = frozenset({401, 402, 403, 407})
"""A key or an account of ours is wrong: not the program's doing."""
_LIMITING = frozenset({429, 503, 529})
_PASSED_ON = ("retry-after", "retry-after-ms", "x-should-retry", "request-id", "x-request-id")


class Forwarder:
    """Sends calls on with the real key; settles and records each of them."""

    def __init__(
        self,
        endpoint: Endpoint,
        ledger: Ledger,
        record: Record,
        limiter: Limiter | None,
        purse: Purse | None,
        paid: PaidAnswers | None,
        session: "aiohttp.ClientSession",
    ) -> None:
        self._endpoint = endpoint
        self._ledger = ledger
        self._record = record
        self._limiter = limiter
        self._purse = purse
        self._answers = paid
        self._session = session
        self._in_flight: set[asyncio.Task[web.StreamResponse]] = set()
        self._spoken: set[str] = set()
        """Names of the formats in which a call was answered."""
        self.faults = 0
        """Calls that failed for the provider's fault, or for ours."""
        self.last_fault: Fault | None = None
        """Of the call that ended last; None where that was answered."""
        self.unkept: StoreUnavailable | None = None
        """Why an answer could not be kept; no call is made any more then."""

    @classmethod
    @asynccontextmanager
    async def opened(
        cls,
        endpoint: Endpoint,
        ledger: Ledger,
        record: Record,
        limiter: Limiter | None,
        purse: Purse | None,
        paid: PaidAnswers | None,
    ) -> "AsyncIterator[Forwarder]":
        """Yield a forwarder with connections of its own."""
        import aiohttp

        async with aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=30.0),
            cookie_jar=aiohttp.DummyCookieJar(),
            # A local server is reached directly, whatever proxy the environment names.
            trust_env=endpoint.spec.provider != "local",
        ) as session:
            forwarder = cls(endpoint, ledger, record, limiter, purse, paid, session)
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
        """Return once no call is in flight any more; what takes long is cut off."""
        tasks = set(self._in_flight)
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=_SECONDS_TO_SETTLE)
            for task in late:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _paid(self, call: Call) -> "web.StreamResponse":
        """Answer the call; whatever becomes of it, its room in the budget is given back."""
        try:
            if self.unkept is not None:
                return self._error(500, "api_error", _UNKEPT)
            try:
                self._prepare(call)
            except RecursionError:
                # Written by the program: no fault of ours, or it could escape its score so.
                self.last_fault = None
                return self._error(400, "invalid_request_error", "it is nested too deeply")
            return await self._afforded(call)
        except Exception as exc:
            self._count(ModelUnavailable(f"the metering proxy failed: {type(exc).__name__}"))
            raise
        finally:
            self._settle(call)

    def _prepare(self, call: Call) -> None:
        call.content = json.dumps(call.body).encode()
        if self._answers is not None:
            call.key = request_key(self._endpoint, call.dialect, call.request.headers, call.body)
            call.kept = self._answers.take(call.key)

    async def _afforded(self, call: Call) -> "web.StreamResponse":
        """Answer the call once there is money of the run's for the most that it may cost."""
        bound = call.room.bound.usd
        if self._purse is None or bound == 0 or call.kept is not None:
            return await self._forward(call)
        async with AsyncExitStack() as stack:
            try:
                if bound is None:
                    raise BudgetExhausted(
                        f"max_usd: the price of so long a request to {self._endpoint} is unknown"
                    )
                async with asyncio.timeout(self._ledger.seconds_left):
                    payment = await stack.enter_async_context(self._purse.holding(bound))
            except BudgetExhausted as exc:
                self._count(exc)
                return self._error(429, "insufficient_quota", "the run's money is used up")
            except TimeoutError:
                return self._error(504, "timeout_error", "the trial's time is up")
            try:
                answer = await self._forward(call)
            finally:
                payment.cost_usd = call.paid_usd
        return answer

    async def _forward(self, call: Call) -> "web.StreamResponse":
        seconds = min(LONGEST_CALL_SECONDS, self._ledger.seconds_left)
        try:
            async with asyncio.timeout(seconds), AsyncExitStack() as stack:
                if call.kept is not None:
                    return await self._again(call, call.kept)
                await self._wait_in_line(call, stack, seconds)
                return await self._exchange(call)
        except TimeoutError:
            said = f"{self._endpoint}: no answer within {seconds:.3g} s"
            if seconds < LONGEST_CALL_SECONDS:
                # The trial's own time is up: its program is told, and nobody is to blame.
                return self._error(504, "timeout_error", said)
            return self._failed(call, ModelUnavailable(said), 504)
        except StoreUnavailable as exc:
            self.unkept = exc
            return self._error(500, "api_error", _UNKEPT)
        except ModelUnavailable as exc:
            return self._failed(call, exc, 502)
        finally:
            self._settle(call)

    async def _wait_in_line(self, call: Call, stack: AsyncExitStack, seconds: float) -> None:
        if self._limiter is None:
            return
        tokens = call.asked.input_tokens // 4 + call.room.reply_tokens
        name = limited_as(self._endpoint)
        slot = await stack.enter_async_context(self._limiter.slot(name, tokens, seconds))
        call.waited, call.started = slot.waited_seconds, time.monotonic()

        def report() -> None:
            if call.outcome is not None:
                slot.report(call.outcome.model_copy(update=call.allowances))

        stack.callback(report)

    async def _exchange(self, call: Call) -> "web.StreamResponse":
        import aiohttp

        url = self._endpoint.base_url.rstrip("/") + call.dialect.behind
        headers = real_headers(self._endpoint, call.request.headers)
        call.was_sent = True
        try:
            # A redirect would take the key along to another host.
            async with self._session.post(
                url, data=io.BytesIO(call.content), headers=headers, allow_redirects=False
            ) as answered:
                requests, tokens = allowances(answered.headers)
                call.allowances = {"requests": requests, "input_tokens": tokens}
                if answered.status >= 300:
                    return await self._turned_down(call, answered)
                if answered.content_type == _STREAM:
                    return await self._streamed(call, answered.content.iter_any())
                return await self._whole(call, await all_of(answered, str(self._endpoint)))
        except (aiohttp.ClientError, OSError) as exc:
            cause = one_line(str(exc) or type(exc).__name__, self._endpoint.key)
            raise AttemptFailed(f"{self._endpoint}: the connection failed: {cause}") from None

    async def _turned_down(
        self, call: Call, answered: "aiohttp.ClientResponse"
    ) -> "web.StreamResponse":
        from aiohttp import web

        status, content = answered.status, await answered.content.read(_MAX_ERROR_BYTES)
        body = decoded(content)
        fault = from_status(str(self._endpoint), status, answered.headers, body, self._endpoint.key)
        if status < 400 or status in _OURS_TO_MEND or (status == 404 and self._is_lost(call)):
            # What the provider says of our key is not for the program.
            return self._failed(call, fault, status if status >= 400 else 502)
        if _is_providers(fault, body):
            self._failed(call, fault, status)
        else:
            call.used, self.last_fault = Spending(1), None
        if (isinstance(fault, AttemptFailed) or status == 429) and not says_too_large(body):
            call.outcome = Outcome(
                kind="limited" if status in _LIMITING else "fault",
                retry_after_seconds=retry_after(answered.headers),
            )
        kept = {name: answered.headers[name] for name in _PASSED_ON if name in answered.headers}
        return web.Response(
            body=self._without_key(content),
            status=status,
            headers=kept,
            content_type=answered.content_type,
        )

    def _is_lost(self, call: Call) -> bool:
        """Return whether a 404 means that a base URL or a model's name of ours is wrong.

        A program may try formats that a provider lacks; that says nothing of the model.
        """
        usual = dialects_of(self._endpoint)[0].name
        return call.dialect.name == usual and usual not in self._spoken

    async def _again(self, call: Call, kept: PaidAnswer) -> "web.StreamResponse":
        """Return what an earlier attempt was answered; it counts as if it came now."""
        if kept.content_type == _STREAM:
            return await self._streamed(call, _in_one_piece(kept.content))
        return await self._whole(call, kept.content)

    async def _whole(self, call: Call, content: bytes) -> "web.Response":
        from aiohttp import web

        body = decoded(content)
        if not isinstance(body, dict):
            raise AttemptFailed(f"{self._endpoint}: the answer is not JSON, {len(content)} bytes")
        if body.get("error"):
            # Some compatible servers report a failure with status 200.
            raise AttemptFailed(f"{self._endpoint}: an error instead of an answer")
        clean = self._without_key(content)
        await self._answered(call, read_answer(call.dialect, body), _JSON, clean)
        return web.Response(body=clean, content_type=_JSON)

    async def _streamed(self, call: Call, pieces: AsyncIterator[bytes]) -> "web.StreamResponse":
        from aiohttp import web

        response = web.StreamResponse(headers={"content-type": _STREAM})
        passage = Passage(call.dialect, call.asked.hides_usage, self._without_key)
        is_through = False
        try:
            # A program that has left still owes for the answer, so that is read to its end.
            with suppress(ConnectionError):
                await response.prepare(call.request)
            await passage.begin(pieces, response)
            if passage.is_whole:
                answer = read_answer(call.dialect, passage.reply.body())
                await self._answered(call, answer, _STREAM, passage.content)
                await passage.end(pieces, response)
                is_through = True
        finally:
            call.answer = call.answer or read_answer(call.dialect, passage.reply.body())
            if not is_through:
                # An end that looks like one would be taken for the provider's.
                _hang_up(call.request)
        if not is_through:
            cause = one_line(passage.reply.error or "the stream ended early", self._endpoint.key)
            self._failed(call, ModelUnavailable(f"{self._endpoint}: {cause}"), 502)
        return response

    async def _answered(
        self, call: Call, answer: Answer, content_type: str, content: bytes | None
    ) -> None:
        """Count a whole answer; return once it is kept, before its program has the end of it."""
        usage = answer.usage
        if call.kept is not None:
            cost = call.kept.cost_usd
        else:
            cost = None if usage is None else self._ledger.cost_usd(usage)
        whole = call.reply(answer, self._endpoint.spec.model, cost, answer.stop_reason)
        call.answer, call.whole, self.last_fault = answer, whole, None
        self._spoken.add(call.dialect.name)
        call.outcome = Outcome(kind="ok", tokens=None if usage is None else usage.total)
        if self._answers is not None and call.kept is None:
            await self._answers.keep(call.key, whole, content_type, content)

    def _settle(self, call: Call) -> None:
        """Count once what the call used, and record it where there was an answer to pay for."""
        if call.is_settled:
            return
        call.is_settled = True
        if call.answer is None and call.was_sent and call.used is None:
            # We cut it off: what it cost is not known, and that must be seen.
            call.answer = Answer(text="", model="", stop_reason="")
        if call.answer is None:
            self._ledger.settle(call.room, call.used or Spending())
            return
        spent = call.spent()
        self._ledger.settle(call.room, spent)
        call.paid_usd = spent.usd or 0.0
        cut = call.reply(call.answer, self._endpoint.spec.model, None, "cut")
        self._record(call.whole or cut, call.started_at)

    def _failed(self, call: Call, fault: Fault, status: int) -> "web.Response":
        """Book the call to the provider and return what its program is told."""
        self._count(fault)
        call.used = Spending()
        call.outcome = Outcome(kind="fault")
        return self._error(status, "api_error", "the model's provider failed")

    def _count(self, fault: Fault) -> None:
        self.faults += 1
        self.last_fault = fault

    def _error(self, status: int, kind: str, message: str) -> "web.Response":
        from aiohttp import web

        body = error_body(family_of(self._endpoint), kind, message)
        return web.json_response(body, status=status)

    def _without_key(self, content: bytes) -> bytes:
        key = self._endpoint.key.encode()
        return content.replace(key, b"[key]") if len(key) > 8 else content


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
