"""Contents of a request besides text: pictures and documents, which must be embedded.

A provider that downloads files would give the program a network, so addresses are refused. The
token count of pictures and documents does not follow from their size in bytes.
"""

import base64
import binascii
import re
from collections.abc import Iterator, Mapping
from typing import Any

from environments.metering.formats.dialects import Dialect
from environments.models.money.media import PICTURE_TOKENS, page_tokens
from environments.models.wire.parts import object_of, objects_of, text_of
from taskdata.errors import ModelRejected

_PLACES: Mapping[str, tuple[str, ...]] = {
    "chat": ("messages",),
    "responses": ("input",),
    "messages": ("messages", "system"),
}
_NOT_FETCHED = frozenset(
    {"input", "arguments", "parsed_arguments", "action", "operation", "annotations", "citations"}
)
"""Parts that hold the model's own output: tool calls and citations."""
_ADDRESSES = re.compile(r"(?:^|_)(?:ur[il]s?|file_ids?)$")
_CONTENTS = frozenset({"data", "file_data", "image", "audio", "video"})
"""Fields with bytes in base64; some servers accept an address in them as well."""
_ADDRESS = re.compile(r"\s*[A-Za-z][A-Za-z0-9+.\-]{0,30}://")
_PICTURES = ("image", "image_url", "input_image", "computer_screenshot")
_MAX_DEPTH = 30


def read_contents(dialect: Dialect, body: Mapping[str, Any]) -> int:
    """Return the correction to the byte count of the messages as an upper bound of their tokens.

    Positive if the messages can have more tokens than bytes, negative if they have fewer.

    Raises:
        ModelRejected: a file is named by address or id, or the messages are nested too deeply.
    """
    more = 0
    for part in _parts(dialect, body):
        if part.get("type") == "item_reference" or _is_elsewhere(part):
            raise ModelRejected(
                "what is named by address or id would be fetched by the provider, outside of the "
                "sandbox; send its content"
            )
        if part.get("type") in _PICTURES or "image_url" in part:
            more += PICTURE_TOKENS - len(_picture(part))
        elif (document := _document(part)) is not None:
            more += page_tokens(document)
    return more


def cached_briefly(dialect: Dialect, body: Mapping[str, Any]) -> bool:
    """Remove one-hour caching, which has a price of its own; return whether it was asked for.

    Prompts are then cached for five minutes, the default, to which the price of cache writes
    applies.
    """
    was_longer = False
    for part in (body, *objects_of(body.get("tools")), *_parts(dialect, body)):
        told = part.get("cache_control")
        if isinstance(told, dict) and told.get("ttl", "5m") != "5m":
            del told["ttl"]
            was_longer = True
    return was_longer


def _parts(dialect: Dialect, body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield every object of the messages, including those inside tool results."""
    waiting: list[tuple[object, int]] = [(body.get(place), 0) for place in _PLACES[dialect.name]]
    while waiting:
        item, depth = waiting.pop()
        if depth > _MAX_DEPTH:
            raise ModelRejected("the messages are nested too deeply")
        if isinstance(item, list):
            waiting += [(entry, depth + 1) for entry in item]
        elif isinstance(item, dict):
            yield item
            waiting += [(item[key], depth + 1) for key in item if key not in _NOT_FETCHED]


def _is_elsewhere(part: Mapping[str, Any]) -> bool:
    """Return whether the part refers to a file by address or id."""
    for key, value in part.items():
        told = value if isinstance(value, list) else [value]
        texts = [text for text in told if isinstance(text, str)]
        if _ADDRESSES.search(key):
            if not all(text.startswith("data:") for text in texts):
                return True
        elif key in _CONTENTS and part.get("type") != "text" and any(map(_ADDRESS.match, texts)):
            return True
    return False


def _picture(part: Mapping[str, Any]) -> str:
    """Return a picture's data as written; empty if there is none."""
    told = part.get("image_url")
    written = (told, object_of(told).get("url"), object_of(part.get("source")).get("data"))
    return next((text for text in written if isinstance(text, str)), "")


def _document(part: Mapping[str, Any]) -> bytes | None:
    """Return a PDF's bytes; None if the part holds no PDF."""
    source = object_of(part.get("source"))
    of_source = text_of(source.get("data")) if source.get("type") != "text" else ""
    data = text_of(part.get("file_data")) or text_of(part.get("file_url")) or of_source
    if not data:
        return None
    try:
        document = base64.b64decode(data.partition(",")[2] or data)
    except (binascii.Error, ValueError):
        return None
    return document if b"%PDF-" in document[:1024] else None
