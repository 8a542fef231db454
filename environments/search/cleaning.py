"""Text of third parties, reduced to plain lines of limited length."""

import html
import re

from environments.models.wire.arguments import clean_text
from environments.search.ports import SearchHit

MAX_TITLE_CHARS = 200
MAX_URL_CHARS = 500
MAX_SNIPPET_CHARS = 1_500

_TAG = re.compile(r"<[^<>]{1,200}>")


def clean_hit(title: object, url: object, snippet: object) -> SearchHit | None:
    """Return a result as plain text, None if it has no http address or no title."""
    address = _line(url, MAX_URL_CHARS + 1)
    named = _line(title, MAX_TITLE_CHARS)
    if not named or len(address) > MAX_URL_CHARS or not address.startswith(("http://", "https://")):
        return None
    return SearchHit(title=named, url=address, snippet=_line(snippet, MAX_SNIPPET_CHARS))


def _line(text: object, limit: int) -> str:
    """Return `text` on one line without markup and invisible characters, cut after `limit`."""
    if not isinstance(text, str):
        return ""
    plain = _TAG.sub("", html.unescape(clean_text(text[: 10 * limit])))
    shown = "".join(c if c.isprintable() else " " for c in plain)
    words = " ".join(shown.split())
    return words if len(words) <= limit else words[: limit - 1] + "…"
