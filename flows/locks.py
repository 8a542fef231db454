"""One process works on a run at a time, so that nothing is paid for twice."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from taskdata.errors import Misuse


def _lock_file(home: Path, run_id: str) -> Path:
    folder = home.resolve() / "locks"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{run_id}.lock"


@contextmanager
def run_lock(home: Path, run_id: str) -> Iterator[None]:
    """Hold the run for this process; the lock goes with the process however it ends.

    Raises:
        Misuse: if another process is working on the run.
    """
    with _lock_file(home, run_id).open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as exc:
            raise Misuse(
                f"run {run_id} is being worked on by another process; wait for it"
            ) from exc
        yield


def is_worked_on(home: Path, run_id: str) -> bool:
    """Return whether some process of this machine holds the run."""
    with _lock_file(home, run_id).open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False
