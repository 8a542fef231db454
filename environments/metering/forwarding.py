"""Forwards a program's call to the provider: waits for budget and rate limits, retries, accounts.

A 429 is retried here, as it is for our own agents, because a program cannot know that other trials
call the same provider and that the limiter probes the provider's limits.
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
from typing import TYPE_CHECKING

from environments.metering.accounting import CallAccounting
from environments.metering.answers import RecordedAnswer, request_key
from environments.metering.calls import Call, Terms
from environments.metering.formats.dialects import Dialect, error_body, family_of, limited_as
from environments.metering.formats.requests import Asked
from environments.metering.program_budget import ReplyReservation
from environments.metering.upstream import Upstream
from environments.models.faults import AttemptFailed
from environments.models.limits.protocols import Slot
from environments.models.money.admission import admitted
from environments.models.retry import Unlimited, is_hung, pause_seconds
from environments.models.wire.http import open_session
from environments.sandbox.shielding import to_the_end
from taskdata.errors import BudgetExhausted, ModelUnavailable, StoreUnavailable

if TYPE_CHECKING:
    from aiohttp import web

_NOT_STORED = "an answer could not be stored, so no further call is made"
_SECONDS_TO_SETTLE = 5.0
_USUAL_REPLY_TOKENS = 4_096


class Forwarder:
    """Forwards calls with the real key, and accounts for each of them."""

    def __init__(self, terms: Terms, accounting: CallAccounting, upstream: Upstream) -> None:
        self._terms = terms
        self._endpoint = terms.endpoint
        self._budget = terms.budget
        self._accounting = accounting
        self._upstream = upstream
        self._in_flight: set[asyncio.Task[web.StreamResponse]] = set()

    @classmethod
    @asynccontextmanager
    async def opened(cls, terms: Terms, accounting: CallAccounting) -> "AsyncIterator[Forwarder]":
        """Yield a forwarder with a connection pool of its own."""
        async with open_session() as session:
            forwarder = cls(terms, accounting, Upstream(terms, accounting, session))
            try:
                yield forwarder
            finally:
                await to_the_end(forwarder.settled())

    async def forward(
        self, dialect: Dialect, request: "web.Request", asked: Asked, reservation: ReplyReservation
    ) -> "web.StreamResponse":
        """Return the response for the program: the provider's, a replayed one, or an error.

        A call goes on after its program has disconnected, so that its cost becomes known.
        """
        task = asyncio.create_task(self._accounted(Call(dialect, request, asked, reservation)))
        self._in_flight.add(task)
        task.add_done_callback(self._in_flight.discard)
        return await asyncio.shield(task)

    async def settled(self) -> None:
        """Return once every call is accounted for; calls that take too long are cancelled."""
        tasks = set(self._in_flight)
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=_SECONDS_TO_SETTLE)
            for task in late:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        self._accounting.close()

    async def _accounted(self, call: Call) -> "web.StreamResponse":
        """Answer the call; its budget reservation is settled however the call ends."""
        try:
            if self._accounting.store_fault is not None:
                return self._error(500, "api_error", _NOT_STORED)
            try:
                self._prepare(call)
            except RecursionError:
                # The program wrote the request. Counted as our fault, it would cost the trial its
                # score.
                self._accounting.clear_fault()
                return self._error(400, "invalid_request_error", "it is nested too deeply")
            return await self._in_time(call)
        except Exception as exc:
            said = f"the metering proxy failed: {type(exc).__name__}"
            self._accounting.count_fault(ModelUnavailable(said))
            raise
        finally:
            self._accounting.settle(call)

    def _prepare(self, call: Call) -> None:
        call.content = json.dumps(call.body).encode()
        if self._terms.log is not None:
            call.key = request_key(self._endpoint, call.dialect, call.request.headers, call.body)
            earlier = self._terms.log.replay(call.key)
            call.replayed = None if earlier is None else RecordedAnswer.of(earlier)

    async def _in_time(self, call: Call) -> "web.StreamResponse":
        """Answer the call within the trial's time limit, which does not include waiting."""
        seconds = self._budget.seconds_left
        try:
            async with self._budget.in_time():
                if call.replayed is not None:
                    return await self._upstream.replay(call, call.replayed)
                return await self._sent(call, seconds)
        except TimeoutError:
            said = f"{self._endpoint}: no answer within {call.seconds:.3g} s"
            # A slow model is nobody's fault; a provider that sends nothing is at fault.
            is_silent = call.was_sent and not call.has_begun
            if is_silent and is_hung(call.seconds, self._accounting.longest_reply_seconds):
                self._accounting.count_fault(ModelUnavailable(said))
            return self._error(504, "timeout_error", said)
        except BudgetExhausted as exc:
            self._accounting.count_fault(exc)
            return self._error(429, "insufficient_quota", "the run's money is used up")
        except StoreUnavailable as exc:
            self._accounting.store_fault = exc
            return self._error(500, "api_error", _NOT_STORED)
        except ModelUnavailable as exc:
            # The call has waited for too long; a retry would wait equally long.
            self._accounting.failed(call, exc)
            return self._error(504, "timeout_error", "there was no room for the call in time")

    async def _sent(self, call: Call, seconds: float) -> "web.StreamResponse":
        """Retry until the provider accepts the call; wait for at most `seconds` in total."""
        policy, number = self._terms.policy, 0
        while True:
            number += 1
            answer = await self._attempt(call, seconds - call.waited)
            fault = call.fault
            if not isinstance(fault, AttemptFailed) or call.is_programs_fault or not fault.is_limit:
                return answer
            if call.part is not None:
                # The program has seen the stream fail and would ignore another answer.
                return answer
            pause = pause_seconds(policy, number, fault)
            if number >= policy.attempts or pause >= seconds - call.waited:
                return answer
            if not self._accounting.can_pay_another(call):
                return answer
            self._accounting.will_retry(call)
            with self._waiting(call):
                await asyncio.sleep(pause)

    async def _attempt(self, call: Call, seconds: float) -> "web.StreamResponse":
        """Call the provider once the rate limits and the run's budget allow it."""
        bound = call.reservation.bound.usd
        if self._terms.run_budget is not None and bound is None:
            raise BudgetExhausted(
                f"max_usd: the price of so long a request to {self._endpoint} is unknown"
            )
        async with AsyncExitStack() as stack:
            with self._waiting(call):
                admission = await stack.enter_async_context(
                    admitted(
                        lambda longest: self._slot(call, longest),
                        self._terms.run_budget,
                        bound or 0.0,
                        max(0.0, seconds),
                    )
                )
            call.started = time.monotonic()
            try:
                return await self._upstream.send(call)
            except ModelUnavailable as exc:
                return self._upstream.failed(call, exc)
            finally:
                admission.payment.cost_usd = self._accounting.paid_usd(call)
                if call.outcome is not None:
                    admission.slot.report(call.outcome.model_copy(update=call.allowances))

    def _slot(self, call: Call, seconds: float) -> AbstractAsyncContextManager[Slot]:
        if self._terms.limiter is None:
            return nullcontext(Unlimited())
        # Most replies are far shorter than their limit.
        reply = min(call.reservation.reply_tokens, _USUAL_REPLY_TOKENS)
        tokens = call.asked.input_tokens // 4 + reply
        return self._terms.limiter.slot(limited_as(self._endpoint), tokens, seconds)

    @contextmanager
    def _waiting(self, call: Call) -> Iterator[None]:
        began = time.monotonic()
        with self._budget.in_line():
            try:
                yield
            finally:
                call.waited += time.monotonic() - began

    def _error(self, status: int, kind: str, message: str) -> "web.Response":
        from aiohttp import web

        body = error_body(family_of(self._endpoint), kind, message)
        return web.json_response(body, status=status, headers={"x-should-retry": "false"})
