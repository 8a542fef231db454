"""What stands before every page that we serve: the login, and the names of this machine."""

import base64
import hmac
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING

from flows.serving.ports import LOCAL_HOSTS

if TYPE_CHECKING:
    from starlette.middleware import Middleware
    from starlette.requests import Request
    from starlette.responses import Response


def behind_login(login: str, headers: Callable[[str], Mapping[str, str]]) -> "list[Middleware]":
    """Return middleware that asks for a login and sends headers with every reply.

    Args:
        login: What it asks for, `user:password`.
        headers: Those of a reply, by the path that was asked for.
    """
    from starlette.middleware import Middleware
    from starlette.middleware.base import BaseHTTPMiddleware
    from starlette.middleware.trustedhost import TrustedHostMiddleware
    from starlette.responses import Response

    expected = f"Basic {base64.b64encode(login.encode()).decode()}".encode()

    async def guarded(
        request: "Request", call_next: "Callable[[Request], Awaitable[Response]]"
    ) -> "Response":
        given = request.headers.get("authorization", "").encode()
        if hmac.compare_digest(given, expected):
            reply = await call_next(request)
        else:
            asks = {"WWW-Authenticate": 'Basic realm="Nightshift", charset="UTF-8"'}
            reply = Response("The login is in the file `login` of the home.", 401, asks)
        reply.headers.update(headers(request.url.path))
        return reply

    return [
        Middleware(TrustedHostMiddleware, allowed_hosts=list(LOCAL_HOSTS), www_redirect=False),
        Middleware(BaseHTTPMiddleware, dispatch=guarded),
    ]
