"""Folders and files that only their owner can enter: references and trials are nobody else's."""

import os
import stat
from pathlib import Path

_OTHERS = 0o077


def private_folder(path: Path) -> None:
    """Make a folder, unless it is there, and keep other accounts out of it."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    tighten(path)


def private_file(path: Path) -> None:
    """Make an empty file, unless it is there, and keep other accounts out of it."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        tighten(path)


def tighten(path: Path) -> None:
    """Keep other accounts out of what is there, if it is ours alone.

    Folders that everybody may write to, such as /tmp, and what belongs to another account stay as
    they are.
    """
    try:
        found = path.stat()
    except FileNotFoundError:
        return
    is_shared = bool(found.st_mode & stat.S_ISVTX) or found.st_uid != os.geteuid()
    if found.st_mode & _OTHERS and not is_shared:
        path.chmod(stat.S_IMODE(found.st_mode) & ~_OTHERS)
