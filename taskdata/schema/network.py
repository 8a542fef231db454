"""Which hosts a task's programs may reach, and what they tried beside."""

import ipaddress
import re
from collections.abc import Iterable
from typing import Annotated

from pydantic import AfterValidator, Field, StringConstraints

from taskdata.schema.base import Value

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

# NAT64, and what IPv6 once had for the same.
_TRANSLATED = (ipaddress.IPv6Network("64:ff9b::/96"), ipaddress.IPv6Network("::/96"))
# Inside Azure, the platform itself.
_PLATFORM = ipaddress.IPv4Address("168.63.129.16")
_PATTERN = re.compile(r"(\[[0-9a-f:.]+\]|[^:\[\]]*)(?::([0-9]{1,5}))?")
_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")


def split_pattern(pattern: str) -> tuple[str, int | None]:
    """Return a pattern's host, in lower case and without brackets, and its port if it has one.

    Raises:
        ValueError: it is neither `host`, `*.domain`, an IPv4 address nor an IPv6 address in
            brackets, each with `:port` or without.
    """
    parts = _PATTERN.fullmatch(pattern.lower())
    host, port = parts.groups() if parts else ("", None)
    if port is not None and not 1 <= int(port) <= 65535:
        raise ValueError(f"{pattern!r} has no port from 1 to 65535")
    if host.startswith("[") and host.endswith("]"):
        host = str(ipaddress.IPv6Address(host[1:-1]))
    elif not _is_name(host.removeprefix("*.")):
        raise ValueError(
            f"{pattern!r} is not a host: write `example.org`, `*.example.org`, `192.0.2.1` or "
            "`[2001:db8::1]`, with `:port` or without, and international names as `xn--`"
        )
    return host, int(port) if port else None


def _is_name(host: str) -> bool:
    return len(host) <= 253 and all(_LABEL.fullmatch(label) for label in host.split("."))


def _pattern(text: str) -> str:
    split_pattern(text)
    return text.lower()


def is_public(address: Address) -> bool:
    """Return whether it is one of the internet, and no other way to write one that is not."""
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour
        if any(address in network for network in _TRANSLATED):
            inner = ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
        if inner is not None:
            return is_public(inner)
    return address.is_global and not address.is_multicast and address != _PLATFORM


def private_addresses(patterns: Iterable[str]) -> tuple[str, ...]:
    """Return the patterns that name an address inside some network: a machine's own, a cloud's.

    Names are not among them: they lead to public addresses or nowhere.
    """
    return tuple(pattern for pattern in patterns if _is_private(split_pattern(pattern)[0]))


def _is_private(host: str) -> bool:
    try:
        return not is_public(ipaddress.ip_address(host))
    except ValueError:
        return False


HostPattern = Annotated[
    str, StringConstraints(min_length=1, max_length=262), AfterValidator(_pattern)
]
"""`host`, `host:port`, or `*.domain` for every name below a domain but not the domain itself."""


class RefusedTarget(Value):
    """A host that programs tried to reach and were kept from."""

    target: str = Field(max_length=300)
    """`host:port` as they wrote it, cut and without control characters."""
    reason: str
    times: int = Field(ge=1)
