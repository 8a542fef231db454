"""Ownership of processes, containers and folders: the mark of the process that started them.

A process that starts something holds a lock on a file that belongs to it, below one folder per user
of this machine. The kernel releases the lock when the process ends, however that happens, so
whether an owner is alive is never guessed from a process id or an age.
"""

import fcntl
import os
import secrets
import stat
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from environments.reaper.removal import remove_tree
from taskdata.errors import SandboxFailed

VARIABLE = "NIGHTSHIFT_OWNER"
"""Environment variable of the processes we start on the host: the name of their owner."""

RUN_VARIABLE = "NIGHTSHIFT_RUN"
"""Environment variable for people who look at processes: the run that a process works for."""

_LOCK = ".lock"
_ID = "id"


@dataclass(frozen=True)
class Owner:
    """A process of this project that started something."""

    base: Path
    """Folder of all owners of this user."""
    name: str
    """Process id, start time in ticks since boot, and a random part; never used again."""

    @property
    def lock(self) -> Path:
        """The file that the owner holds a lock on while it lives."""
        return self.base / f"{self.name}{_LOCK}"

    @property
    def folder(self) -> Path:
        """Where the owner's temporary files are."""
        return self.base / self.name

    @property
    def variables(self) -> dict[str, str]:
        """The environment variable that marks a process as the owner's."""
        return {VARIABLE: self.name}


@dataclass
class _Holding:
    owner: Owner
    descriptor: int
    users: int = 0


class _ThisProcess:
    """The owner mark that this process holds, shared by all blocks that are open at a time."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._holding: _Holding | None = None
        os.register_at_fork(after_in_child=self._forget)

    def enter(self) -> _Holding:
        with self._guard:
            if self._holding is None:
                try:
                    self._holding = _claimed(base_folder())
                except OSError as error:
                    raise SandboxFailed(
                        f"cannot mark what this process starts ({error.filename}): {error.strerror}"
                    ) from error
            self._holding.users += 1
            return self._holding

    def leave(self, holding: _Holding) -> None:
        with self._guard:
            # After a fork, a child runs inside a block that its parent opened.
            if holding is not self._holding:
                return
            holding.users -= 1
            if holding.users:
                return
            self._holding = None
        # If something could not be removed, the lock file stays too, for a reaper to find.
        if remove_tree(holding.owner.folder):
            holding.owner.lock.unlink(missing_ok=True)
        os.close(holding.descriptor)

    def _forget(self) -> None:
        """Close the parent's lock in a forked child, which must not keep the owner alive."""
        if self._holding is not None:
            os.close(self._holding.descriptor)
        self._guard, self._holding = threading.Lock(), None


_this_process = _ThisProcess()


@contextmanager
def this_process() -> Iterator[Owner]:
    """Yield the mark of this process; when the last open block ends, its files are removed.

    Raises:
        SandboxFailed: the temporary folder cannot be written or is not ours alone.
    """
    holding = _this_process.enter()
    try:
        yield holding.owner
    finally:
        _this_process.leave(holding)


@contextmanager
def working_folder() -> Iterator[Path]:
    """Yield a temporary folder, removed when the block ends, or by a reaper if we are killed.

    Raises:
        SandboxFailed: the folder cannot be made.
    """
    with this_process() as owner:
        try:
            folder = Path(tempfile.mkdtemp(dir=owner.folder))
        except OSError as error:
            raise SandboxFailed(
                f"cannot make a folder in {owner.folder}: {error.strerror}"
            ) from error
        try:
            yield folder
        finally:
            remove_tree(folder)


def base_folder() -> Path:
    """Return the folder of all owners of this user, `nightshift-<uid>` in the temporary folder.

    Raises:
        SandboxFailed: the folder cannot be made, or another user could have written to it.
    """
    base = Path(tempfile.gettempdir()) / f"nightshift-{os.geteuid()}"
    try:
        base.mkdir(mode=0o700, exist_ok=True)
        status = base.lstat()
    except OSError as error:
        raise SandboxFailed(
            f"cannot make {base}: {error.strerror}; set TMPDIR to a folder that can be written"
        ) from error
    ours = stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()
    if not ours or status.st_mode & 0o077:
        raise SandboxFailed(
            f"{base} is not a folder of this user's alone; remove it, or set TMPDIR elsewhere"
        )
    return base


def base_id(base: Path) -> str:
    """Return the random name of the base folder, made at first use; no other base has it."""
    file = base / _ID
    with suppress(FileNotFoundError):
        return file.read_text(encoding="ascii")
    new = base / f"{_ID}-{secrets.token_hex(8)}"
    new.write_text(secrets.token_hex(16), encoding="ascii")
    try:
        # Unlike a rename, a link never replaces a file that another process has made.
        with suppress(FileExistsError):
            os.link(new, file)
    finally:
        new.unlink()
    return file.read_text(encoding="ascii")


def owners(base: Path) -> list[Owner]:
    """Return the owners that may have left something, dead or alive."""
    return [Owner(base, file.stem) for file in sorted(base.glob(f"*{_LOCK}"))]


def taken_lock(owner: Owner) -> int | None:
    """Return a descriptor that holds the owner's lock, None while another process holds it.

    Also None when the owner has ended and removed the file in the meantime.
    """
    try:
        descriptor = os.open(owner.lock, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return None
    if _locks(descriptor, owner.lock):
        return descriptor
    os.close(descriptor)
    return None


def _locks(descriptor: int, file: Path) -> bool:
    """Return whether the descriptor holds the lock of the file that has this name now.

    `filelock` would create the file again after its owner removed it, so that a dead owner would
    seem to be alive.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.path.samestat(os.fstat(descriptor), file.stat())
    except (BlockingIOError, FileNotFoundError):
        return False


def _claimed(base: Path) -> _Holding:
    while True:
        owner = Owner(base, f"{os.getpid()}-{_start_ticks()}-{secrets.token_hex(4)}")
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        descriptor = os.open(owner.lock, flags, 0o600)
        # A reaper may have opened the file before it was locked, and taken the owner for dead.
        if _locks(descriptor, owner.lock):
            break
        os.close(descriptor)
    try:
        owner.folder.mkdir(mode=0o700)
    except BaseException:
        os.close(descriptor)
        raise
    return _Holding(owner, descriptor)


def _start_ticks() -> int:
    after_name = Path("/proc/self/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return int(after_name[19])
