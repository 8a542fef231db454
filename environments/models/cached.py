"""Model replies kept in the store: what was paid for once is not asked again.

A reply is kept under the hash of everything that could change it, together with its owner, the
piece of work it was paid for. Work that crashed after a paid call finds the reply on its next try
and books it then, for nothing was booked before; any other work gets it marked `cached`.
"""

import asyncio
import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any
from urllib.parse import urlsplit

from environments.ports import Message, ModelClient, ModelReply, ModelRequest
from taskdata.schema.agent import ModelSpec
from taskdata.schema.base import Value
from taskdata.schema.transcript import ToolCall, Usage
from taskdata.store.replies import ReplyStore


class KeptReply(Value):
    """A reply as it is stored."""

    text: str
    model: str
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage
    cost_usd: float | None
    stop_reason: str
    seconds: float
    owner: str
    """The work that paid for it."""

    def as_reply(self, owner: str) -> ModelReply:
        """Return the reply as `owner` gets it: `cached` unless it is the one that paid."""
        fields = {name: getattr(self, name) for name in type(self).model_fields if name != "owner"}
        return ModelReply(**fields, cached=self.owner != owner)


@dataclass(frozen=True)
class CachedClient:
    """A `ModelClient` that answers from the store where it can; only replies are kept, no faults.

    Two equal requests in flight at once are both paid for; the first reply is kept.
    """

    client: ModelClient
    spec: ModelSpec
    store: ReplyStore
    base_url: str | None = None
    """Where the model is; equal names at different hosts are different models."""
    owner: str = ""
    on_replay: Callable[[ModelReply], None] | None = None
    """Told of each reply that its owner gets again, so that a budget can count it."""

    def owned_by(self, owner: str) -> "CachedClient":
        """Return the same client for another piece of work."""
        return replace(self, owner=owner)

    async def reply(self, request: ModelRequest) -> ModelReply:
        """Return the kept reply to `request`, or the model's, which is then kept.

        Raises:
            StoreUnavailable: The store cannot be read or written.
        """
        key = reply_key(self.spec, self.base_url, request)
        kept = await asyncio.to_thread(self.store.find_reply, key)
        if kept is not None:
            found = KeptReply.model_validate(kept).as_reply(self.owner)
            if not found.cached and self.on_replay is not None:
                self.on_replay(found)
            return found
        reply = await self.client.reply(request)
        await asyncio.to_thread(self.store.keep_reply, key, str(self.spec), self._kept(reply))
        return reply

    async def close(self) -> None:
        """Close the client's connections."""
        await self.client.close()

    def _kept(self, reply: ModelReply) -> dict[str, Any]:
        names = (name for name in KeptReply.model_fields if name != "owner")
        fields = {name: getattr(reply, name) for name in names}
        return KeptReply(**fields, owner=self.owner).model_dump(mode="json")


def reply_key(spec: ModelSpec, base_url: str | None, request: ModelRequest) -> str:
    """Return the hex sha256 of model, host and request; how long we would wait is left out."""
    asked = {
        "model": str(spec),
        "host": _host(spec, base_url),
        "messages": [_plain(message) for message in request.messages],
        "tools": [tool.model_dump(mode="json") for tool in request.tools],
        "max_tokens": request.max_tokens,
        "temperature": request.temperature,
        "stop": list(request.stop),
        "json_schema": request.json_schema,
    }
    text = json.dumps(asked, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _plain(message: Message) -> dict[str, Any]:
    calls = [call.model_dump(mode="json") for call in message.tool_calls]
    plain = asdict(replace(message, media=())) | {"tool_calls": calls}
    # Left out where there are none, so that what was kept before they existed is still found.
    del plain["media"]
    if message.media:
        plain["media"] = [
            [media.media_type, hashlib.sha256(media.data).hexdigest(), media.name]
            for media in message.media
        ]
    return plain


def _host(spec: ModelSpec, base_url: str | None) -> str:
    # A local model's server gets a new port at every start, and stays the same model.
    if base_url is None or spec.provider == "local":
        return ""
    url = urlsplit(base_url)
    return f"{url.hostname}:{url.port or ''}{url.path}"
