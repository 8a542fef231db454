"""What a program asks a proxy for: where to, and the request as its server gets it."""

from urllib.parse import urlsplit

import h11

from taskdata.schema.network import split_pattern

_HTTP_PORT = 80
# Between a program and its proxy alone (RFC 9110, section 7.6.1), or written anew.
_NOT_SENT_ON = {
    b"connection",
    b"proxy-connection",
    b"proxy-authorization",
    b"keep-alive",
    b"te",
    b"trailer",
    b"upgrade",
    b"expect",
    b"host",
}


class BadTarget(Exception):
    """A request for nothing that a proxy could connect to; the text says why."""


def connect_target(request: h11.Request) -> tuple[str, int]:
    """Return host and port of a CONNECT request.

    Raises:
        BadTarget: it names none.
    """
    host, port = _split(request.target.decode("ascii"))
    if port is None:
        raise BadTarget("CONNECT needs a host and a port")
    return host, port


def url_target(request: h11.Request) -> tuple[str, int]:
    """Return host and port of a request for an absolute URL.

    Raises:
        BadTarget: it names none, or is not plain HTTP.
    """
    authority, _ = _split_url(request)
    host, port = _split(authority)
    return host, port or _HTTP_PORT


def onward(request: h11.Request) -> h11.Request:
    """Return the request for an absolute URL as its server gets it.

    `Host` is the URL's, whatever the program wrote: a server has many, and one was checked.

    Raises:
        BadTarget: the URL is not one of plain HTTP.
    """
    authority, path = _split_url(request)
    named = {
        name.strip().lower()
        for header, value in request.headers
        if header == b"connection"
        for name in value.split(b",")
    }
    # A body's length and coding stay: without them it could not be told from a next request.
    dropped = (_NOT_SENT_ON | named) - {b"content-length", b"transfer-encoding"}
    written = request.headers.raw_items()
    kept = [(name, value) for name, value in written if name.lower() not in dropped]
    headers = [(b"Host", authority.encode("ascii")), *kept, (b"Connection", b"close")]
    return h11.Request(method=request.method, target=path, headers=headers)


def _split_url(request: h11.Request) -> tuple[str, str]:
    try:
        parts = urlsplit(request.target.decode("ascii"))
    except ValueError as error:
        raise BadTarget(f"the URL cannot be read: {error}") from error
    if parts.scheme != "http":
        raise BadTarget("a proxy is asked for `http://` URLs, and with CONNECT for anything else")
    query = f"?{parts.query}" if parts.query else ""
    return parts.netloc.rpartition("@")[2], f"{parts.path or '/'}{query}"


def _split(authority: str) -> tuple[str, int | None]:
    try:
        host, port = split_pattern(authority)
    except ValueError as error:
        raise BadTarget(f"{authority!r} is not a host") from error
    if host.startswith("*"):
        raise BadTarget(f"{authority!r} is not a host")
    return host, port
