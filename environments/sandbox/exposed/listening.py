"""The host's side of an exposed port: a Unix socket that programs of any user may connect to."""

import os
import socket
from pathlib import Path


def listening_socket(path: Path) -> socket.socket:
    """Return a socket bound at `path`, which may exceed the 108 bytes of a socket address.

    Raises:
        OSError: the socket cannot be made there.
    """
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    bound = socket.socket(socket.AF_UNIX)
    try:
        bound.bind(f"/proc/self/fd/{folder}/{path.name}")
        path.chmod(0o666)
    except OSError:
        bound.close()
        raise
    finally:
        os.close(folder)
    return bound
