"""Ports of this machine on which our own servers listen, and the names that lead to them."""

import socket

from taskdata.errors import NightshiftError

LOCAL_HOSTS = ("127.0.0.1", "localhost")
"""What a request may give as its host; anything else was sent by a page that renamed itself."""

_BACKLOG = 2048


def listening(preferred: int, host: str = "127.0.0.1") -> socket.socket:
    """Return a socket that listens on that port of this machine, else on any free one.

    Args:
        preferred: The port.
        host: The address of this machine at which it is reached.

    Raises:
        NightshiftError: if there is none.
    """
    for port in (preferred, 0):
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, port))
            listener.listen(_BACKLOG)
        except OSError:
            listener.close()
            continue
        return listener
    raise NightshiftError(f"no free port on {host}")


def address_of(listener: socket.socket) -> str:
    """Return the URL of the server that listens there."""
    return f"http://127.0.0.1:{listener.getsockname()[1]}"
