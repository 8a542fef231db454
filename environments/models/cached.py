"""Model replies kept in the store: what was paid for once is not asked again.

A reply is kept under the hash of everything that could change it, together with its owner, the
piece of work it was paid for. Work that crashed after a paid call finds the reply on its next try
and books it then, for nothing was booked before; any other work gets it marked `cached`. Without
a client behind it only what is kept is answered: a recording played back, which costs nothing and
asks nobody.
"""

import asyncio
import hashlib
import json
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

from environments.models.faults import NotRecorded
from environments.models.registry import redirected_to
from environments.models.wire.writing import ToolSets
from environments.ports import Message, ModelClient, ModelReply, ModelRequest
from taskdata.schema.agent import ModelSpec
from taskdata.schema.base import Value
from taskdata.schema.transcript import ToolCall, Usage
from taskdata.schema.usage import FailedAttempt
from taskdata.store.replies import ReplyStore

_KEY_PART = "reply key"
_TOOL_SETS = ToolSets(lambda tool: tool.model_dump(mode="json"))


class KeptReply(Value):
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

    def as_reply(self, owner: str) -> ModelReply:
        """Return the reply as `owner` gets it: `cached` unless it is the one that paid."""
        fields = {name: getattr(self, name) for name in type(self).model_fields if name != "owner"}
        return ModelReply(**fields, cached=self.owner != owner, is_kept=True)


@dataclass(frozen=True)
class CachedClient:
    """A `ModelClient` that answers from the store where it can; only replies are kept, no faults.

    Two equal requests in flight at once are both paid for; both get the reply that is kept first,
    so that a replay brings the same answers.
    """

    client: ModelClient | None
    """None: a reply that is not kept is an error."""
    spec: ModelSpec
    store: ReplyStore
    base_url: str | None = None
    """Where the model is; equal names at different hosts are different models. None: at its
    provider's own place, or where the environment says."""
    owner: str = ""
    sample: int = 0
    """Equal requests of different samples, such as a task's repetitions, get their own replies."""

    def owned_by(self, owner: str, sample: int = 0) -> "CachedClient":
        """Return the same client for another piece of work."""
        return replace(self, owner=owner, sample=sample)

    async def reply(self, request: ModelRequest) -> ModelReply:
        """Return the kept reply to `request`, or the model's, which is then kept.

        Raises:
            NotRecorded: None is kept, and there is no client to ask.
            StoreUnavailable: The store cannot be read or written.
        """
        key = reply_key(self.spec, self.base_url, request, self.sample)
        kept = await asyncio.to_thread(self.store.find_reply, key)
        if kept is not None:
            return KeptReply.model_validate(kept).as_reply(self.owner)
        if self.client is None:
            raise NotRecorded(
                f"{self.spec}: no recorded reply to request {key[:12]} "
                f"({len(request.messages)} messages, sample {self.sample}); record it first, in a "
                "run that keeps replies"
            )
        reply = await self.client.reply(request)
        own = kept_reply(reply, self.owner)
        kept = await asyncio.to_thread(self.store.keep_reply, key, str(self.spec), own)
        if kept == own:
            return reply
        return replace(
            KeptReply.model_validate(kept).as_reply(self.owner),
            usage=reply.usage,
            cost_usd=reply.cost_usd,
            seconds=reply.seconds,
            waited_seconds=reply.waited_seconds,
            failed_attempts=reply.failed_attempts,
            cached=reply.cached,
            is_kept=False,
        )

    async def close(self) -> None:
        """Close the client's connections."""
        if self.client is not None:
            await self.client.close()


def kept_reply(reply: ModelReply, owner: str) -> dict[str, Any]:
    """Return a reply that `owner` paid for as JSON; `KeptReply` reads it."""
    names = (name for name in KeptReply.model_fields if name != "owner")
    fields = {name: getattr(reply, name) for name in names}
    return KeptReply(**fields, owner=owner).model_dump(mode="json")


def reply_key(spec: ModelSpec, base_url: str | None, request: ModelRequest, sample: int = 0) -> str:
    """Return the hex sha256 of model, host, request and sample; how long we would wait is left out.

    Fields that came later are left out where they are not set, so that what was kept before they
    existed is still found.
    """
    asked: dict[str, Any] = {
        "model": str(spec),
        "host": _host(spec, base_url),
        "tools": len(request.tools),
        "max_tokens": request.max_tokens,
        "temperature": request.temperature,
        "stop": list(request.stop),
        "json_schema": request.json_schema,
    }
    if request.reasoning_effort is not None:
        asked["reasoning_effort"] = request.reasoning_effort
    if sample:
        asked["sample"] = sample
    key = hashlib.sha256(_canonical(asked))
    for tool in _TOOL_SETS.json(request.tools):
        key.update(hashlib.sha256(tool).digest())
    for message in request.messages:
        key.update(_message_digest(message))
    return key.hexdigest()


def _message_digest(message: Message) -> bytes:
    """Return a message's part of the key, made once: conversations grow by their ends."""
    known = message.wire.get(_KEY_PART)
    if known is None:
        plain = _canonical(_plain(message))
        known = message.wire[_KEY_PART] = hashlib.sha256(plain).digest()
    return known


def _canonical(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()


def _plain(message: Message) -> dict[str, Any]:
    plain: dict[str, Any] = {
        "role": message.role,
        "text": message.text,
        "tool_calls": [call.model_dump(mode="json") for call in message.tool_calls],
        "call_id": message.call_id,
        "is_error": message.is_error,
    }
    if message.replay:
        plain["replay"] = message.replay
    if message.media:
        plain["media"] = [
            [media.media_type, hashlib.sha256(media.data).hexdigest(), media.name]
            for media in message.media
        ]
    return plain


def _host(spec: ModelSpec, base_url: str | None) -> str:
    # A local model's server gets a new port at every start, and stays the same model.
    if spec.provider == "local":
        return ""
    elsewhere = base_url or redirected_to(spec)
    if elsewhere is None:
        return ""
    url = urlsplit(elsewhere)
    return f"{url.hostname}:{url.port or ''}{url.path}"
