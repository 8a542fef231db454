"""Answers to a metered program as they are stored, so that an attempt after a crash replays them.

The program of the trial's next attempt gets them for as long as it asks the same: the nth equal
request gets the nth stored answer. A request that differs goes to the provider, and so does every
request to a model on this machine, whose answers cost nothing and are not stored.
"""

import base64
import hashlib
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import Field

from environments.metering.formats.dialects import Dialect, revision_headers
from environments.models.wire.endpoint import Endpoint
from taskdata.schema.base import Value
from taskdata.schema.model_call import ModelCall

MAX_STORED_BYTES = 4 * 1024 * 1024
"""Of one answer; the cost of a longer one is recorded, and its request is sent again."""
_METERED = "metered"


class StoredAnswer(Value):
    """An answer as it is stored."""

    content_type: str
    body: str
    """Base64 of the answer compressed with zlib: the events of a stream resemble each other."""
    seconds: float = Field(ge=0)
    """How long the model took."""


@dataclass(frozen=True)
class RecordedAnswer:
    """An answer that an earlier attempt paid for."""

    content_type: str
    content: bytes
    """As the provider sent it, the key taken out."""
    seconds: float
    cost_usd: float | None

    @classmethod
    def of(cls, call: ModelCall) -> "RecordedAnswer":
        """Return the answer of a recorded call."""
        stored = StoredAnswer.model_validate((call.reply or {}).get(_METERED))
        content = zlib.decompress(base64.b64decode(stored.body))
        return cls(stored.content_type, content, stored.seconds, call.cost_usd)


def stored_answer(
    content_type: str, content: bytes | None, seconds: float
) -> dict[str, Any] | None:
    """Return an answer as JSON for the record; None for one longer than `MAX_STORED_BYTES`.

    Args:
        content_type: Of the answer.
        content: The answer without the real key; None: it was too long to collect.
        seconds: How long the model took.
    """
    if content is None or len(content) > MAX_STORED_BYTES:
        return None
    body = base64.b64encode(zlib.compress(content, level=1)).decode()
    stored = StoredAnswer(content_type=content_type, body=body, seconds=seconds)
    return {_METERED: stored.model_dump(mode="json")}


def request_key(
    endpoint: Endpoint, dialect: Dialect, headers: Mapping[str, str], body: Mapping[str, Any]
) -> str:
    """Return the hex sha256 of the request: model, host, path, revision of the format and body."""
    asked = {
        "model": str(endpoint.spec),
        "host": endpoint.host,
        "path": dialect.behind,
        "headers": revision_headers(endpoint, headers),
        "body": body,
    }
    canonical = json.dumps(asked, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()
