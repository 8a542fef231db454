"""Which hosts a task's programs may reach, and what they tried beside."""

import ipaddress
import re
from typing import Annotated

from pydantic import AfterValidator, Field, StringConstraints

from taskdata.schema.base import Value

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
