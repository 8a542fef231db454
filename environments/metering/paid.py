"""Whole answers to a metered program: kept before it has their end, and never paid for again.

An attempt that is cut short leaves them in the store. The program of the trial's next attempt gets
them for as long as it asks the same: the nth equal request gets the nth answer that is kept. What
differs is asked, and so is what was asked of a model on this machine, which is paid for by nobody.
"""

import asyncio
import base64
import hashlib
import json
import zlib
from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import Field

from environments.metering.formats.dialects import Dialect, revision_headers
from environments.models.paid import METERED, Attempt, CallWriter, unanswered
from environments.models.wire.endpoint import Endpoint
from environments.ports import ModelReply
from taskdata.schema.base import Value
from taskdata.schema.model_call import ModelCall
from taskdata.schema.usage import FailedAttempt

MAX_KEPT_BYTES = 4 * 1024 * 1024
"""Of one answer; what a longer one cost is kept, and it is asked for again."""


class KeptAnswer(Value):
    """An answer as it is stored."""

    content_type: str
    body: str
    """Base64 of what zlib made of the answer: the events of a stream are much alike."""
    seconds: float = Field(ge=0)
    """How long the model took."""


@dataclass(frozen=True)
class PaidAnswer:
    """An answer that an earlier attempt paid for."""

    content_type: str
    content: bytes
    """As the provider sent it, the key taken out."""
    seconds: float
    cost_usd: float | None


class PaidAnswers:
    """What one trial's calls through the proxy were answered."""

    def __init__(
        self, writer: CallWriter, attempt: Attempt, earlier: Sequence[ModelCall] = ()
    ) -> None:
        """Keep answers for `attempt`; `earlier` are the trial's calls whose replies are kept."""
        self._writer = writer
        self._attempt = attempt
        self._earlier: dict[str, deque[tuple[KeptAnswer, float | None]]] = defaultdict(deque)
        for call in earlier:
            if call.reply is not None and METERED in call.reply:
                kept = KeptAnswer.model_validate(call.reply[METERED])
                self._earlier[call.key].append((kept, call.cost_usd))

    def take(self, key: str) -> PaidAnswer | None:
        """Return the next answer that is kept under the key, once; None if there is none."""
        if key not in self._earlier or not self._earlier[key]:
            return None
        kept, cost_usd = self._earlier[key].popleft()
        content = zlib.decompress(base64.b64decode(kept.body))
        return PaidAnswer(kept.content_type, content, kept.seconds, cost_usd)

    async def keep(
        self,
        key: str,
        reply: ModelReply,
        cost_at_most_usd: float | None,
        content_type: str,
        content: bytes | None,
    ) -> None:
        """Return once the call is stored; it is, even if the caller does not wait for it.

        Args:
            key: What `request_key` says of the request.
            reply: What was read from the answer.
            cost_at_most_usd: What it can have cost, where that is not read from it.
            content_type: Of the answer.
            content: The answer without the real key; None: more than `MAX_KEPT_BYTES`.

        Raises:
            StoreUnavailable: The store cannot be written.
        """
        kept = None if content is None else _kept(content_type, content, reply.seconds)
        call = self._attempt.call(
            key, reply.model, reply.usage, reply.cost_usd, cost_at_most_usd, kept
        )
        await self._writer.keep(call)

    def owe(self, key: str, failed: FailedAttempt) -> asyncio.Future[None] | None:
        """Have it stored what an unanswered call may be charged; None where that is nothing."""
        owed = unanswered(self._attempt, key, (failed,))
        return self._writer.keep_soon(*owed) if owed else None


def request_key(
    endpoint: Endpoint, dialect: Dialect, headers: Mapping[str, str], body: Mapping[str, Any]
) -> str:
    """Return the hex sha256 of everything that is asked: model, host, path, revision and body."""
    asked = {
        "model": str(endpoint.spec),
        "host": endpoint.host,
        "path": dialect.behind,
        "headers": revision_headers(endpoint, headers),
        "body": body,
    }
    canonical = json.dumps(asked, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def _kept(content_type: str, content: bytes, seconds: float) -> dict[str, Any] | None:
    if len(content) > MAX_KEPT_BYTES:
        return None
    body = base64.b64encode(zlib.compress(content, level=1)).decode()
    kept = KeptAnswer(content_type=content_type, body=body, seconds=seconds)
    return {METERED: kept.model_dump(mode="json")}
