"""What helps where a disk is full or cannot be written to: the way out that messages name."""

import errno
import os
from pathlib import Path

_FULL = (
    "make room on that disk: `nightshift prune --yes` removes old runs, once a few MB are free; "
    "what was stored is kept, and a run that was cut short can be resumed"
)
_READ_ONLY = "its disk is mounted read-only: mount it for writing, or name another place"
_REFUSED = "this account may not write there: run as the owner, or name another place"

_BY_ERRNO = {
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL,
    errno.EFBIG: "no file may be as large there",
    errno.EROFS: _READ_ONLY,
    errno.EACCES: _REFUSED,
    errno.EPERM: _REFUSED,
}
_BY_WORDS = {
    "disk is full": _FULL,
    "no space left": _FULL,
    "disk i/o error": "its disk is full, or fails",
    "readonly database": "it cannot be written to: its disk is mounted read-only, or this account "
    "may not write to it",
    "read-only transaction": "the server takes no writes: it is a standby, or was set read-only",
    "unable to open database file": "its folder must be there, and this account must be able to "
    "write to it",
}


def way_out(fault: Exception) -> str | None:
    """Return what helps against this fault of a disk; None where it is another fault."""
    if isinstance(fault, OSError) and fault.errno in _BY_ERRNO:
        return _BY_ERRNO[fault.errno]
    said = str(fault).lower()
    return next((helps for words, helps in _BY_WORDS.items() if words in said), None)


def is_read_only(path: Path) -> bool:
    """Return whether the file system that holds the path, or would hold it, takes no writes."""
    there = next((p for p in (path, *path.parents) if p.exists()), None)
    return there is not None and bool(os.statvfs(there).f_flag & os.ST_RDONLY)
