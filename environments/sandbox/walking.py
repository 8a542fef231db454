"""Walk a folder that a hostile program wrote, without following links or walking endlessly."""

import itertools
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MAX_ENTRIES = 20_000
MAX_DEPTH = 16


@dataclass(frozen=True)
class Bounds:
    """How far a walk goes."""

    entries: int
    depth: int


OF_LIBRARIES = Bounds(entries=400_000, depth=64)
"""The bounds for folders into which libraries are installed."""

# O_NONBLOCK: opening a FIFO must not block.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True)
class Found:
    """One entry of the tree."""

    path: str
    """Path relative to the walked folder; undecodable bytes are surrogates."""
    folder_fd: int
    """Descriptor of the folder that holds the entry; valid until the walk goes on."""
    status: os.stat_result | None
    """Result of lstat; None when `problem` says why the entry was not examined."""
    problem: str = ""

    @property
    def name(self) -> str:
        """Last part of the path, to be used with `folder_fd`."""
        return self.path.rpartition("/")[2]


class TooManyEntries(Exception):
    """The walk met more entries than its bounds allow and stopped."""


def walk(folder: Path, bounds: Bounds | None = None) -> Iterator[Found]:
    """Yield what lies below `folder`, the files of a directory before its subdirectories.

    A directory itself is yielded only when it cannot be walked. Each directory is opened relative
    to its parent's descriptor and without following links, so that a program that still runs cannot
    redirect the walk by swapping names.

    Args:
        folder: The folder.
        bounds: How far to go; default: `MAX_ENTRIES` and `MAX_DEPTH`.

    Raises:
        TooManyEntries: there are more entries, directories included.
        OSError: `folder` itself cannot be opened.
    """
    held = bounds or Bounds(MAX_ENTRIES, MAX_DEPTH)
    yield from _below(opened_folder(folder), "", 1, itertools.count(1), held)


def opened(name: str, folder_fd: int) -> int:
    """Return a descriptor of the entry `name` in a folder; links are not followed.

    Raises:
        OSError: the entry is a link (ELOOP), or cannot be opened.
    """
    return os.open(name, _FILE, dir_fd=folder_fd)


def opened_folder(folder: Path) -> int:
    """Return a descriptor of a folder whose last part is no link.

    Raises:
        OSError: the folder is a link or no folder, or cannot be opened.
    """
    return os.open(folder, _FOLDER)


def _below(
    folder_fd: int, prefix: str, depth: int, seen: Iterator[int], bounds: Bounds
) -> Iterator[Found]:
    try:
        folders: list[str] = []
        for name in _names(folder_fd, seen, bounds.entries):
            try:
                status = os.stat(name, dir_fd=folder_fd, follow_symlinks=False)
            except OSError as error:
                yield Found(prefix + name, folder_fd, None, _reason(error))
                continue
            if stat.S_ISDIR(status.st_mode):
                folders.append(name)
            else:
                yield Found(prefix + name, folder_fd, status)
        for name in folders:
            if depth > bounds.depth:
                yield Found(prefix + name, folder_fd, None, f"is below {bounds.depth} folders")
                continue
            try:
                inner = os.open(name, _FOLDER, dir_fd=folder_fd)
            except OSError as error:
                yield Found(prefix + name, folder_fd, None, _reason(error))
            else:
                yield from _below(inner, f"{prefix}{name}/", depth + 1, seen, bounds)
    finally:
        os.close(folder_fd)


def _names(folder_fd: int, seen: Iterator[int], most: int) -> list[str]:
    names = []
    with os.scandir(folder_fd) as entries:
        for entry in entries:
            if next(seen) > most:
                raise TooManyEntries
            names.append(entry.name)
    return sorted(names)


def _reason(error: OSError) -> str:
    return f"cannot be read ({error.strerror})"
