"""Removes what killed processes left behind: processes, containers, temporary folders.

Called where work begins and ends; if no process was killed, the cost is one look at a folder.
"""

import logging
import os
import select
import signal
import time
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from environments.reaper.owner import VARIABLE, Owner, base_folder, owners, taken_lock
from environments.reaper.removal import remove_tree
from environments.sandbox.docker.leftovers import in_use, remove_leftovers
from taskdata.errors import SandboxFailed

_SECONDS_TO_DIE = 10
# Whatever the owner asked of the Docker engine just before its death exists by then.
_SECONDS_TO_SETTLE = 1.0

_logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Reaped:
    """What was removed."""

    owners: int = 0
    """Dead processes of this project that had not cleaned up."""
    processes: int = 0
    containers: int = 0
    folders: int = 0
    """Folders removed, with the workspaces and temporary files in them."""
    unseen_containers: str = ""
    """Why it is unknown whether containers are left, if the Docker engine does not answer."""


def reap() -> Reaped:
    """Remove what dead processes of this user left on this machine; blocks.

    Nothing that belongs to a living process is touched. What cannot be removed now is tried again
    next time.

    Raises:
        SandboxFailed: the temporary folder is not ours alone.
    """
    base = base_folder()
    with ExitStack() as locks:
        dead = []
        for owner in owners(base):
            descriptor = taken_lock(owner)
            if descriptor is not None:
                locks.callback(os.close, descriptor)
                dead.append(owner)
        processes = _kill_processes({owner.name for owner in dead})
        containers, unseen = _remove_containers(base, dead)
        folders = 0
        for owner in dead:
            folders += owner.folder.exists()
            if remove_tree(owner.folder):
                owner.lock.unlink(missing_ok=True)
    reaped = Reaped(len(dead), processes, containers, folders, unseen)
    if reaped.owners or reaped.containers:
        _logger.info("removed what was left of killed processes: %s", reaped)
    return reaped


@contextmanager
def reaped() -> Iterator[None]:
    """Reap before the block and after it, however the block ends."""
    reap()
    try:
        yield
    finally:
        reap()


def _remove_containers(base: Path, dead: Collection[Owner]) -> tuple[int, str]:
    """Return how many containers were removed, and why it is unknown whether more are left."""
    if not in_use(base):
        return 0, ""
    names = {owner.name for owner in dead}

    def is_dead(name: str) -> bool:
        return name in names or not Owner(base, name).lock.exists()

    try:
        removed = remove_leftovers(base, is_dead)
        if dead:
            time.sleep(_SECONDS_TO_SETTLE)
            removed += remove_leftovers(base, is_dead)
    except SandboxFailed as error:
        # A machine that once used Docker may have none now: `doctor` reports that, not each stage.
        return 0, str(error)
    return removed, ""


def _kill_processes(names: Collection[str]) -> int:
    """Kill the processes marked with one of the names and return how many there were."""
    total = 0
    # Repeated until none is found: a process may fork between the look and its death.
    while killed := _killed_at_one_look(names):
        total += len(killed)
        try:
            if not _are_gone(killed):
                _logger.warning("a process of a killed worker does not die; see the kernel log")
                break
        finally:
            for descriptor in killed:
                os.close(descriptor)
    return total


def _killed_at_one_look(names: Collection[str]) -> list[int]:
    killed = []
    for pid in _marked(names):
        # Open the descriptor first, then check the mark again: the pid may have been reused.
        try:
            descriptor = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        if _mark(pid) in names:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(descriptor, signal.SIGKILL)
            killed.append(descriptor)
        else:
            os.close(descriptor)
    return killed


def _are_gone(descriptors: Collection[int]) -> bool:
    deadline = time.monotonic() + _SECONDS_TO_DIE
    for descriptor in descriptors:
        gone = select.poll()
        gone.register(descriptor, select.POLLIN)
        if not gone.poll(max(0.0, deadline - time.monotonic()) * 1000):
            return False
    return True


def _marked(names: Collection[str]) -> Iterator[int]:
    if not names:
        return
    for folder in os.listdir("/proc"):
        if folder.isdigit() and _mark(int(folder)) in names:
            yield int(folder)


def _mark(pid: int) -> str | None:
    """Return the owner's name in a process's environment; None if we may not read it."""
    try:
        variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return None
    prefix = f"{VARIABLE}=".encode()
    return next((v[len(prefix) :].decode() for v in variables if v.startswith(prefix)), None)
