"""Space on a disk that no walk of a folder finds: of files that were removed and are still used."""

import math
import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

MAX_OPEN_FILES = 20_000
"""Of all processes together; where more are open, anything may be hidden among them."""

_MAX_MAPS_BYTES = 16 << 20
# Programs hand over one or two at a time; the queue of a socket keeps what nobody takes out.
_MAX_IN_FLIGHT = 4
_REMOVED = b" (deleted)"
# What programs can write to, as maps name it: libraries that were replaced on the host are not
# theirs.
_FILLED = (b" /workspace/output/", b" /run/nightshift/")


def unnamed_bytes(processes: Iterable[Path], device: int) -> float:
    """Return the space that removed files take which the processes hold open or mapped.

    Infinite where that cannot be told, because too much is open, mapped, or on its way from one
    process to another.

    Args:
        processes: Their folders in /proc.
        device: Of the file system that is filled.
    """
    return _Looking(device).at(processes)


class _Looking:
    def __init__(self, device: int) -> None:
        self._device = device
        self._bytes: dict[tuple[int, int], int] = {}
        """By device and inode: one file counts once, whoever has it open."""
        self._open = 0
        self._in_flight = 0
        self._maps_bytes = 0

    def at(self, processes: Iterable[Path]) -> float:
        for process in processes:
            # A process may end between two reads.
            with suppress(OSError):
                self._look_at_open(process)
            with suppress(OSError):
                self._look_at_mapped(process)
            if (
                self._open > MAX_OPEN_FILES
                or self._in_flight > _MAX_IN_FLIGHT
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


def _in_flight(fdinfo: str) -> int:
    """Return how many descriptors wait in a socket's queue (from Linux 5.7)."""
    with open(fdinfo, "rb") as file:
        _, found, rest = file.read().partition(b"scm_fds:")
    return int(rest.split(maxsplit=1)[0]) if found else 0
