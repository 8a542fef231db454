"""The limits that every provider shares, and those that are watched from outside."""

import math
import os
import stat
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Literal

from environments.ports import ExposedPort, Mount, Workspace
from environments.sandbox.walking import OF_LIBRARIES, Bounds, TooManyEntries, walk
from taskdata.schema.limits import EnforcedLimit
from taskdata.schema.task import Resources

Limit = Literal["wall", "cpu", "output", "memory", "processes", "disk"]
MEGABYTE = 1024 * 1024


def shared_limits(
    resources: Resources, exposed_ports: Sequence[ExposedPort]
) -> tuple[EnforcedLimit, ...]:
    """Return the limits that every provider enforces in the same way."""
    allowed = sum(len(exposed.allows) for exposed in exposed_ports)
    return (
        EnforcedLimit(name="wall_seconds", value=resources.wall_seconds, by=("watch",)),
        EnforcedLimit(name="cpu_seconds", value=resources.cpu_seconds, by=("rlimit", "watch")),
        EnforcedLimit(name="disk_mb", value=resources.disk_mb, by=("watch", "collection")),
        EnforcedLimit(name="file_mb", value=resources.disk_mb, by=("rlimit",)),
        EnforcedLimit(name="temporary_mb", value=resources.disk_mb, by=("mount",)),
        EnforcedLimit(name="output_kb", value=resources.output_kb, by=("watch",)),
        EnforcedLimit(name="max_files", value=resources.max_files, by=("collection",)),
        EnforcedLimit(
            name="network",
            value=allowed,
            by=("namespace", "proxy") if allowed else ("namespace",),
        ),
    )


class Capture:
    """One output stream of a program, kept up to a number of bytes."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._kept = bytearray()
        self.overflowed = False
        """More bytes came than may be kept."""

    def feed(self, chunk: bytes) -> None:
        """Keep what still fits of `chunk`."""
        room = self._limit_bytes - len(self._kept)
        self._kept += chunk[:room]
        if len(chunk) > room:
            self.overflowed = True

    def content(self) -> bytes:
        """Return what was kept."""
        return bytes(self._kept)


def filled_folders(workspace: Workspace, mounts: Sequence[Mount] = ()) -> tuple[Path, ...]:
    """Return the host folders that a program which sees `mounts` can write to."""
    return (workspace.output, *(mount.source for mount in mounts if mount.writable))


def library_folders(mounts: Sequence[Mount]) -> frozenset[Path]:
    """Return the folders among `mounts` into which libraries are installed."""
    return frozenset(mount.source for mount in mounts if mount.takes_libraries)


class Space:
    """The disk space that the folders of one program may use together while it runs.

    This is the limit, or what was in the folders before if that is more: a program may clean up
    after one that was stopped, but may not add to it.
    """

    def __init__(
        self, folders: Sequence[Path], limit_bytes: int, libraries: Collection[Path] = ()
    ) -> None:
        self._folders = {f: OF_LIBRARIES if f in libraries else None for f in folders}
        used = sum(used_bytes(folder, bounds=bounds) for folder, bounds in self._folders.items())
        self._allowed = max(limit_bytes, used) if math.isfinite(used) else limit_bytes

    def left(self) -> float:
        """Return how many more bytes may be written, negative if there are too many already.

        Folders that cannot be measured count as too full.
        """
        left = self._allowed
        for folder, bounds in self._folders.items():
            left -= used_bytes(folder, enough=left, bounds=bounds)
            if left < 0:
                break
        return left

    def exceeded(self) -> bool:
        """Return whether the folders hold too much."""
        return self.left() < 0


def used_bytes(folder: Path, enough: float = math.inf, bounds: Bounds | None = None) -> float:
    """Return the space allocated to files below `folder`, counted until it exceeds `enough`.

    Infinite for too many entries, too deep a nesting or folders that we cannot enter, since
    anything may be hidden there.
    """
    used = 0
    try:
        # A program may close the folder itself to us.
        for found in walk(folder, bounds):
            if found.status is None:
                if _still_there(found.folder_fd, found.name):
                    return math.inf
                continue
            if stat.S_ISREG(found.status.st_mode):
                used += found.status.st_blocks * 512
            if used > enough:
                break
    except (TooManyEntries, PermissionError):
        return math.inf
    return used


def _still_there(folder_fd: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=folder_fd, follow_symlinks=False)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return True
