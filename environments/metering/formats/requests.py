"""A program's request: parsed, checked against what is offered, and limited in cost."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from environments.metering.formats.contents import cached_briefly, read_contents
from environments.metering.formats.dialects import Dialect
from environments.metering.formats.offered import offered
from environments.models.wire.parts import object_of
from taskdata.errors import ModelRejected

_TOKENS_AROUND = 2_000
"""Tokens that a provider adds to a request with tools."""
_SHORTEST_WITH_THOUGHT = 2_048
"""Least tokens of a reply by a model that is given a thinking budget."""
_LEAST_THOUGHT = 1_024
"""Least thinking budget in tokens, set by Anthropic."""
_CACHED_BRIEFLY = (
    "The program asked for its prompts to be cached for longer than five minutes, which has a "
    "price of its own; they are cached for five."
)


@dataclass(frozen=True)
class Asked:
    """A request that may be forwarded."""

    body: dict[str, Any]
    model: str
    """The model that the program named."""
    input_tokens: int
    """Upper bound of its tokens: a token has at least one byte."""
    reply_tokens: int | None
    """Reply limit in tokens that the program asked for."""
    streams: bool
    digest: str
    """Hash of the original request; equal requests have the same."""
    hides_usage: bool = False
    """The program did not ask for usage in its stream, but we do."""
    shortest_reply: int = 1
    """Least tokens that make a useful reply, unless the program asks for fewer."""
    notices: tuple[str, ...] = ()
    """Messages about what is done differently from the request."""


def read_request(dialect: Dialect, raw: bytes, model: str) -> Asked:
    """Return a program's request with its model replaced by `model`.

    Raises:
        ModelRejected: the request is malformed, or asks for something that is not offered.
    """
    try:
        body = json.loads(raw)
    except (ValueError, RecursionError):
        raise ModelRejected("the request is not JSON") from None
    if not isinstance(body, dict):
        raise ModelRejected("the request is not a JSON object")
    body = offered(dialect, body)
    more = read_contents(dialect, body)
    named = body.get("model")
    asked = Asked(
        body=body | {"model": model},
        model=named[:200] if isinstance(named, str) else "",
        input_tokens=max(0, len(raw) + _TOKENS_AROUND + more),
        reply_tokens=_reply_tokens(dialect, body),
        streams=body.get("stream") is True,
        digest=hashlib.sha256(raw).hexdigest(),
        shortest_reply=1 if _thought(body) is None else _SHORTEST_WITH_THOUGHT,
        notices=(_CACHED_BRIEFLY,) if cached_briefly(dialect, body) else (),
    )
    return _with_usage(asked) if dialect.name == "chat" and asked.streams else asked


def limited(asked: Asked, dialect: Dialect, reply_tokens: int) -> dict[str, Any]:
    """Return the body to send, with its reply limit and thinking budget set to fit."""
    present = [field for field in dialect.limits if asked.body.get(field) is not None]
    body = asked.body | dict.fromkeys(present or dialect.limits[:1], reply_tokens)
    thought, wanted = _thought(asked.body), asked.reply_tokens or reply_tokens
    if loses_thoughts(asked, reply_tokens):
        del body["thinking"]
    elif thought is not None and reply_tokens < wanted:
        # A provider refuses a thinking budget above the reply limit, so it is scaled in proportion.
        share = max(_LEAST_THOUGHT, thought * reply_tokens // wanted)
        body["thinking"] = object_of(body["thinking"]) | {"budget_tokens": share}
    return body


def loses_thoughts(asked: Asked, reply_tokens: int) -> bool:
    """Return whether a reply limit leaves no room for the thinking that the request asks for."""
    is_shorter = reply_tokens < (asked.reply_tokens or reply_tokens)
    return is_shorter and reply_tokens <= _LEAST_THOUGHT and _thought(asked.body) is not None


def _reply_tokens(dialect: Dialect, body: Mapping[str, Any]) -> int | None:
    limits = [body[field] for field in dialect.limits if body.get(field) is not None]
    if any(isinstance(limit, bool) or not isinstance(limit, int) for limit in limits):
        raise ModelRejected(f"{' and '.join(dialect.limits)} must be whole numbers")
    return max(1, min(limits)) if limits else None


def _thought(body: Mapping[str, Any]) -> int | None:
    """Return the thinking budget in tokens; None if the request has none."""
    budget = object_of(body.get("thinking")).get("budget_tokens")
    return budget if isinstance(budget, int) else None


def _with_usage(asked: Asked) -> Asked:
    options = object_of(asked.body.get("stream_options"))
    hides = options.get("include_usage") is not True
    body = asked.body | {"stream_options": options | {"include_usage": True}}
    return replace(asked, body=body, hides_usage=hides)
