"""A board of shares in a file: runs in processes of their own have a provider's limits together."""

import fcntl
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pydantic import ValidationError

from environments.models.limits.seam import Share, Want
from environments.models.limits.shares import Shares
from taskdata.schema.ceilings import Ceilings

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


class _Board(Shares):
    """The shares as the file has them; their times are of one boot of this machine."""

    boot_id: str


class BoardFile:
    """A `Board` for all processes of this machine that open the same file.

    Times are of `time.monotonic`, which on Linux is the same in all processes.
    """

    def __init__(self, path: Path) -> None:
        """Keep the board at `path`; its folder is there."""
        self._path = path
        self._boot_id = _BOOT_ID.read_text().strip()

    def begin(self, now: float) -> None:
        """Take in that a run begins: where no other is at work, it learns the providers anew."""
        with self._opened() as board:
            board.forget_the_silent(now)
            if not board.workers:
                board.providers.clear()

    def shares_of(
        self, name: str, wants: Mapping[str, Want], ceilings: Mapping[str, Ceilings], now: float
    ) -> dict[str, Share]:
        """Take in what a worker wants; see `Board`."""
        with self._opened() as board:
            return board.shares_of(name, wants, ceilings, now)

    def forget(self, names: Iterable[str]) -> None:
        """Give the shares of lost workers to the others."""
        with self._opened() as board:
            board.forget(names)

    @contextmanager
    def _opened(self) -> Iterator[_Board]:
        """Yield what the file has, and write it back; one process at a time."""
        with os.fdopen(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600), "r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            board = self._read(file.read())
            yield board
            # Not emptied first: file systems then flush it to the disk, for milliseconds.
            file.seek(0)
            file.write(board.model_dump_json().encode())
            file.truncate()

    def _read(self, text: bytes) -> _Board:
        try:
            board = _Board.model_validate_json(text)
        except ValidationError:
            # Empty, of another version, or of a process that was killed while it wrote: the
            # workers tell what they know.
            return _Board(boot_id=self._boot_id)
        return board if board.boot_id == self._boot_id else _Board(boot_id=self._boot_id)
