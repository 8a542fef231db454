"""How a sandbox without a network reaches services: through doors, see `environments.ports.Door`.

The folder of a door's socket is mounted, not the socket: a service that starts again makes a new
one, which only a folder shows. So the folder must hold nothing else, and as programs inside have
a user of their own, anybody must be able to enter it and to write to the socket; what keeps the
host's other users out is the folder that it lies in.
"""

import os
import re
import stat
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from environments.ports import Door, Mount
from environments.sandbox.mounts import PACKAGES
from environments.sandbox.walking import opened_folder
from taskdata.errors import Misuse, SandboxFailed

FOLDER = "/run/nightshift/doors"
"""Holds one folder for each door inside, called like its port."""

_RELAY = f"{PACKAGES}/environments/sandbox/doors/relay.py"
_PORTS = range(1024, 65536)
_LONGEST_ADDRESS = 107
# A sandboxed service can fill its own folder.
_MOST_ENTRIES = 16
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def check_doors(doors: Sequence[Door]) -> None:
    """Return if a sandbox can have these doors; there need be no service behind them yet.

    Raises:
        Misuse: ports repeat or need privileges, or a path or variable cannot be passed on.
        SandboxFailed: the folder of a socket is missing, or holds what a program must not see.
    """
    repeated = [port for port, count in Counter(d.port for d in doors).items() if count > 1]
    if repeated:
        raise Misuse(f"two doors of a sandbox have port {repeated[0]}: give each its own")
    for door in doors:
        if door.port not in _PORTS:
            raise Misuse(f"a door has port {door.port}: choose one from 1024 to 65535")
        if len(os.fsencode(_socket_inside(door))) > _LONGEST_ADDRESS:
            raise Misuse(f"the name of the socket {door.socket} is too long for a sandbox")
        for name, value in door.variables:
            if not _VARIABLE.fullmatch(name) or "\0" in value:
                raise Misuse(f"door {door.port} has a variable {name!r} that cannot be set")
        _check_folder(door)


def _check_folder(door: Door) -> None:
    folder = door.socket.parent
    try:
        descriptor = opened_folder(folder)
        try:
            for number, entry in enumerate(os.scandir(descriptor)):
                mode = entry.stat(follow_symlinks=False).st_mode
                # PostgreSQL keeps a lock file beside its socket.
                known = stat.S_ISSOCK(mode) or entry.name.endswith(".lock")
                if not known or number >= _MOST_ENTRIES:
                    raise SandboxFailed(
                        f"{folder} holds {entry.name!r} beside the socket of door {door.port}, and "
                        "a sandbox would see it: give the socket a folder of its own"
                    )
        finally:
            os.close(descriptor)
    except OSError as error:
        raise SandboxFailed(
            f"the folder {folder} of door {door.port} cannot be read: {error.strerror}"
        ) from error


def door_mounts(doors: Sequence[Door]) -> tuple[Mount, ...]:
    """Return the folders of the sockets as a sandbox sees them."""
    return tuple(Mount(door.socket.parent, f"{FOLDER}/{door.port}") for door in doors)


def hosts_mounts(doors: Sequence[Door]) -> tuple[Mount, ...]:
    """Return what makes `localhost` a name, for a sandbox with doors but no /etc/hosts."""
    file = Path(__file__).parent / "hosts"
    return (Mount(file, "/etc/hosts"),) if doors else ()


def door_variables(doors: Sequence[Door]) -> dict[str, str]:
    """Return the environment variables that tell programs about the doors."""
    return {name: value for door in doors for name, value in door.variables}


def relayed(python: str, doors: Sequence[Door]) -> tuple[str, ...]:
    """Return what stands before a command so that the doors are open to it.

    Args:
        python: A Python inside.
        doors: None: nothing stands there.
    """
    if not doors:
        return ()
    pairs = (f"{door.port}={_socket_inside(door)}" for door in doors)
    return (python, "-I", "-S", _RELAY, *pairs, "--")


def relay_processes(doors: Sequence[Door]) -> int:
    """Return how many processes of ours run beside a program for its doors."""
    return 1 if doors else 0


def _socket_inside(door: Door) -> str:
    return f"{FOLDER}/{door.port}/{door.socket.name}"
