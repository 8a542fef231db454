"""One process works on a run at a time, so that nothing is paid for twice.

Where a server keeps the database the lock is there, for hosts may share it; else it is a file.
"""

import fcntl
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from flows.config import Settings
from taskdata.errors import Misuse
from taskdata.store import Store


@contextmanager
def run_lock(settings: Settings, run_id: str) -> Iterator[None]:
    """Hold the run for this process; the lock goes with the process however it ends.

    Raises:
        Misuse: if another process is working on the run.
        StoreUnavailable: if the database does not answer.
    """
    with closing(Store(settings.address)) as store:
        taken = store.hold(run_id) if store.is_served else _file_held(settings.home, run_id)
        with taken as is_ours:
            if not is_ours:
                raise Misuse(f"run {run_id} is being worked on by another process; wait for it")
            yield


def is_worked_on(settings: Settings, run_id: str) -> bool:
    """Return whether some process holds the run."""
    with closing(Store(settings.address)) as store:
        if store.is_served:
            return store.is_held(run_id)
    with _lock_file(settings.home, run_id).open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False


@contextmanager
def _file_held(home: Path, run_id: str) -> Iterator[bool]:
    with _lock_file(home, run_id).open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True


def _lock_file(home: Path, run_id: str) -> Path:
    folder = home.resolve() / "locks"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{run_id}.lock"
