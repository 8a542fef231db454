"""The policy of the Docker sandbox, written out as container options."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from environments import ports
from environments.ports import ExposedPort, SandboxFacts, Workspace
from environments.sandbox.exposed.inside import (
    port_mounts,
    port_variables,
    relay_processes,
    relayed,
)
from environments.sandbox.limits import MEGABYTE, shared_limits
from environments.sandbox.mounts import environment, package_mounts
from environments.sandbox.seccomp import filtered
from taskdata.errors import SandboxFailed
from taskdata.schema.limits import EnforcedLimit, LimitName
from taskdata.schema.task import Resources

if TYPE_CHECKING:
    from docker.types import Mount

_OWN_PROCESSES = 4

PYTHON = "python3"
"""Name of Python in the image, found on its PATH."""

STDIN_FOLDER = "/run/stdin"
"""Where the file with a program's standard input is mounted."""

OOM_COUNT_ARGV = (
    "/bin/cat",
    "/sys/fs/cgroup/memory.events",
    "/sys/fs/cgroup/memory/memory.oom_control",
)
"""Prints the line `oom_kill N` of the container's cgroup; the path depends on its version."""

_LIBRARIES = "/opt/libraries"
_PATH = "/usr/local/bin:/usr/bin:/bin"
_NANO_CPUS = 1_000_000_000
_OPEN_FILES = 512
# The first process ends when its standard input closes, and that closes when our process ends for
# whatever reason: no container outlives us. Orphans become its children, and ignoring SIGCHLD reaps
# them.
_FIRST_PROCESS = ["/usr/bin/env", "--ignore-signal=CHLD", "cat"]
# Only output/ may outlive a call: every process except this shell and the first process (which
# programs inside cannot kill) is killed, and the temporary folders are emptied.
_AROUND = (
    'from=$1; shift; "$@" <"$from"; code=$?; '
    "{ kill -9 -1; find /tmp /dev/shm -mindepth 1 -delete; } 2>/dev/null; exit $code"
)

# The shell is replaced by the program: it would hold the program's streams open, where other
# processes of the container find them.
_AFTER_A_LINE = 'read -r go && exec "$@"; exit $?'


def own_processes(exposed_ports: Sequence[ExposedPort]) -> int:
    """Return how many processes of ours run beside a program: init, shell, clean-up, relay."""
    return _OWN_PROCESSES + relay_processes(exposed_ports)


def exec_argv(
    stdin_file: str,
    argv: Sequence[str],
    exposed_ports: Sequence[ExposedPort] = (),
    own: Mapping[str, str] = MappingProxyType({}),
) -> list[str]:
    """Return the command of the `exec` that runs `argv` with a fully specified environment.

    Args:
        stdin_file: Name of the file below the stdin folder that the program reads.
        argv: Program and arguments.
        exposed_ports: The ports that the program can reach.
        own: Variables of the image. Except for PATH, Nightshift's variables replace them.
    """
    shell = ["/bin/sh", "-c", _AROUND, "sh", f"{STDIN_FOLDER}/{stdin_file}"]
    return [*_beginning(exposed_ports, own), *shell, *argv]


def talking_argv(
    argv: Sequence[str],
    exposed_ports: Sequence[ExposedPort] = (),
    own: Mapping[str, str] = MappingProxyType({}),
) -> list[str]:
    """Return the command of the `exec` that runs `argv` after it has read one line.

    The line is sent once the engine has answered, because output written before could be lost.
    """
    return [*_beginning(exposed_ports, own), "/bin/sh", "-c", _AFTER_A_LINE, "sh", *argv]


def _beginning(exposed_ports: Sequence[ExposedPort], own: Mapping[str, str]) -> list[str]:
    more = {**own, **port_variables(exposed_ports)}
    variables = environment(own.get("PATH", _PATH), _LIBRARIES, more=more)
    assigned = (f"{name}={value}" for name, value in variables.items())
    return ["/usr/bin/env", "-i", *assigned, *filtered(), *relayed(PYTHON, exposed_ports)]


def bound(mounts: Sequence[ports.Mount]) -> "list[Mount]":
    """Return `mounts` in the form that the engine's API takes."""
    from docker.types import Mount

    return [
        Mount(mount.target, str(mount.source), "bind", read_only=not mount.writable)
        for mount in mounts
    ]


def container_options(
    workspace: Workspace,
    stdin_folder: str,
    resources: Resources,
    owner: tuple[int, int],
    exposed_ports: Sequence[ExposedPort] = (),
    more: "Sequence[Mount]" = (),
) -> dict[str, Any]:
    """Return the keyword arguments for docker's `containers.create`.

    Args:
        workspace: Its input and output become `/workspace/input` and `/workspace/output`.
        stdin_folder: Host folder with the file that a program reads.
        resources: The limits.
        owner: User and group id of every process inside.
        exposed_ports: The ports that programs inside can reach.
        more: What programs see besides the workspace.
    """
    from docker.types import LogConfig, Ulimit

    file_bytes = resources.disk_mb * MEGABYTE
    return {
        "entrypoint": _FIRST_PROCESS,
        "stdin_open": True,
        "auto_remove": True,
        "healthcheck": {"test": ["NONE"]},
        "log_config": LogConfig(type="none"),
        "user": f"{owner[0]}:{owner[1]}",
        "hostname": "sandbox",
        "working_dir": "/workspace",
        "network_mode": "none",
        "ipc_mode": "private",
        "cap_drop": ["ALL"],
        # When the host runs out of memory, the kernel kills the container first.
        "oom_score_adj": 1000,
        "security_opt": ["no-new-privileges:true"],
        "read_only": True,
        "mounts": [
            *_mounts(workspace, stdin_folder),
            *bound(port_mounts(exposed_ports)),
            *more,
        ],
        "tmpfs": {"/tmp": f"size={file_bytes},mode=1777,nr_inodes=20000,exec"},  # noqa: S108
        "shm_size": f"{64 * MEGABYTE}",
        "mem_limit": f"{resources.memory_mb}m",
        "memswap_limit": f"{resources.memory_mb}m",
        "pids_limit": resources.processes + own_processes(exposed_ports),
        "nano_cpus": _NANO_CPUS,
        "ulimits": [
            Ulimit(name="core", soft=0, hard=0),
            Ulimit(name="nofile", soft=_OPEN_FILES, hard=_OPEN_FILES),
            Ulimit(name="fsize", soft=file_bytes, hard=file_bytes),
            Ulimit(name="cpu", soft=resources.cpu_seconds, hard=resources.cpu_seconds + 1),
        ],
    }


def container_limits(resources: Resources) -> tuple[int, ...]:
    """Return the limits set on the container; the others are watched from outside."""
    asked = resources
    return (asked.memory_mb, asked.processes, asked.disk_mb, asked.cpu_seconds)


def facts_of(
    inspected: Mapping[str, Any], resources: Resources, exposed_ports: Sequence[ExposedPort] = ()
) -> SandboxFacts:
    """Return the limits that the engine reports for a container made with our options.

    Raises:
        SandboxFailed: a limit is not in force, because the engine's kernel does not support it.
    """
    kept = inspected["HostConfig"]
    in_force: dict[LimitName, float] = {
        "memory_mb": (kept["Memory"] or 0) / MEGABYTE,
        "processes": max(0, (kept["PidsLimit"] or 0) - own_processes(exposed_ports)),
        "cpus": (kept["NanoCpus"] or 0) / _NANO_CPUS,
    }
    missing = [name for name, value in in_force.items() if not value]
    if missing:
        raise SandboxFailed(
            f"the Docker engine does not limit {', '.join(missing)}: it needs the control groups "
            "for memory, pids and cpu (see `docker info`); use bubblewrap, or another engine"
        )
    groups = (
        EnforcedLimit(name=name, value=value, by=("cgroup",)) for name, value in in_force.items()
    )
    return SandboxFacts(
        (*shared_limits(resources, exposed_ports), *groups), str(inspected["Image"])
    )


def _mounts(workspace: Workspace, stdin_folder: str) -> "list[Mount]":
    return bound(
        [
            *package_mounts(),
            ports.Mount(workspace.input, "/workspace/input"),
            ports.Mount(Path(stdin_folder), STDIN_FOLDER),
            ports.Mount(workspace.output, "/workspace/output", writable=True),
        ]
    )
