"""Forms of the annotation pages: taken from a page of this server only, and no larger than ours.

The browser must name this server as the origin of the form, and the form must carry a token that
other sites cannot read.
"""

import hmac
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

if TYPE_CHECKING:
    from starlette.requests import Request

FORM_BYTES = 4_096


def policy_headers(content_policy: str) -> dict[str, str]:
    """Return the headers of all annotation pages, with this content security policy."""
    return {
        "Content-Security-Policy": content_policy,
        # Without any referrer a browser would not name the origin of a form either.
        "Referrer-Policy": "same-origin",
        "Cache-Control": "no-store",
    }


def form_token(login: str, purpose: str) -> str:
    """Return the token that forms of this purpose carry."""
    return hmac.digest(login.encode(), purpose.encode(), "sha256").hex()


async def posted(
    request: "Request", token: str, most_bytes: int = FORM_BYTES
) -> dict[str, list[str]]:
    """Return the fields of a form.

    Raises:
        HTTPException: 403 if it is from another page, 413 if it is larger than `most_bytes`.
    """
    from starlette.exceptions import HTTPException

    if request.headers.get("origin") != f"http://{request.headers.get('host')}":
        raise HTTPException(403, "Answers are taken from this server's own page only.")
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > most_bytes:
            raise HTTPException(413)
    form = parse_qs(body.decode("ascii", "replace"))
    if not hmac.compare_digest(form.get("token", [""])[0].encode(), token.encode()):
        raise HTTPException(403, "This page is from another session; load it again.")
    return form


def text_in(form: Mapping[str, Sequence[str]], field: str) -> str:
    """Return what was written in a field, with plain line ends; empty: nothing."""
    return form.get(field, [""])[0].replace("\r\n", "\n")


def fault_of(error: ValueError) -> str:
    """Return what is wrong with an answer, for the person who gave it."""
    from pydantic import ValidationError

    if isinstance(error, ValidationError):
        return error.errors(include_url=False)[0]["msg"].removeprefix("Value error, ")
    return str(error)
