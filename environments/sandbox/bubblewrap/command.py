"""The policy of the bubblewrap sandbox, written out as a command line."""

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from environments.ports import ExposedPort, Mount, Workspace
from environments.sandbox.exposed.inside import (
    hosts_mounts,
    port_mounts,
    port_variables,
    relayed,
)
from environments.sandbox.identity import is_root
from environments.sandbox.limits import MEGABYTE
from environments.sandbox.mounts import environment, masked, package_mounts, python_mounts
from taskdata.schema.task import Resources

# Python reserves address space that it never uses; the memory in use is watched from outside.
_SPARE_ADDRESS_MB = 1024
# The real process limit is watched from outside; this one stops a fork bomb until then.
_SPARE_PROCESSES = 32
_OPEN_FILES = 512
_SHARED_MEMORY_MB = 64
_UID_INSIDE = 1000

GO = b"go\n"
"""First line of standard input; the program does not start without it."""

# The init process of the sandbox. It dies with bwrap, and bwrap dies with this process. Should we
# be killed before the kernel knows that, init reads the end of its input instead of "go" and starts
# nothing. A shell reads byte by byte, so the rest of the input is left for the program.
_INIT = ("/bin/sh", "-c", 'read -r go && "$@"; exit $?', "init")
# Debian keeps parts of LibreOffice in these; LibreOffice does not start without them.
_ETC = (
    *("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "fonts", "mime.types"),
    "libreoffice",
)


@dataclass(frozen=True)
class Descriptors:
    """Numbers of the descriptors that bwrap inherits."""

    status: int
    passwd: int
    group: int
    seccomp: int


def command(
    bwrap: Path,
    workspace: Workspace,
    resources: Resources,
    owner: tuple[int, int],
    descriptors: Descriptors,
    argv: Sequence[str],
    more_mounts: Sequence[Mount] = (),
    exposed_ports: Sequence[ExposedPort] = (),
    reserves_memory: bool = False,
) -> list[str]:
    """Return the command that runs `argv` under the policy.

    Args:
        bwrap: The binary.
        workspace: Its input and output become `/workspace/input` and `/workspace/output`.
        resources: The limits.
        owner: Host user and group id of the program.
        descriptors: Pipes for bwrap's reports and for the files generated for the sandbox.
        argv: Program and arguments, as inside.
        more_mounts: What the program sees besides the workspace.
        exposed_ports: The ports that the program can reach.
        reserves_memory: Whether the program's address space is unlimited.
    """
    mounts = (
        *python_mounts(),
        *package_mounts(),
        *port_mounts(exposed_ports),
        *hosts_mounts(exposed_ports),
    )
    return [
        str(bwrap),
        *_namespaces(),
        *_system(),
        # Before the mounts, because a mount may lie below /tmp.
        *_made_up(descriptors, resources),
        *_mounted((*mounts, *more_mounts)),
        *("--dir", "/workspace"),
        *("--ro-bind", str(workspace.input), "/workspace/input"),
        *("--bind", str(workspace.output), "/workspace/output"),
        *("--remount-ro", "/dev", "--remount-ro", "/"),
        *("--chdir", "/workspace", "--clearenv"),
        *_variables(exposed_ports),
        *("--json-status-fd", str(descriptors.status), "--seccomp", str(descriptors.seccomp)),
        "--",
        *_INIT,
        *_drop_root(owner),
        # Before the limits, because they apply to the program and not to the relay.
        *relayed(sys.executable, exposed_ports),
        *_rlimits(resources, reserves_memory),
        *argv,
    ]


def account_files(owner: tuple[int, int]) -> tuple[bytes, bytes]:
    """Return /etc/passwd and /etc/group for the sandbox, with the program's user only."""
    uid, gid = owner if is_root() else (_UID_INSIDE, _UID_INSIDE)
    return (
        f"agent:x:{uid}:{gid}:agent:/tmp:/usr/sbin/nologin\n".encode(),
        f"agent:x:{gid}:\n".encode(),
    )


def _namespaces() -> Iterator[str]:
    yield from ("--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts")
    yield from ("--unshare-cgroup-try", "--hostname", "sandbox")
    yield from ("--die-with-parent", "--new-session", "--as-pid-1")
    if is_root():
        # In a user namespace made by root, the program would be root to the host's /proc/sys. So a
        # root process makes the sandbox itself and then changes its user for good.
        yield from ("--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID")
    else:
        yield from ("--unshare-user", "--disable-userns")
        yield from ("--uid", str(_UID_INSIDE), "--gid", str(_UID_INSIDE))


def _system() -> Iterator[str]:
    yield from ("--ro-bind", "/usr", "/usr")
    for name in ("bin", "sbin", "lib", "lib32", "lib64", "libx32"):
        folder = Path("/") / name
        if folder.is_symlink():
            yield from ("--symlink", os.readlink(folder), str(folder))
        elif folder.is_dir():
            yield from ("--ro-bind", str(folder), str(folder))
    yield from ("--dir", "/etc")
    for name in _ETC:
        yield from ("--ro-bind-try", f"/etc/{name}", f"/etc/{name}")
    yield from ("--proc", "/proc", "--dev", "/dev")


def _mounted(mounts: Sequence[Mount]) -> Iterator[str]:
    # bwrap would make missing parent folders readable for its own user only.
    parents = {parent for mount in mounts for parent in Path(mount.target).parents}
    for parent in sorted(parents - {Path("/")}):
        yield from ("--dir", str(parent))
    for mount in mounts:
        option = "--bind" if mount.writable else "--ro-bind"
        yield from (option, str(mount.source), mount.target)
    for path in masked((Mount(Path("/usr"), "/usr"), *mounts)):
        yield from ("--perms", "0555", "--size", "4096", "--tmpfs", path, "--remount-ro", path)


def _made_up(descriptors: Descriptors, resources: Resources) -> Iterator[str]:
    yield from ("--perms", "0444", "--ro-bind-data", str(descriptors.passwd), "/etc/passwd")
    yield from ("--perms", "0444", "--ro-bind-data", str(descriptors.group), "/etc/group")
    for folder, megabytes in (("/tmp", resources.disk_mb), ("/dev/shm", _SHARED_MEMORY_MB)):  # noqa: S108
        yield from ("--perms", "1777", "--size", str(megabytes * MEGABYTE), "--tmpfs", folder)


def _variables(exposed_ports: Sequence[ExposedPort]) -> Iterator[str]:
    path = f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin"
    for name, value in environment(path, more=port_variables(exposed_ports)).items():
        yield from ("--setenv", name, value)


def _drop_root(owner: tuple[int, int]) -> Iterator[str]:
    if is_root():
        uid, gid = owner
        yield from ("/usr/bin/setpriv", "--reuid", str(uid), "--regid", str(gid))
        yield from ("--clear-groups", "--inh-caps=-all", "--no-new-privs")


def _rlimits(resources: Resources, reserves_memory: bool) -> Iterator[str]:
    yield "/usr/bin/prlimit"
    yield f"--cpu={resources.cpu_seconds}:{resources.cpu_seconds + 1}"
    if not reserves_memory:
        yield f"--as={(resources.memory_mb + _SPARE_ADDRESS_MB) * MEGABYTE}"
    yield f"--fsize={resources.disk_mb * MEGABYTE}"
    yield f"--nofile={_OPEN_FILES}"
    yield "--core=0"
    if is_root() or _counts_per_namespace():
        yield f"--nproc={resources.processes + _SPARE_PROCESSES}"
    yield "--"


def _counts_per_namespace() -> bool:
    """Return whether the kernel counts processes per user namespace (Linux 5.14).

    On older kernels, every process of our user on the host counts towards the sandbox's limit.
    """
    major, minor = os.uname().release.split(".")[:2]
    return (int(major), int("".join(filter(str.isdigit, minor)))) >= (5, 14)
