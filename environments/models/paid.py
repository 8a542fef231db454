"""What an attempt pays a model for is kept before the agent sees it, and never paid for again.

An attempt that is cut short - a killed worker, a failed sandbox - leaves its replies in the store.
The next attempt at the same trial asks the same questions in the same order as long as nothing
around it differs, and gets these replies; from the first question that is new on, it asks the
model.
"""

import asyncio
from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from environments.models.cached import KeptReply, kept_reply, reply_key
from environments.ports import ModelClient, ModelReply, ModelRequest
from taskdata.schema.agent import ModelSpec
from taskdata.schema.model_call import ModelCall
from taskdata.store.calls import CallStore

METERED = "metered"
"""In a kept reply, the name of a metered program's answer; such a reply is no `KeptReply`."""


class CallWriter:
    """Writes calls of many trials at once: while one transaction runs, the next one collects."""

    def __init__(self, store: CallStore) -> None:
        self._store = store
        self._waiting: list[tuple[ModelCall, asyncio.Future[None]]] = []
        self._writing: asyncio.Task[None] | None = None

    async def keep(self, call: ModelCall) -> None:
        """Return once the call is stored; it is, even if the caller does not wait for it.

        Raises:
            StoreUnavailable: The store cannot be written.
        """
        kept = asyncio.get_running_loop().create_future()
        self._waiting.append((call, kept))
        if self._writing is None:
            self._writing = asyncio.create_task(self._write())
        await asyncio.shield(kept)

    async def close(self) -> None:
        """Return when all is stored that was to be kept."""
        if self._writing is not None:
            await asyncio.wait({self._writing})
        # A task that is cancelled before it has begun leaves everything.
        await self._write()

    async def _write(self) -> None:
        """Store all that waits, cancelled or not: it is paid for."""
        cancelled: asyncio.CancelledError | None = None
        while self._waiting:
            batch, self._waiting = self._waiting, []
            calls = [call for call, _ in batch]
            # Not a task of its own: the end of the loop cancels those.
            loop = asyncio.get_running_loop()
            storing = loop.run_in_executor(None, self._store.keep_calls, calls)
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
        """Answer from `earlier`, the trial's calls whose replies are kept, then from `client`."""
        self._client = client
        self._spec = spec
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
            StoreUnavailable: The reply cannot be kept.
        """
        key = reply_key(self._spec, self._base_url, request)
        if kept := self._earlier.get(key):
            return kept.popleft().as_reply(self._attempt.trial_id)
        reply = await self._client.reply(request)
        if not reply.cached:
            await self._writer.keep(self._call(key, reply))
        return reply

    async def close(self) -> None:
        """Do nothing: the client is shared."""

    def _call(self, key: str, reply: ModelReply) -> ModelCall:
        return ModelCall(
            trial_id=self._attempt.trial_id,
            attempt=self._attempt.number,
            key=key,
            model=reply.model,
            usage=reply.usage,
            cost_usd=reply.cost_usd,
            at=datetime.now(UTC),
            reply=kept_reply(reply, self._attempt.trial_id),
        )
