"""What OpenAI's formats share: headers, the prompt cache key, attachments, refusals."""

import base64
import hashlib
import os
import re
from collections.abc import Callable, Mapping
from itertools import takewhile
from typing import Any

from environments.models.faults import ProviderError
from environments.models.wire.endpoint import Endpoint
from environments.models.wire.writing import opening_json, opening_text, to_json
from environments.ports import Media, Message, ModelRequest, Opening

_CACHE_KEY = "prompt cache key"
_REFUSED = re.compile(
    r"unsupported|not support|unrecognized|unknown|unexpected|not (?:allowed|permitted)|"
    r"extra (?:inputs|fields)|additional propert|should not|must not|instead",
    re.IGNORECASE,
)


def account_headers(endpoint: Endpoint) -> Mapping[str, str]:
    """Return the headers with the key; only OpenAI itself gets the organisation and project."""
    headers = {"authorization": f"Bearer {endpoint.key}"}
    if endpoint.spec.provider.startswith("openai"):
        told = {"OpenAI-Organization": "OPENAI_ORG_ID", "OpenAI-Project": "OPENAI_PROJECT_ID"}
        headers |= {name: os.environ[v] for name, v in told.items() if os.environ.get(v)}
    return headers


def cache_key(request: ModelRequest) -> str:
    """Return a hash of the beginning of a conversation, for the provider's prompt cache.

    It routes the turns of a conversation, and repetitions of its task, to the server that has
    cached the beginning; it reveals nothing of the content.
    """
    messages = list(takewhile(lambda m: m.role in ("system", "user"), request.messages))
    last = (messages or request.messages)[-1]
    kept = last.wire if last.opening is None else last.opening.wire
    known = kept.get(_CACHE_KEY)
    if known is None:
        texts = [m.text if m.opening is None else m.opening.text for m in messages]
        digest = hashlib.sha256("\0".join(texts).encode("utf-8", "replace")).hexdigest()
        known = kept[_CACHE_KEY] = digest[:32].encode()
    return known.decode()


def opened_message(
    message: Message, opening: Opening, wire_format: str, write: Callable[[str | Media], Any]
) -> tuple[bytes, ...]:
    """Return a message with an opening as JSON in pieces, of which only the last is its own.

    Without attachments, its content is a string.
    """
    begin = to_json({"role": message.role})[:-1] + b',"content":'
    if opening.media:
        own = b",%s]}" % to_json(write(message.text))
        return begin + b"[", opening_json(opening, wire_format, write), own
    return begin, opening_text(opening), to_json(message.text)[1:] + b"}"


def data_url(media: Media) -> str:
    """Return an attachment as a data URL."""
    return f"data:{media.media_type};base64,{base64.b64encode(media.data).decode()}"


def refuses(error: ProviderError, field: str) -> bool:
    """Whether an error refuses the field `field` of a request, by its name or in words."""
    if error.param:
        return error.param.rpartition(".")[2] == field
    named = re.search(rf"(?<!\w){field}(?!\w)", error.message[:1000])
    return named is not None and _REFUSED.search(error.message[:1000]) is not None
