"""The host user that a sandboxed program runs as: never root."""

import os
import secrets
from functools import cache
from pathlib import Path

from taskdata.errors import SandboxFailed

NOBODY = 65534
# Ids that no distribution, container tool or directory service hands out (systemd's UIDS-GIDS list
# leaves them unused), so no file on the host belongs to them.
_FREE_IDS = range(0x7000_0000, 0x7FFF_0000)


def is_root() -> bool:
    """Return whether this process is root, at least within its container."""
    return os.geteuid() == 0


def owner_of_output(output: Path) -> tuple[int, int]:
    """Return the host user and group id that programs writing to `output` must run as.

    These are our own ids, unless we are root: then the folder, with the files that programs find
    there, is given to an id that owns nothing else, so that neither file permissions nor per-user
    limits are shared with another program.

    Raises:
        SandboxFailed: the folder is missing or cannot be given away.
    """
    if not is_root():
        return os.geteuid(), os.getegid()
    try:
        status = output.stat()
        if status.st_uid != 0:
            return status.st_uid, status.st_gid
        owner = _fresh_id()
        _give(output, (owner, owner))
    except OSError as error:
        raise SandboxFailed(f"cannot hand over {output}: {error.strerror}") from error
    return owner, owner


def give_to_programs(folder: Path, output: Path) -> None:
    """Let the programs that write to `output` also write to `folder`, which belongs to us.

    Raises:
        SandboxFailed: the folder cannot be given away.
    """
    owner = owner_of_output(output)
    try:
        os.chown(folder, *owner, follow_symlinks=False)
    except OSError as error:
        raise SandboxFailed(f"cannot hand over {folder}: {error.strerror}") from error


def give_contents(output: Path, owner: tuple[int, int]) -> None:
    """Make a user the owner of `output` and everything in it, before any program has run.

    Only the owner of a file may set its times and mode, as programs do when they copy files.

    Raises:
        SandboxFailed: the owner cannot be changed.
    """
    if not is_root():
        return
    try:
        _give(output, owner)
    except OSError as error:
        raise SandboxFailed(f"cannot hand over {output}: {error.strerror}") from error


def _give(output: Path, owner: tuple[int, int]) -> None:
    for folder, _, files in os.walk(output):
        os.chown(folder, *owner, follow_symlinks=False)
        for name in files:
            os.chown(os.path.join(folder, name), *owner, follow_symlinks=False)


def _fresh_id() -> int:
    owner = _FREE_IDS.start + secrets.randbelow(len(_FREE_IDS))
    return owner if any(owner in ids for ids in _ids_there_are()) else NOBODY


@cache
def _ids_there_are() -> tuple[range, ...]:
    """Return the ids that exist for this process: a user namespace (rootless) has only some."""
    found = []
    for line in Path("/proc/self/uid_map").read_text().splitlines():
        first, _, count = (int(number) for number in line.split())
        found.append(range(first, first + count))
    return tuple(found)
