"""Which deliverables a call changed, determined from outside, since servers do not report it."""

import os
from collections.abc import Mapping
from pathlib import Path

from environments.sandbox.walking import TooManyEntries, walk

_MAX_REPORTED = 100
_MAX_PATH_CHARS = 240

Stamp = tuple[int, int, int, int]


def stamps(output: Path) -> Mapping[str, Stamp]:
    """Return modification time and size of each file below `output`, by path in the workspace."""
    found: dict[str, Stamp] = {}
    try:
        for entry in walk(output):
            if entry.status is not None:
                found[f"output/{entry.path}"] = _stamp(entry.status)
    except (TooManyEntries, OSError):
        # The sandbox stops a program that fills its disk; the files seen so far are reported.
        return found
    return found


def changed(before: Mapping[str, Stamp], after: Mapping[str, Stamp]) -> tuple[str, ...]:
    """Return the paths that are new or different, sorted, at most a fixed number."""
    paths = sorted(
        path
        for path, stamp in after.items()
        if before.get(path) != stamp and len(path) <= _MAX_PATH_CHARS and path.isprintable()
    )
    return tuple(paths[:_MAX_REPORTED])


def _stamp(status: os.stat_result) -> Stamp:
    return (status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino)
