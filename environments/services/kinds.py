"""The kinds of services; adding one is one module, one program in `inside/` and one line here."""

from collections.abc import Mapping
from typing import Any

from environments.services.mail import Mail
from environments.services.postgresql import Postgresql
from environments.services.server import Server

READY = "ready"

KINDS: Mapping[str, Server[Any]] = {"postgresql": Postgresql(), "mail": Mail()}


def service_state(kind: str, sandbox: str = "bubblewrap") -> str:
    """Return `ready`, or on one line what a kind of service lacks here and how to get it.

    Args:
        kind: One of `KINDS`.
        sandbox: A provider's name: Docker's image has every server, bubblewrap shows those of this
            host.
    """
    missing = None if sandbox == "docker" else KINDS[kind].missing()
    return missing or READY
