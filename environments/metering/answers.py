"""Stored answers to metered programs, replayed when a trial is attempted again after a crash.

The program of the next attempt gets stored answers for as long as it sends the same requests: the
nth equal request gets the nth stored answer. A request that differs goes to the provider. So does
every request to a local model, whose answers cost nothing and are not stored.
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
"""Size of one answer; of a longer answer only the cost is stored, and its request is sent again."""
_METERED = "metered"


class StoredAnswer(Value):
    """An answer in the form in which it is stored."""

    content_type: str
    body: str
    """Base64 of the answer compressed with zlib: the events of a stream resemble each other."""
    seconds: float = Field(ge=0)
    """How long the model took to answer."""


@dataclass(frozen=True)
class RecordedAnswer:
    """An answer that an earlier attempt paid for."""

    content_type: str
    content: bytes
    """The provider's answer without the API key."""
    seconds: float
    cost_usd: float | None

    @classmethod
    def of(cls, call: ModelCall) -> "RecordedAnswer":
        """Return the answer that a recorded call contains."""
        stored = StoredAnswer.model_validate((call.reply or {}).get(_METERED))
        content = zlib.decompress(base64.b64decode(stored.body))
        return cls(stored.content_type, content, stored.seconds, call.cost_usd)


def stored_answer(
    content_type: str, content: bytes | None, seconds: float
) -> dict[str, Any] | None:
    """Return an answer as JSON for the record; None if it is longer than `MAX_STORED_BYTES`.

    Args:
        content_type: Content type of the answer.
        content: The answer without the real key; None if it was too long to collect.
        seconds: How long the model took to answer.
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
