"""What OpenAI's formats share: headers, the prompt cache key, attachments, refusals."""

import base64
import hashlib
import os
import re
from collections.abc import Mapping
from itertools import takewhile

from environments.models.faults import ProviderError
from environments.models.wire.endpoint import Endpoint
from environments.ports import Media, ModelRequest

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
    opening = list(takewhile(lambda m: m.role in ("system", "user"), request.messages))
    last = (opening or request.messages)[-1]
    known = last.wire.get(_CACHE_KEY)
    if known is None:
        text = "\0".join(message.text for message in opening)
        digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
        known = last.wire[_CACHE_KEY] = digest[:32].encode()
    return known.decode()


def data_url(media: Media) -> str:
    """Return an attachment as a data URL."""
    return f"data:{media.media_type};base64,{base64.b64encode(media.data).decode()}"


def refuses(error: ProviderError, field: str) -> bool:
    """Whether an error refuses the field `field` of a request, by its name or in words."""
    if error.param:
        return error.param.rpartition(".")[2] == field
    named = re.search(rf"(?<!\w){field}(?!\w)", error.message[:1000])
    return named is not None and _REFUSED.search(error.message[:1000]) is not None
