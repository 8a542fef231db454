"""What a program may ask of its model, and the most that it can cost.

The sandbox has no network, and a provider must not become one: tools that the provider runs itself
and files that it fetches are refused. So is what it remembers from elsewhere, and what it bills at
a rate of its own.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from environments.metering.formats.dialects import Dialect
from taskdata.errors import ModelRejected

_REFUSED_FIELDS = (
    "audio",
    "background",
    "container",
    "conversation",
    "inference_geo",
    "mcp_servers",
    "previous_response_id",
    "prompt",
    "speed",
    "web_search_options",
)
_PLAIN_TIERS = ("auto", "default", "standard", "standard_only")
_OWN_TOOLS = ("function", "custom", "local_shell", "apply_patch")
_OWN_TOOL_PREFIXES = ("bash_", "text_editor_", "computer_", "memory_")
"""Of Anthropic: they are defined there and run here."""

_TOKENS_AROUND = 2_000
"""What a provider adds of its own to a request with tools."""
_TOKENS_PER_IMAGE = 50_000
"""More than any provider's published rate comes to for one picture."""
_IMAGE_PARTS = ("image", "image_url", "input_image")
_FILE_PARTS = (*_IMAGE_PARTS, "document", "file", "input_file", "input_audio")
_MAX_DEPTH = 6


@dataclass(frozen=True)
class Asked:
    """A request as it may be forwarded."""

    body: dict[str, Any]
    model: str
    """As the program named it."""
    input_tokens: int
    """Most tokens that it can be: a token stands for at least one byte."""
    reply_tokens: int | None
    """Most tokens that the program wants."""
    streams: bool
    digest: str
    """Of the request as it came: the same question, asked again, has the same."""
    hides_usage: bool = False
    """The program did not ask for the usage that we ask for in its stream."""


def read_request(dialect: Dialect, raw: bytes, model: str) -> Asked:
    """Return a program's request, its model replaced by `model`.

    Raises:
        ModelRejected: It is malformed, or asks for what this evaluation does not offer.
    """
    try:
        body = json.loads(raw)
    except (ValueError, RecursionError):
        raise ModelRejected("the request is not JSON") from None
    if not isinstance(body, dict):
        raise ModelRejected("the request is not a JSON object")
    _refuse_fields(body)
    _refuse_tools(body.get("tools"))
    pictures = _check_parts(body)
    named = body.get("model")
    limits = [body[field] for field in dialect.limits if body.get(field) is not None]
    if any(isinstance(limit, bool) or not isinstance(limit, int) for limit in limits):
        raise ModelRejected(f"{' and '.join(dialect.limits)} must be whole numbers")
    asked = Asked(
        body=body | {"model": model},
        model=named[:200] if isinstance(named, str) else "",
        input_tokens=max(0, len(raw) + _TOKENS_AROUND - pictures),
        reply_tokens=max(1, min(limits)) if limits else None,
        streams=body.get("stream") is True,
        digest=hashlib.sha256(raw).hexdigest(),
    )
    return _with_usage(asked) if dialect.name == "chat" and asked.streams else asked


def limited(asked: Asked, dialect: Dialect, reply_tokens: int) -> dict[str, Any]:
    """Return the body to send, its reply held to so many tokens."""
    present = [field for field in dialect.limits if asked.body.get(field) is not None]
    return asked.body | dict.fromkeys(present or dialect.limits[:1], reply_tokens)


def _with_usage(asked: Asked) -> Asked:
    options = asked.body.get("stream_options")
    options = dict(options) if isinstance(options, dict) else {}
    hides = options.get("include_usage") is not True
    body = asked.body | {"stream_options": options | {"include_usage": True}}
    return replace(asked, body=body, hides_usage=hides)


def _refuse_fields(body: Mapping[str, Any]) -> None:
    for field in _REFUSED_FIELDS:
        if body.get(field):
            raise ModelRejected(f"{field}: this evaluation does not offer it; leave it out")
    if body.get("n") not in (None, 1):
        raise ModelRejected("n: one reply per call; leave it out")
    tier = body.get("service_tier")
    if tier is not None and tier not in _PLAIN_TIERS:
        raise ModelRejected("service_tier: only the default one; leave it out")


def _refuse_tools(tools: object) -> None:
    for tool in tools if isinstance(tools, list) else ():
        kind = tool.get("type") if isinstance(tool, dict) else None
        own = kind is None or kind in _OWN_TOOLS
        if not own and not str(kind).startswith(_OWN_TOOL_PREFIXES):
            raise ModelRejected(
                f"tools: {str(kind)[:60]!r} would run at the provider, outside of the sandbox; "
                "offer functions of your own"
            )


def _check_parts(body: Mapping[str, Any]) -> int:
    """Return how many bytes of pictures are more than the tokens that they can come to."""
    too_much = 0
    for part in _parts(body):
        kind = part.get("type")
        if kind == "item_reference" or any(not a.startswith("data:") for a in _addresses(part)):
            raise ModelRejected(
                "what is named by address or id would be fetched by the provider, outside of the "
                "sandbox; send its content"
            )
        if kind in _IMAGE_PARTS:
            source = part.get("source")
            data = source.get("data") if isinstance(source, dict) else next(_addresses(part), "")
            too_much += max(0, len(data) - _TOKENS_PER_IMAGE) if isinstance(data, str) else 0
    return too_much


def _parts(body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield every part of every message, those inside of tool results included."""
    waiting: list[tuple[object, int]] = [(body.get(key), 0) for key in ("messages", "input")]
    while waiting:
        item, depth = waiting.pop()
        if isinstance(item, list):
            waiting += [(entry, depth) for entry in item]
        elif isinstance(item, dict):
            if depth > _MAX_DEPTH:
                raise ModelRejected("the messages are nested too deeply")
            yield item
            waiting += [(item.get(key), depth + 1) for key in ("content", "output")]


def _addresses(part: Mapping[str, Any]) -> Iterator[str]:
    """Yield where the provider would find the part's file; `data:` for what is in the request."""
    if part.get("type") not in _FILE_PARTS:
        return
    nested = (part.get(key) for key in ("source", "image_url", "file"))
    for holder in (part, *(item for item in nested if isinstance(item, dict))):
        for key in ("image_url", "file_url", "file_id", "url"):
            address = holder.get(key)
            if isinstance(address, str):
                yield address
