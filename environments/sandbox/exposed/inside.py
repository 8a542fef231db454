"""How a sandbox without a network reaches services: see `environments.ports.ExposedPort`.

The folder of an exposed port's socket is mounted, not the socket: a service that restarts makes a
new socket, which only a mounted folder shows. So the folder must hold nothing else. Programs inside
run as a user of their own, so every user must be able to enter the folder and write to the socket;
the parent of the folder keeps other users of the host out.
"""

import os
import re
import stat
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from environments.ports import ExposedPort, Mount
from environments.sandbox.mounts import PACKAGES
from environments.sandbox.walking import opened_folder
from taskdata.errors import Misuse, SandboxFailed

FOLDER = "/run/nightshift/ports"
"""Holds one folder for each exposed port inside, named after the port."""

_RELAY = f"{PACKAGES}/environments/sandbox/exposed/relay.py"
_PORTS = range(1024, 65536)
_LONGEST_ADDRESS = 107
# A sandboxed service can fill its own folder, so only so many entries are looked at.
_MOST_ENTRIES = 16
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def check_exposed_ports(exposed_ports: Sequence[ExposedPort]) -> None:
    """Check that a sandbox can have these exposed ports; their services need not run yet.

    Raises:
        Misuse: ports repeat or need privileges, or a path or variable cannot be passed on.
        SandboxFailed: the folder of a socket is missing, or holds what a program must not see.
    """
    repeated = [port for port, count in Counter(d.port for d in exposed_ports).items() if count > 1]
    if repeated:
        raise Misuse(f"two exposed ports of a sandbox have port {repeated[0]}: give each its own")
    for exposed in exposed_ports:
        if exposed.port not in _PORTS:
            raise Misuse(
                f"a sandbox cannot expose port {exposed.port}: choose one from 1024 to 65535"
            )
        if len(os.fsencode(_socket_inside(exposed))) > _LONGEST_ADDRESS:
            raise Misuse(f"the name of the socket {exposed.socket} is too long for a sandbox")
        for name, value in exposed.variables:
            if not _VARIABLE.fullmatch(name) or "\0" in value:
                raise Misuse(
                    f"exposed port {exposed.port} has a variable {name!r} that cannot be set"
                )
        _check_folder(exposed)


def _check_folder(exposed: ExposedPort) -> None:
    folder = exposed.socket.parent
    try:
        descriptor = opened_folder(folder)
        try:
            for number, entry in enumerate(os.scandir(descriptor)):
                mode = entry.stat(follow_symlinks=False).st_mode
                # PostgreSQL keeps a lock file beside its socket.
                known = stat.S_ISSOCK(mode) or entry.name.endswith(".lock")
                if not known or number >= _MOST_ENTRIES:
                    raise SandboxFailed(
                        f"{folder} holds {entry.name!r} beside the socket of exposed port "
                        f"{exposed.port}, and a sandbox would see it: "
                        "give the socket a folder of its own"
                    )
        finally:
            os.close(descriptor)
    except OSError as error:
        raise SandboxFailed(
            f"the folder {folder} of exposed port {exposed.port} cannot be read: {error.strerror}"
        ) from error


def port_mounts(exposed_ports: Sequence[ExposedPort]) -> tuple[Mount, ...]:
    """Return the folders of the sockets as a sandbox sees them."""
    return tuple(
        Mount(exposed.socket.parent, f"{FOLDER}/{exposed.port}") for exposed in exposed_ports
    )


def hosts_mounts(exposed_ports: Sequence[ExposedPort]) -> tuple[Mount, ...]:
    """Return the mount that makes `localhost` resolve in a sandbox without /etc/hosts."""
    file = Path(__file__).parent / "hosts"
    return (Mount(file, "/etc/hosts"),) if exposed_ports else ()


def port_variables(exposed_ports: Sequence[ExposedPort]) -> dict[str, str]:
    """Return the environment variables that tell programs about the exposed ports."""
    return {name: value for exposed in exposed_ports for name, value in exposed.variables}


def relayed(python: str, exposed_ports: Sequence[ExposedPort]) -> tuple[str, ...]:
    """Return the prefix of a command that opens the exposed ports for it.

    Args:
        python: A Python inside the sandbox.
        exposed_ports: Without any, the prefix is empty.
    """
    if not exposed_ports:
        return ()
    pairs = (f"{exposed.port}={_socket_inside(exposed)}" for exposed in exposed_ports)
    return (python, "-I", "-S", _RELAY, *pairs, "--")


def relay_processes(exposed_ports: Sequence[ExposedPort]) -> int:
    """Return how many processes of ours run beside a program for its exposed ports."""
    return 1 if exposed_ports else 0


def _socket_inside(exposed: ExposedPort) -> str:
    return f"{FOLDER}/{exposed.port}/{exposed.socket.name}"
