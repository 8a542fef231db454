"""Clean-up of the warm Python after a call, so that no call can affect the next one.

It runs inside a sandbox only: there, every process but a few belongs to a call.
"""

import contextlib
import os
import resource
import shutil
import signal
import time
from collections.abc import Collection
from pathlib import Path

_SECONDS_TO_DIE = 5.0
_TEMPORARY = ("/tmp", "/dev/shm")  # noqa: S108 the sandbox's own
_OUTPUT = "/workspace/output"
_FIRST_PROCESS = 1
_OUTSIDE = 0
"""Parent of a process that an engine started in a container."""
_CPU_SHARE, _MEMORY_SHARE, _ADDRESS_SHARE = 1 / 4, 1 / 4, 1 / 2


def kills_at_once() -> bool:
    """Return whether all other processes can be killed at the same moment: none can escape then.

    One after the other, a process that forks and ends all the time may never be found.
    """
    return os.getppid() in (_FIRST_PROCESS, _OUTSIDE)


def kill_others() -> bool:
    """Kill every process but init, this one and its parent; return whether all are gone."""
    kept = {_FIRST_PROCESS, os.getpid(), os.getppid()}
    if kills_at_once():
        # All at the same moment, so that none can fork in between.
        with contextlib.suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)
    deadline = time.monotonic() + _SECONDS_TO_DIE
    while others := _running(kept):
        if time.monotonic() > deadline:
            return False
        for pid in others:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.001)
    return True


def _running(kept: set[int]) -> list[int]:
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) in kept:
            continue
        with contextlib.suppress(OSError):
            status = Path(f"/proc/{name}/stat").read_text(errors="replace")
            if status.rpartition(")")[2].split()[0] not in "ZX":
                found.append(int(name))
    return found


def mounted_entries() -> frozenset[str]:
    """Return the entries of the temporary folders that exist before any call.

    They are mounts that no call can write to: on the host, our Python may lie below such a folder.
    """
    found = (os.path.join(folder, name) for folder in _TEMPORARY for name in os.listdir(folder))
    return frozenset(path for path in found if not os.access(path, os.W_OK))


def empty_temporary_folders(kept: Collection[str]) -> bool:
    """Remove what a call left there, except what is `kept`; return whether nothing is left."""
    try:
        for folder in _TEMPORARY:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.path in kept:
                        continue
                    if entry.is_dir(follow_symlinks=False):
                        shutil.rmtree(entry.path)
                    else:
                        os.unlink(entry.path)
    except (OSError, RecursionError):
        return False
    return True


def output_is_empty() -> bool:
    """Return whether there is nothing in the output folder, as far as can be seen."""
    try:
        return not os.listdir(_OUTPUT)
    except OSError:
        return False


def standing() -> tuple[object, ...]:
    """Return what other processes of our user can change of this one, and forked ones inherit."""
    kinds = sorted(name for name in dir(resource) if name.startswith("RLIMIT_"))
    limits = [resource.getrlimit(getattr(resource, kind)) for kind in kinds]
    nice = os.getpriority(os.PRIO_PROCESS, 0)
    return (*limits, nice, os.sched_getscheduler(0), frozenset(os.sched_getaffinity(0)))


def shares_memory() -> bool:
    """Return whether forked processes could write to memory of this one."""
    maps = Path("/proc/self/maps").read_text(errors="replace")
    return any(line.split(" ", 2)[1][1::2] == "ws" for line in maps.splitlines())


def has_grown_large(memory_bytes: int) -> bool:
    """Return whether the loaded libraries take so much memory that the next call would lack it.

    Args:
        memory_bytes: Memory that all processes of the sandbox together may use.
    """
    own = resource.getrusage(resource.RUSAGE_SELF)
    cpu_limit, _ = resource.getrlimit(resource.RLIMIT_CPU)
    address_limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    sizes = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    anonymous, addresses = (int(sizes[name].split()[0]) * 1024 for name in ("RssAnon", "VmSize"))
    return (
        0 <= cpu_limit * _CPU_SHARE < own.ru_utime + own.ru_stime
        or memory_bytes * _MEMORY_SHARE < anonymous
        or 0 <= address_limit * _ADDRESS_SHARE < addresses
    )


def other_threads_sleep() -> bool:
    """Return whether it is safe to fork: no other thread is running and may hold a lock.

    Only `onnxruntime` starts a thread when it is imported, which then waits.
    """
    mine = str(os.getpid())
    for thread in os.listdir("/proc/self/task"):
        if thread == mine:
            continue
        with contextlib.suppress(FileNotFoundError):
            status = Path(f"/proc/self/task/{thread}/stat").read_text(errors="replace")
            if status.rpartition(")")[2].split()[0] != "S":
                return False
    return True
