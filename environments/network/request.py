"""What a program asks of the proxy: the target, and the request as the server receives it."""

from urllib.parse import urlsplit

import h11

from taskdata.schema.network import split_pattern

_HTTP_PORT = 80
# Headers between a client and its proxy only (RFC 9110, section 7.6.1), or written anew.
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
    """A request that names no target to connect to; the text says why."""


def connect_target(request: h11.Request) -> tuple[str, int]:
    """Return host and port of a CONNECT request.

    Raises:
        BadTarget: the request names no host and port.
    """
    host, port = _split(request.target.decode("ascii"))
    if port is None:
        raise BadTarget("CONNECT needs a host and a port")
    return host, port


def url_target(request: h11.Request) -> tuple[str, int]:
    """Return host and port of a request for an absolute URL.

    Raises:
        BadTarget: the request names no host, or is not plain HTTP.
    """
    authority, _ = _split_url(request)
    host, port = _split(authority)
    return host, port or _HTTP_PORT


def onward(request: h11.Request) -> h11.Request:
    """Return a request for an absolute URL in the form in which the server receives it.

    The `Host` header is taken from the URL, whatever the program wrote: a server has many hosts,
    and only the one in the URL was checked.

    Raises:
        BadTarget: the URL is not a plain HTTP URL.
    """
    authority, path = _split_url(request)
    named = {
        name.strip().lower()
        for header, value in request.headers
        if header == b"connection"
        for name in value.split(b",")
    }
    # Body length and coding stay: without them the body would look like the next request.
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
