"""One process works on a run at a time, so that nothing is paid for twice.

A run has two locks. A served night holds the first one from its first stage to its last. Each of
its stages, which is a process of its own, holds the second one. A command holds both. A refresh
holds its bank, too.

With a database server the locks are in the database, because several hosts may share it; otherwise
they are files.
"""

import fcntl
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from flows.config import Settings
from taskdata.errors import Misuse
from taskdata.full_disks import is_read_only
from taskdata.private_files import private_folder
from taskdata.store import Store

_SECONDS_TO_TRY = 0.2
_SECONDS_BETWEEN_TRIES = 0.02


@contextmanager
def run_lock(settings: Settings, run_id: str) -> Iterator[None]:
    """Hold the run, or the refresh, for this process alone: no other takes up a stage of it.

    Raises:
        Misuse: if another process is working on the run.
        StoreUnavailable: if the database does not answer.
    """
    with night_lock(settings, run_id), stage_lock(settings, run_id):
        yield


@contextmanager
def night_lock(settings: Settings, run_id: str) -> Iterator[None]:
    """Hold the run for the process that starts its stages; each stage takes its own lock.

    The lock goes with the process, however it ends. Raises as `run_lock`.
    """
    with _held(settings, run_id, _night(run_id)):
        yield


@contextmanager
def stage_lock(settings: Settings, run_id: str) -> Iterator[None]:
    """Hold the run for the process that works on one of its stages; raises as `run_lock`."""
    with _held(settings, run_id, run_id):
        yield


class BankHeld(Misuse):
    """Another refresh is at work on the bank."""


@contextmanager
def bank_lock(settings: Settings, bank: str) -> Iterator[None]:
    """Hold the bank for one refresh.

    Raises:
        BankHeld: if another refresh has it.
        StoreUnavailable: if the database does not answer.
    """
    with _taken(settings, f"{bank}.bank") as is_ours:
        if not is_ours:
            raise BankHeld(f"another refresh is at work on bank {bank}; wait for its end")
        yield


@contextmanager
def upkeep_lock(settings: Settings) -> Iterator[None]:
    """Hold what prunes and backups share, so that none takes away what another copies.

    Raises:
        Misuse: if another one is at work.
        StoreUnavailable: if the database does not answer.
    """
    if is_read_only(settings.home.resolve()):
        yield  # nothing can be pruned here
        return
    with closing(Store(settings.address)) as store:
        taken = store.hold("upkeep") if store.is_served else _file_held(settings.home, "upkeep")
        with taken as is_ours:
            if not is_ours:
                raise Misuse("a prune, a backup or a restore is at work here; wait for it")
            yield


def forget_lock(settings: Settings, run_id: str) -> None:
    """Remove the files of the locks of a run that is no more."""
    for name in (_night(run_id), run_id):
        _lock_file(settings.home, name).unlink(missing_ok=True)


@contextmanager
def serve_lock(home: Path) -> Iterator[Callable[[str], None]]:
    """Hold the home for one `nightshift serve`; yield a function that records its address.

    Raises:
        Misuse: if another one serves the home; names its address.
    """
    file = _lock_file(home, "serve")
    with _file_held(home, "serve") as is_ours:
        if not is_ours:
            where = file.read_text() or "its server is starting"
            raise Misuse(f"`nightshift serve` is at work on {home} already: {where}")
        file.write_text("")

        def note(address: str) -> None:
            file.write_text(address)

        try:
            yield note
        finally:
            file.write_text("")


def is_served(home: Path) -> bool:
    """Return whether a `nightshift serve` is at work on the home."""
    return _file_is_held(home, "serve")


def is_worked_on(settings: Settings, run_id: str) -> bool:
    """Return whether some process holds the run: a command, a served night, or a stage."""
    names = (_night(run_id), run_id)
    with closing(Store(settings.address)) as store:
        if store.is_served:
            return any(store.is_held(name) for name in names)
    return any(_file_is_held(settings.home, name) for name in names)


def _night(run_id: str) -> str:
    return f"{run_id}.night"


@contextmanager
def _held(settings: Settings, run_id: str, name: str) -> Iterator[None]:
    with _taken(settings, name) as is_ours:
        if not is_ours:
            raise Misuse(f"run {run_id} is being worked on by another process; wait for it")
        yield


@contextmanager
def _taken(settings: Settings, name: str) -> Iterator[bool]:
    """Hold the lock for the length of the block; yield False where another process holds it."""
    with closing(Store(settings.address)) as store:
        taken = store.hold(name) if store.is_served else _file_held(settings.home, name)
        with taken as is_ours:
            yield is_ours


@contextmanager
def _file_held(home: Path, name: str) -> Iterator[bool]:
    """Hold the lock for the length of the block; yield False where another process holds it."""
    lock = FileLock(_lock_file(home, name), thread_local=False, fallback_to_soft=False)
    try:
        # A process that only looks whether the lock is held has it for a moment.
        held = lock.acquire(timeout=_SECONDS_TO_TRY, poll_interval=_SECONDS_BETWEEN_TRIES)
    except Timeout:
        yield False
        return
    with held:
        yield True


def _file_is_held(home: Path, name: str) -> bool:
    # A shared lock, which `filelock` does not have: processes that look at the same time must not
    # take each other for a holder.
    if is_read_only(home.resolve()):
        return False  # nobody can take it there
    with _lock_file(home, name).open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False


def _lock_file(home: Path, name: str) -> Path:
    if not name or Path(name).name != name:
        raise Misuse(f"{name!r} is no id of a run; `nightshift runs` lists them")
    folder = home.resolve() / "locks"
    private_folder(home)
    private_folder(folder)
    return folder / f"{name}.lock"
