"""What an attempt pays a model for is kept before the agent sees it, and never paid for again.

An attempt that is cut short - a killed worker, a failed sandbox - leaves its replies in the store.
The next attempt at the same trial asks the same questions in the same order as long as nothing
around it differs, and gets these replies; from the first question that is new on, it asks the
model. What may be charged for attempts that brought no reply is kept as well, for whoever adds up
what the run has spent.
"""

import asyncio
from collections import defaultdict, deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Self

from environments.models.cached import KeptReply, kept_reply, reply_key
from environments.models.money.prices import price_of
from environments.models.money.spending import call_bound
from environments.ports import ModelClient, ModelReply, ModelRequest
from environments.sandbox.shielding import to_the_end
from taskdata.schema.agent import ModelSpec
from taskdata.schema.model_call import NO_REPLY, ModelCall
from taskdata.schema.usage import FailedAttempt, Usage
from taskdata.store.calls import CallStore

METERED = "metered"
"""In a kept reply, the name of a metered program's answer; such a reply is no `KeptReply`."""


class CallWriter:
    """Writes calls of many trials at once: while one transaction runs, the next one collects.

    However a block of it ends, those that wait are stored.
    """

    def __init__(self, store: CallStore) -> None:
        self._store = store
        self._waiting: list[tuple[Sequence[ModelCall], asyncio.Future[None]]] = []
        self._writing: asyncio.Task[None] | None = None
        # Its own, for it must not stand in line behind what trials have threads do.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="calls")
        self._has_ended = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await to_the_end(self.close())

    async def keep(self, *calls: ModelCall) -> None:
        """Return once the calls are stored; they are, even if the caller does not wait for it.

        Raises:
            StoreUnavailable: The store cannot be written.
        """
        await asyncio.shield(self.keep_soon(*calls))

    def keep_soon(self, *calls: ModelCall) -> asyncio.Future[None]:
        """Have the calls stored without waiting for it; the future is done when they are."""
        kept = asyncio.get_running_loop().create_future()
        self._waiting.append((calls, kept))
        if self._writing is None:
            self._writing = asyncio.create_task(self._write())
        return kept

    async def close(self) -> None:
        """Return when all is stored that was to be kept."""
        if self._writing is not None:
            await asyncio.wait({self._writing})
        # A task that is cancelled before it has begun leaves everything.
        await self._write()
        self._has_ended = True
        self._thread.shutdown(wait=False)

    async def _write(self) -> None:
        """Store all that waits, cancelled or not: it is paid for."""
        cancelled: asyncio.CancelledError | None = None
        while self._waiting:
            batch, self._waiting = self._waiting, []
            calls = [call for together, _ in batch for call in together]
            # Not a task of its own: the end of the loop cancels those.
            loop = asyncio.get_running_loop()
            # What comes after the end, from a trial that was left to itself, is paid for, too.
            thread = None if self._has_ended else self._thread
            storing = loop.run_in_executor(thread, self._store.keep_calls, calls)
            while not storing.done():
                try:
                    await asyncio.wait({storing})
                except asyncio.CancelledError as error:
                    cancelled = error
            fault = storing.exception()
            for _, kept in batch:
                if fault is None:
                    kept.set_result(None)
                else:
                    kept.set_exception(fault)
        self._writing = None
        if cancelled is not None:
            raise cancelled


@dataclass(frozen=True)
class Attempt:
    """Who pays."""

    trial_id: str
    number: int

    def call(
        self,
        key: str,
        model: str,
        usage: Usage,
        cost_usd: float | None,
        cost_at_most_usd: float | None = None,
        reply: dict[str, Any] | None = None,
    ) -> ModelCall:
        """Return a call that it has paid for just now, as it is kept."""
        return ModelCall(
            trial_id=self.trial_id,
            attempt=self.number,
            key=key,
            model=model,
            usage=usage,
            cost_usd=cost_usd,
            cost_at_most_usd=cost_at_most_usd if cost_usd is None else None,
            at=datetime.now(UTC),
            reply=reply,
        )


class PaidClient:
    """The `ModelClient` of one attempt; it does not own the client behind it."""

    def __init__(
        self,
        client: ModelClient,
        spec: ModelSpec,
        base_url: str | None,
        writer: CallWriter,
        attempt: Attempt,
        earlier: Sequence[ModelCall] = (),
    ) -> None:
        """Answer from `earlier`, the trial's calls whose replies are kept, then from `client`.

        Raises:
            Misuse: The user's own table of prices does not fit.
        """
        self._client = client
        self._spec = spec
        self._price = price_of(spec)
        self._base_url = base_url
        self._writer = writer
        self._attempt = attempt
        self._earlier: dict[str, deque[KeptReply]] = defaultdict(deque)
        for call in earlier:
            if call.reply is not None and METERED not in call.reply:
                self._earlier[call.key].append(KeptReply.model_validate(call.reply))

    async def reply(self, request: ModelRequest) -> ModelReply:
        """Return the reply that an earlier attempt paid for, else the model's, which is kept.

        Raises:
            StoreUnavailable: The reply cannot be kept, or what the lack of one may be charged.
        """
        key = reply_key(self._spec, self._base_url, request)
        if kept := self._earlier.get(key):
            return kept.popleft().as_reply(self._attempt.trial_id)
        before = len(request.failed)
        try:
            reply = await self._client.reply(request)
        except asyncio.CancelledError:
            # Whoever is cut off does not wait.
            if owed := unanswered(self._attempt, key, request.failed[before:]):
                self._writer.keep_soon(*owed)
            raise
        except Exception:
            if owed := unanswered(self._attempt, key, request.failed[before:]):
                await self._writer.keep(*owed)
            raise
        if not reply.cached:
            owed = unanswered(self._attempt, key, reply.failed_attempts)
            await self._writer.keep(*owed, self._call(key, request, reply))
        return reply

    async def close(self) -> None:
        """Do nothing: the client is shared."""

    def _call(self, key: str, request: ModelRequest, reply: ModelReply) -> ModelCall:
        is_known = reply.cost_usd is not None or self._price is None
        most = None if is_known else call_bound(request, self._price).usd
        return self._attempt.call(
            key,
            reply.model or self._spec.model,
            reply.usage,
            reply.cost_usd,
            most,
            kept_reply(reply, self._attempt.trial_id),
        )


def unanswered(
    attempt: Attempt, key: str, failed: Sequence[FailedAttempt]
) -> tuple[ModelCall, ...]:
    """Return the call to keep for what failed attempts may be charged; none where that is 0."""
    costs = [each.cost_at_most_usd for each in failed if each.cost_at_most_usd != 0]
    if not costs:
        return ()
    known = [usd for usd in costs if usd is not None]
    charged = sum(known) if len(known) == len(costs) else None
    return (attempt.call(key, NO_REPLY, Usage(), charged),)
