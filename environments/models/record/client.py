"""A model client that replays recorded calls if it can, and records new ones.

When a trial is attempted again after a crash, it gets the replies that earlier attempts have paid
for. With `shares`, a reply also answers equal requests of other work, where it is marked `cached`.
Without a client, only recorded replies are given: a replay costs nothing and calls no provider.
"""

import asyncio
from dataclasses import replace
from typing import Any

from environments.models.faults import NotRecorded
from environments.models.money.budget import Spending
from environments.models.money.prices import price_of
from environments.models.money.spending import call_bound
from environments.models.record.keys import reply_key
from environments.models.record.log import CallLog, Payer
from environments.ports import ModelClient, ModelReply, ModelRequest
from taskdata.schema.agent import ModelSpec
from taskdata.schema.base import Value
from taskdata.schema.model_call import ModelCall
from taskdata.schema.transcript import ToolCall, Usage
from taskdata.schema.usage import FailedAttempt


class StoredReply(Value):
    """A reply in the form in which it is stored."""

    text: str
    model: str
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage
    cost_usd: float | None
    stop_reason: str
    seconds: float
    replay: tuple[dict[str, Any], ...] = ()
    thinking: str = ""
    failed_attempts: tuple[FailedAttempt, ...] = ()
    owner: str
    """The work that paid for the reply."""

    @classmethod
    def of(cls, reply: ModelReply, owner: str) -> "StoredReply":
        """Return a reply that `owner` paid for in the form in which it is stored."""
        fields = {name: getattr(reply, name) for name in cls.model_fields if name != "owner"}
        return cls(**fields, owner=owner)

    def as_reply(self, owner: str) -> ModelReply:
        """Return the reply for `owner`: marked `cached` unless `owner` has paid for it."""
        fields = {name: getattr(self, name) for name in type(self).model_fields if name != "owner"}
        return ModelReply(**fields, cached=self.owner != owner, is_kept=True)


class RecordedClient:
    """The `ModelClient` of one piece of work; it does not own the client that it wraps.

    Recorded are replies, and what failed attempts may cost, but not errors. Two equal requests that
    share replies and are in flight at the same time are both paid for; both get the reply that is
    recorded first, so that a replay brings the same answers.
    """

    def __init__(
        self,
        client: ModelClient | None,
        spec: ModelSpec,
        base_url: str | None,
        log: CallLog,
        shares: bool = False,
        sample: int = 0,
        scope: str = "",
    ) -> None:
        """Answer from the record, then from `client`.

        Args:
            client: The client for new requests; None: a request without a recorded reply is an
                error.
            spec: The model.
            base_url: Endpoint; equal names at different hosts are different models. None: the
                provider's own endpoint, or the one that the environment names.
            log: The calls of the work that asks.
            shares: Whether replies are shared with equal requests of other work.
            sample: Equal requests of different samples, such as repetitions, share no replies.
            scope: Work of different scopes, such as runs, shares no replies; empty: the scope of
                all work that names none.

        Raises:
            Misuse: the user's own price table is invalid.
        """
        self._client = client
        self._spec = spec
        self._price = price_of(spec)
        self._base_url = base_url
        self._log = log
        self._shares = shares
        self._sample = sample
        self._scope = scope

    def shared_key(self, request: ModelRequest) -> str:
        """Return the key under which the reply to `request` is shared."""
        return reply_key(self._spec, self._base_url, request, self._sample, self._scope)

    def owned_by(self, payer: Payer, sample: int = 0) -> "RecordedClient":
        """Return the same client for another piece of work, which has made no calls before."""
        log = CallLog(self._log.recorder, payer)
        return RecordedClient(
            self._client, self._spec, self._base_url, log, self._shares, sample, self._scope
        )

    async def reply(self, request: ModelRequest) -> ModelReply:
        """Return the recorded reply to `request`, or the model's reply after recording it.

        Raises:
            NotRecorded: no reply is recorded, and there is no client.
            StoreUnavailable: the store cannot be read or written.
        """
        shared_key = None
        if self._shares:
            shared_key = self.shared_key(request)
            if (call := await self._log.recorder.find(shared_key)) is not None:
                return self._replayed(call)
        if self._client is None:
            raise NotRecorded(
                f"{self._spec}: no recorded reply to request {(shared_key or '')[:12]} "
                f"({len(request.messages)} messages, sample {self._sample}); record it first, in a "
                "run that keeps replies"
            )
        key = reply_key(self._spec, self._base_url, request)
        if (earlier := self._log.replay(key)) is not None:
            return self._replayed(earlier)
        reply = await self._asked(self._client, key, request)
        return await self._recorded(key, shared_key, request, reply)

    async def close(self) -> None:
        """Do nothing: the wrapped client is shared."""

    def _replayed(self, call: ModelCall) -> ModelReply:
        return StoredReply.model_validate(call.reply).as_reply(self._log.payer.owner)

    async def _asked(self, client: ModelClient, key: str, request: ModelRequest) -> ModelReply:
        """Return the model's reply; without one, record what the attempts may cost."""
        before = len(request.failed)
        try:
            return await client.reply(request)
        except asyncio.CancelledError:
            # A cancelled caller does not wait for the store.
            self._record_failed(key, request, before)
            raise
        except Exception:
            if (storing := self._record_failed(key, request, before)) is not None:
                await asyncio.shield(storing)
            raise

    def _record_failed(
        self, key: str, request: ModelRequest, before: int
    ) -> asyncio.Future[None] | None:
        failed = request.failed[before:]
        if not failed:
            return None
        return self._log.record_failed(key, failed, self._bound(request))

    async def _recorded(
        self, key: str, shared_key: str | None, request: ModelRequest, reply: ModelReply
    ) -> ModelReply:
        """Record a reply; return it, or the reply that was recorded before for an equal request."""
        own = StoredReply.of(reply, self._log.payer.owner).model_dump(mode="json")
        is_known = reply.cost_usd is not None and reply.usage.total > 0
        needs_bound = not is_known or reply.failed_attempts
        at_most = self._bound(request) if needs_bound else Spending()
        named = reply if reply.model else replace(reply, model=self._spec.model)
        await self._log.record(key, named, own, at_most, shared_key)
        if shared_key is None:
            return reply
        first = await self._log.recorder.find(shared_key)
        if first is None or first.reply == own:
            return reply
        return replace(
            self._replayed(first),
            usage=reply.usage,
            cost_usd=reply.cost_usd,
            seconds=reply.seconds,
            waited_seconds=reply.waited_seconds,
            failed_attempts=reply.failed_attempts,
            cached=False,
            is_kept=False,
        )

    def _bound(self, request: ModelRequest) -> Spending:
        return call_bound(request, self._price)
