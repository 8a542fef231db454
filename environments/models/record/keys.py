"""The keys under which replies are stored: hashes of everything that could change a reply."""

import hashlib
import json
from typing import Any
from urllib.parse import urlsplit

from environments.models.registry import redirected_to
from environments.models.wire.writing import ToolSets
from environments.ports import Media, Message, ModelRequest, Opening
from taskdata.schema.agent import ModelSpec

_KEY_PART = "reply key"
_TOOL_SETS = ToolSets(lambda tool: tool.model_dump(mode="json"))


def reply_key(
    spec: ModelSpec,
    base_url: str | None,
    request: ModelRequest,
    sample: int = 0,
    scope: str = "",
) -> str:
    """Return the hex sha256 of model, host, request, sample and scope, but not of the timeout.

    Fields that were added later are left out if they are not set, so that replies recorded before
    are still found.
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
    if scope:
        asked["scope"] = scope
    key = hashlib.sha256(_canonical(asked))
    for tool in _TOOL_SETS.json(request.tools):
        key.update(hashlib.sha256(tool).digest())
    for message in request.messages:
        key.update(_message_digest(message))
    return key.hexdigest()


def _message_digest(message: Message) -> bytes:
    """Return a message's part of the key; cached, because conversations grow by appending."""
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
        plain["media"] = [_described(media) for media in message.media]
    if message.opening is not None:
        plain["opening"] = _opening_digest(message.opening)
    return plain


def _described(media: Media) -> list[str]:
    return [media.media_type, hashlib.sha256(media.data).hexdigest(), media.name]


def _opening_digest(opening: Opening) -> str:
    """Return an opening's part of the key; cached, because requests share it."""
    known = opening.wire.get(_KEY_PART)
    if known is None:
        pieces = [
            piece if isinstance(piece, str) else _described(piece) for piece in opening.pieces
        ]
        digest = hashlib.sha256(_canonical(pieces)).hexdigest()
        known = opening.wire[_KEY_PART] = digest.encode()
    return known.decode()


def _host(spec: ModelSpec, base_url: str | None) -> str:
    # A local model's server gets a new port at every start, but is the same model.
    if spec.provider == "local":
        return ""
    elsewhere = base_url or redirected_to(spec)
    if elsewhere is None:
        return ""
    url = urlsplit(elsewhere)
    return f"{url.hostname}:{url.port or ''}{url.path}"
