"""A model client that answers from the record of calls where it can, and records what it asks.

An attempt at a trial that follows a crash gets the replies that earlier attempts have paid for.
With `shares`, a reply also answers equal requests of any other work, which gets it marked
`cached`. Without a client behind it, only recorded replies are given: a replay costs nothing and
calls no provider.
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
    """A reply as it is stored."""

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
    """The work that paid for it."""

    @classmethod
    def of(cls, reply: ModelReply, owner: str) -> "StoredReply":
        """Return a reply that `owner` paid for as it is stored."""
        fields = {name: getattr(reply, name) for name in cls.model_fields if name != "owner"}
        return cls(**fields, owner=owner)

    def as_reply(self, owner: str) -> ModelReply:
        """Return the reply as `owner` gets it: `cached` unless `owner` is the one that paid."""
        fields = {name: getattr(self, name) for name in type(self).model_fields if name != "owner"}
        return ModelReply(**fields, cached=self.owner != owner, is_kept=True)


class RecordedClient:
    """The `ModelClient` of one piece of work; it does not own the client behind it.

    Only replies are recorded and what failed attempts may be charged, no faults. Two equal
    requests that share replies and are in flight at once are both paid for; both get the reply
    that is recorded first, so that a replay brings the same answers.
    """

    def __init__(
        self,
        client: ModelClient | None,
        spec: ModelSpec,
        base_url: str | None,
        log: CallLog,
        shares: bool = False,
        sample: int = 0,
    ) -> None:
        """Answer from the record, then from `client`.

        Args:
            client: None: a reply that is not recorded is an error.
            spec: The model.
            base_url: Where it is; equal names at different hosts are different models. None: at
                its provider's own place, or where the environment says.
            log: Of the work that asks.
            shares: Whether replies answer equal requests of other work, and theirs answer ours.
            sample: Equal requests of different samples, such as repetitions, share no replies.

        Raises:
            Misuse: The user's own table of prices cannot be used.
        """
        self._client = client
        self._spec = spec
        self._price = price_of(spec)
        self._base_url = base_url
        self._log = log
        self._shares = shares
        self._sample = sample

    def owned_by(self, payer: Payer, sample: int = 0) -> "RecordedClient":
        """Return the same client for another piece of work, which has made no calls before."""
        log = CallLog(self._log.recorder, payer)
        return RecordedClient(self._client, self._spec, self._base_url, log, self._shares, sample)

    async def reply(self, request: ModelRequest) -> ModelReply:
        """Return the recorded reply to `request`, or the model's, which is recorded first.

        Raises:
            NotRecorded: None is recorded, and there is no client to ask.
            StoreUnavailable: The store cannot be read or written.
        """
        shared_key = None
        if self._shares:
            shared_key = reply_key(self._spec, self._base_url, request, self._sample)
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
        """Do nothing: the client behind is shared."""

    def _replayed(self, call: ModelCall) -> ModelReply:
        return StoredReply.model_validate(call.reply).as_reply(self._log.payer.owner)

    async def _asked(self, client: ModelClient, key: str, request: ModelRequest) -> ModelReply:
        """Return the model's reply; records what attempts may be charged if there is none."""
        before = len(request.failed)
        try:
            return await client.reply(request)
        except asyncio.CancelledError:
            # A caller that is cut off does not wait for the store.
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
        """Record a reply; return it, or the equal request's whose reply was recorded before."""
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
