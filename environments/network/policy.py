"""Who may be reached: hosts by the task's patterns, addresses by what they are."""

import asyncio
import ipaddress
import socket
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

from taskdata.schema.network import Address, is_public, split_pattern

_USUAL_PORTS = (80, 443)
_SECONDS_TO_RESOLVE = 10.0


class Refused(Exception):
    """A target that may not be reached; the text says why."""


class Resolver(Protocol):
    """Finds the addresses of a host."""

    async def addresses(self, host: str, port: int) -> tuple[Address, ...]:
        """Return them in the order in which to try them; raises OSError when there are none."""
        ...


class HostResolver:
    """Asks the host's resolver, in threads of its own.

    Those of the event loop stop programs that exceed a limit, and must not wait for names.
    """

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(2, thread_name_prefix="resolver")

    async def addresses(self, host: str, port: int) -> tuple[Address, ...]:
        """Return the addresses of `host`; raises OSError when there are none in time."""
        asked = asyncio.get_running_loop().run_in_executor(
            self._threads, lambda: socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        )
        async with asyncio.timeout(_SECONDS_TO_RESOLVE):
            found = await asked
        return tuple(ipaddress.ip_address(str(entry[4][0])) for entry in found)

    def close(self) -> None:
        """Answer no more; a question that is under way is let go."""
        self._threads.shutdown(wait=False, cancel_futures=True)


class Policy:
    """A task's list of hosts."""

    def __init__(self, allow: Sequence[str], resolver: Resolver) -> None:
        self._allowed = [split_pattern(pattern) for pattern in allow]
        self._resolver = resolver

    async def addresses(self, host: str, port: int) -> tuple[str, ...]:
        """Return the addresses of a host that may be connected to, and no name any more.

        What is checked is thus what is connected to, whatever the name leads to a moment later.

        Raises:
            Refused: the host or all its addresses are not allowed.
            OSError: it has no address, or not in time.
        """
        host = host.lower().removesuffix(".")
        if not self._names(host, port):
            raise Refused("not in the task's list of hosts")
        found = await self._resolver.addresses(host, port)
        allowed = tuple(str(a) for a in found if is_public(a) or self._names(str(a), port))
        if not allowed:
            raise Refused("leads to an address that is not public and not in the task's list")
        return allowed

    def _names(self, host: str, port: int) -> bool:
        return any(
            (port == only if only else port in _USUAL_PORTS) and _matches(pattern, host)
            for pattern, only in self._allowed
        )


def _matches(pattern: str, host: str) -> bool:
    if pattern.startswith("*."):
        return host.endswith(pattern[1:]) and len(host) >= len(pattern)
    return host == pattern
