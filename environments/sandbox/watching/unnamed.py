"""Disk space that no walk of a folder finds: of removed files that are still open."""

import math
import os
import stat
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

MAX_OPEN_FILES = 20_000
"""Open files of all processes together; beyond this number, files could be hidden."""

_MAX_MAPS_BYTES = 16 << 20
# A socket's queue keeps descriptors that are not received, and with them removed files. Programs
# pass one or two at a time, and receive them at once; a browser that starts passes up to a dozen.
_MAX_IN_FLIGHT = 4
_MOST_WAITED_FOR = 16
"""No look waits for more descriptors than these to be received."""
_SECONDS_TO_RECEIVE = (0.05, 0.1, 0.2, 0.4)
"""Pauses after which too many descriptors in transit are looked at again."""
_MAX_WRITTEN_MEANWHILE = 32 << 20
"""What processes may write during these pauses: a browser that starts writes a few megabytes."""
_REMOVED = b" (deleted)"
# What programs can write to, as named in /proc/*/maps: libraries that were replaced on the host do
# not belong to programs.
_FILLED = (b" /workspace/output/", b" /run/nightshift/")


def unnamed_bytes(processes: Callable[[], Iterable[Path]], device: int) -> float:
    """Return the space taken by removed files that the processes hold open or mapped; may block.

    Infinite if it cannot be determined, because too much is open or mapped, or stays in transit
    between processes.

    Args:
        processes: Returns the folders of the processes in /proc.
        device: Device of the file system that is filled.
    """
    found = _Looking(device)
    size = found.at(processes())
    written = _written_bytes(processes()) if found.is_worth_waiting_for else 0
    for pause in _SECONDS_TO_RECEIVE:
        if not found.is_worth_waiting_for:
            break
        time.sleep(pause)
        if _written_bytes(processes()) - written > _MAX_WRITTEN_MEANWHILE:
            return math.inf
        found = _Looking(device)
        size = found.at(processes())
    return size


class _Looking:
    def __init__(self, device: int) -> None:
        self._device = device
        self._bytes: dict[tuple[int, int], int] = {}
        """Bytes by device and inode: a file counts once, however many processes have it open."""
        self._open = 0
        self._in_flight = 0
        self._maps_bytes = 0

    @property
    def has_many_in_flight(self) -> bool:
        return self._in_flight > _MAX_IN_FLIGHT

    @property
    def is_worth_waiting_for(self) -> bool:
        """Whether what is in transit may soon be received."""
        return _MAX_IN_FLIGHT < self._in_flight <= _MOST_WAITED_FOR

    def at(self, processes: Iterable[Path]) -> float:
        for process in processes:
            # A process may end between two reads.
            with suppress(OSError):
                self._look_at_open(process)
            with suppress(OSError):
                self._look_at_mapped(process)
            if (
                self._open > MAX_OPEN_FILES
                or self.has_many_in_flight
                or self._maps_bytes > _MAX_MAPS_BYTES
            ):
                return math.inf
        return sum(self._bytes.values())

    def _look_at_open(self, process: Path) -> None:
        folder = f"{process}/fd"
        for number in os.listdir(folder):
            self._open += 1
            with suppress(OSError):
                file = os.stat(f"{folder}/{number}")
                if stat.S_ISSOCK(file.st_mode):
                    self._in_flight += _in_flight(f"{process}/fdinfo/{number}")
                elif file.st_nlink == 0 and stat.S_ISREG(file.st_mode):
                    self._count(file.st_dev, file.st_ino, file.st_blocks * 512)

    def _look_at_mapped(self, process: Path) -> None:
        with open(f"{process}/maps", "rb") as file:
            maps = file.read(_MAX_MAPS_BYTES + 1)
        self._maps_bytes += len(maps)
        if _REMOVED not in maps:
            return
        for line in maps.splitlines():
            if line.endswith(_REMOVED) and any(folder in line for folder in _FILLED):
                place, _, offset, device, inode, *_ = line.split(maxsplit=5)
                low, high = (int(end, 16) for end in place.split(b"-"))
                major, minor = (int(part, 16) for part in device.split(b":"))
                size = int(offset, 16) + high - low
                self._count(os.makedev(major, minor), int(inode), size)

    def _count(self, device: int, inode: int, size: int) -> None:
        if device == self._device:
            self._bytes[device, inode] = max(self._bytes.get((device, inode), 0), size)


def _written_bytes(processes: Iterable[Path]) -> int:
    """Return how many bytes the processes that live have written since they began."""
    written = 0
    for process in processes:
        # A process may end between two reads.
        with suppress(OSError), open(f"{process}/io", "rb") as file:
            written += int(file.read().partition(b"wchar:")[2].split(maxsplit=1)[0])
    return written


def _in_flight(fdinfo: str) -> int:
    """Return how many descriptors are queued in a socket (from Linux 5.7)."""
    with open(fdinfo, "rb") as file:
        _, found, rest = file.read().partition(b"scm_fds:")
    return int(rest.split(maxsplit=1)[0]) if found else 0
