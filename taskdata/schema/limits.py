"""The limits of a trial's sandbox: what the task asked for, and what really held."""

from typing import Literal

from taskdata.schema.base import Sha256, Value
from taskdata.schema.network import RefusedTarget
from taskdata.schema.task import Resources

LimitName = Literal[
    "cpu_seconds",
    "cpus",
    "wall_seconds",
    "memory_mb",
    "processes",
    "file_mb",
    "disk_mb",
    "temporary_mb",
    "output_kb",
    "max_files",
    "network",
]

Enforcer = Literal["cgroup", "rlimit", "mount", "namespace", "proxy", "watch", "collection"]
"""Who stops a program: the kernel at once (a control group, a limit of each process, the size of
a file system, a namespace), the proxy that its connections go through, we when we next look at all
its processes (`watch`), or collection, which leaves behind what is too much."""


class EnforcedLimit(Value):
    """One limit that held."""

    name: LimitName
    value: float
    """In the unit that the name says, or a count; of `network`, the patterns of allowed hosts."""
    by: tuple[Enforcer, ...]


class KeptState(Value):
    """What a service held at the end, packed so that the service can be started again from it."""

    sha256: Sha256
    """The artifact."""
    size_bytes: int
    base_sha256: Sha256 | None = None
    """The artifact that holds what had not changed since the service was started."""


class ServiceFacts(Value):
    """A service that ran for a trial."""

    name: str
    kind: str
    version: str
    """Of its server, as that says itself."""
    seconds: float
    """Until it was healthy."""
    kept: KeptState | None = None
    """None: no program of the task asks for it, or it could not be kept."""


class SandboxLimits(Value):
    """What was asked of a sandbox, what it was really held to, and what it could reach."""

    asked: Resources
    enforced: tuple[EnforcedLimit, ...] = ()
    """Empty where the trial failed before its sandbox was open."""
    services: tuple[ServiceFacts, ...] = ()
    refused_targets: tuple[RefusedTarget, ...] = ()
    """What programs asked the network for and did not get."""
