"""Results as a folder with a folder per task: `final.txt`, `files/` and `meta.json`."""

import os
import stat
from pathlib import Path

from environments.sandbox.collect import Collected, collect
from stages.execute.imported.archives import without_bombs
from stages.execute.imported.result import (
    MAX_ANSWER_BYTES,
    Effort,
    Result,
    answer_text,
    names_of,
    read_effort,
    read_json,
)
from taskdata.errors import BadTaskData
from taskdata.schema.task import Task

ANSWER = "final.txt"
FILES = "files"
META = "meta.json"
_MAX_META_BYTES = 1 << 16


def read_folder(root: Path, task: Task, destination: Path) -> Result | None:
    """Return the result for `task` below `root`; None if there is none.

    Links are not followed, and files are copied under the limits for any agent's output.

    Args:
        root: The folder of results.
        task: Its folder is named by its id, or by its key in the data set that it was imported
            from.
        destination: Folder for the copies.

    Raises:
        BadTaskData: if a file is invalid.
    """
    place = _place(root, task)
    if place is None:
        return None
    answer = _read(place / ANSWER, MAX_ANSWER_BYTES)
    meta = _read(place / META, _MAX_META_BYTES)
    has_files = os.path.lexists(place / FILES)
    if answer is None and not has_files:
        return None
    nothing = Collected((), ())
    files = collect(place / FILES, task.resources, destination) if has_files else nothing
    return Result(
        final_answer="" if answer is None else answer_text(answer),
        files=without_bombs(files),
        effort=Effort() if meta is None else _effort(place / META, meta),
    )


def _place(root: Path, task: Task) -> Path | None:
    for name in names_of(task):
        if "/" in name or "\0" in name or name in ("", ".", ".."):
            continue
        place = root / name
        if place.is_symlink():
            raise BadTaskData(f"{place}: is a symbolic link; results must lie in their folder")
        if place.is_dir():
            return place
    return None


def _read(path: Path, most: int) -> bytes | None:
    """Return the bytes of a regular file; None if it does not exist."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as exc:
        raise BadTaskData(f"{path}: cannot be read ({exc.strerror}); it must be a file") from exc
    with open(descriptor, "rb") as stream:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise BadTaskData(f"{path}: must be a plain file, not a folder or a device")
        if status.st_size > most:
            raise BadTaskData(f"{path}: larger than {most >> 10} KiB")
        return stream.read(most)


def _effort(path: Path, data: bytes) -> Effort:
    return read_effort(str(path), read_json(str(path), data))
