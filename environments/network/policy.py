"""Which targets may be reached: hosts by the task's patterns, addresses by their range."""

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
        """Return the addresses in the order to try them; raises OSError if there are none."""
        ...


class HostResolver:
    """Resolves names with the host's resolver, in a thread pool of its own.

    The event loop's default threads stop programs that exceed a limit, so they must not be blocked
    by name lookups.
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
        """Stop resolving; a lookup that is running is abandoned."""
        self._threads.shutdown(wait=False, cancel_futures=True)


class Policy:
    """The list of hosts that a task allows."""

    def __init__(self, allow: Sequence[str], resolver: Resolver) -> None:
        self._allowed = [split_pattern(pattern) for pattern in allow]
        self._resolver = resolver

    async def addresses(self, host: str, port: int) -> tuple[str, ...]:
        """Return the addresses of `host` to which connections are allowed.

        Connections go to these addresses and not to the name, so a name that resolves differently a
        moment later cannot bypass the check.

        Raises:
            Refused: the host or all its addresses are not allowed.
            OSError: the host has no address, or the lookup took too long.
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
