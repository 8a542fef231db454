"""The limits of a trial's sandbox: what the task asked for, and what really held."""

from typing import Literal

from taskdata.schema.base import Value
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

Enforcer = Literal["cgroup", "rlimit", "mount", "namespace", "watch", "collection"]
"""Who stops a program: the kernel at once (a control group, a limit of each process, the size of
a file system, a namespace), we when we next look at all its processes (`watch`), or collection,
which leaves behind what is too much."""


class EnforcedLimit(Value):
    """One limit that held."""

    name: LimitName
    value: float
    """In the unit that the name says, or a count; `network` 0: there is none."""
    by: tuple[Enforcer, ...]


class SandboxLimits(Value):
    """What was asked of a sandbox and what it was really held to."""

    asked: Resources
    enforced: tuple[EnforcedLimit, ...] = ()
    """Empty where the trial failed before its sandbox was open."""
