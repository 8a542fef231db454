"""A program's call on its way: afforded, in line, asked as often as it takes, and booked.

A provider that wants fewer calls is asked again, as it is for our own agents: programs need not
know that others call it too, and that it is called as often as it bears.
"""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    asynccontextmanager,
    contextmanager,
    nullcontext,
)
from random import SystemRandom
from typing import TYPE_CHECKING

from environments.metering.books import Books
from environments.metering.calls import Call, Terms
from environments.metering.formats.dialects import Dialect, error_body, family_of, limited_as
from environments.metering.formats.requests import Asked
from environments.metering.ledger import Reservation
from environments.metering.paid import request_key
from environments.metering.provider_requests import ProviderRequests
from environments.models.faults import AttemptFailed
from environments.models.limits.admission import admitted
from environments.models.limits.seam import Slot
from environments.models.retry import RetryPolicy, Unlimited, is_hung
from environments.models.wire.http import open_session
from environments.sandbox.shielding import to_the_end
from taskdata.errors import BudgetExhausted, ModelUnavailable, StoreUnavailable

if TYPE_CHECKING:
    from aiohttp import web

_UNKEPT = "an answer could not be kept, so no call is made any more"
_SECONDS_TO_SETTLE = 5.0
_USUAL_REPLY_TOKENS = 4_096
_jitter = SystemRandom().random


class Forwarder:
    """Sends calls on with the real key, and has each of them booked."""

    def __init__(self, terms: Terms, books: Books, requests: ProviderRequests) -> None:
        self._terms = terms
        self._endpoint = terms.endpoint
        self._ledger = terms.ledger
        self._books = books
        self._requests = requests
        self._in_flight: set[asyncio.Task[web.StreamResponse]] = set()

    @classmethod
    @asynccontextmanager
    async def opened(cls, terms: Terms, books: Books) -> "AsyncIterator[Forwarder]":
        """Yield a forwarder with connections of its own."""
        async with open_session() as session:
            forwarder = cls(terms, books, ProviderRequests(terms, books, session))
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
        task = asyncio.create_task(self._booked(Call(dialect, request, asked, room)))
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

    async def _booked(self, call: Call) -> "web.StreamResponse":
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
            return await self._in_time(call)
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

    async def _in_time(self, call: Call) -> "web.StreamResponse":
        """Answer the call before the trial's own time is up, which time in line is no part of."""
        seconds = self._ledger.seconds_left
        try:
            async with self._ledger.in_time():
                if call.kept is not None:
                    return await self._requests.again(call, call.kept)
                return await self._asked(call, seconds)
        except TimeoutError:
            said = f"{self._endpoint}: no answer within {call.seconds:.3g} s"
            # Its program is told, and nobody is to blame for a model that is slow.
            is_silent = call.was_sent and not call.has_begun
            if is_silent and is_hung(call.seconds, self._books.longest_reply_seconds):
                self._books.count(ModelUnavailable(said))
            return self._error(504, "timeout_error", said)
        except BudgetExhausted as exc:
            self._books.count(exc)
            return self._error(429, "insufficient_quota", "the run's money is used up")
        except StoreUnavailable as exc:
            self._books.unkept = exc
            return self._error(500, "api_error", _UNKEPT)
        except ModelUnavailable as exc:
            # It stood in line in vain; another call would only stand there for as long again.
            self._books.failed(call, exc)
            return self._error(504, "timeout_error", "there was no room for the call in time")

    async def _asked(self, call: Call, seconds: float) -> "web.StreamResponse":
        """Ask until the provider takes the call; wait in line for at most so many `seconds`."""
        policy, number = self._terms.policy, 0
        while True:
            number += 1
            answer = await self._attempt(call, seconds - call.waited)
            fault = call.fault
            if not isinstance(fault, AttemptFailed) or call.is_programs or not fault.is_limit:
                return answer
            if call.part is not None:
                # Its program has seen the stream fail, so nobody would get another answer.
                return answer
            pause = max(_pause(policy, number), fault.retry_after_seconds or 0.0)
            if number >= policy.attempts or pause >= seconds - call.waited:
                return answer
            if not self._books.bears_another(call):
                return answer
            self._books.asks_again(call)
            with self._in_line(call):
                await asyncio.sleep(pause)

    async def _attempt(self, call: Call, seconds: float) -> "web.StreamResponse":
        """Ask once there is a slot, and money of the run's for the most that it may cost."""
        bound = call.room.bound.usd
        if self._terms.purse is not None and bound is None:
            raise BudgetExhausted(
                f"max_usd: the price of so long a request to {self._endpoint} is unknown"
            )
        async with AsyncExitStack() as stack:
            with self._in_line(call):
                leave = await stack.enter_async_context(
                    admitted(
                        lambda longest: self._slot(call, longest),
                        self._terms.purse,
                        bound or 0.0,
                        max(0.0, seconds),
                    )
                )
            call.started = time.monotonic()
            try:
                return await self._requests.asked(call)
            except ModelUnavailable as exc:
                return self._requests.failed(call, exc)
            finally:
                leave.payment.cost_usd = self._books.paid_usd(call)
                if call.outcome is not None:
                    leave.slot.report(call.outcome.model_copy(update=call.allowances))

    def _slot(self, call: Call, seconds: float) -> AbstractAsyncContextManager[Slot]:
        if self._terms.limiter is None:
            return nullcontext(Unlimited())
        # Most replies are far shorter than they may be.
        reply = min(call.room.reply_tokens, _USUAL_REPLY_TOKENS)
        tokens = call.asked.input_tokens // 4 + reply
        return self._terms.limiter.slot(limited_as(self._endpoint), tokens, seconds)

    @contextmanager
    def _in_line(self, call: Call) -> Iterator[None]:
        began = time.monotonic()
        with self._ledger.in_line():
            try:
                yield
            finally:
                call.waited += time.monotonic() - began

    def _error(self, status: int, kind: str, message: str) -> "web.Response":
        from aiohttp import web

        body = error_body(family_of(self._endpoint), kind, message)
        return web.json_response(body, status=status, headers={"x-should-retry": "false"})


def _pause(policy: RetryPolicy, attempts: int) -> float:
    # As between the attempts of our own agents; calls that failed must not come back together.
    seconds = policy.first_wait_seconds * (2.0 ** (attempts - 1) + _jitter())
    return min(seconds, policy.longest_wait_seconds)
