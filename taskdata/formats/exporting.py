"""Writing a bank to files: whole or not at all, with the bytes of its files beside it."""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from taskdata.errors import Misuse, NightshiftError
from taskdata.formats.files import BESIDE
from taskdata.schema.task import InputFile

Fetch = Callable[[str, Path], None]
"""Writes the file of that sha256 to a path whose folder exists."""


@dataclass(frozen=True)
class Target:
    """Where an export goes."""

    document: Path
    """The file with the tasks."""
    fetch: Fetch

    @property
    def folder(self) -> Path:
        """Folder of the document, to which all paths in it are relative."""
        return self.document.parent

    def put(self, files: Iterable[InputFile]) -> None:
        """Write files into the folder `files`, each once, named by its sha256."""
        for file in files:
            self.put_at(f"{BESIDE}/{file.sha256}", file)

    def put_at(self, path: str, file: InputFile) -> None:
        """Write a file at `path` within the folder unless it is there already."""
        place = self.folder / path
        if place.is_file() and place.stat().st_size == file.size_bytes:
            return
        place.parent.mkdir(parents=True, exist_ok=True)
        partial = place.with_name(f"{place.name}.partial")
        try:
            self.fetch(file.sha256, partial)
            partial.replace(place)
        except OSError as exc:
            raise NightshiftError(f"{place}: cannot be written: {exc.strerror}") from exc
        finally:
            partial.unlink(missing_ok=True)


def target(path: Path, document: str, fetch: Fetch, *, force: bool) -> Target:
    """Return where an export to `path` goes: the file itself, or `document` in that folder.

    Args:
        path: A file, if it ends as `document` does; else a folder.
        document: Name of the document in a folder.
        fetch: Where the bytes of files come from.
        force: Whether what is there may be overwritten.

    Raises:
        Misuse: if something is there and `force` is not given.
    """
    suffix = Path(document).suffix
    is_file = path.suffix == suffix and not path.is_dir()
    try:
        taken = path.stat().st_size > 0 if path.is_file() else any(path.iterdir())
    except FileNotFoundError:
        taken = False
    except OSError as exc:
        raise Misuse(f"{path}: cannot be written to: {exc.strerror}") from exc
    if taken and not force:
        raise Misuse(f"{path} is not empty; give another path, or --force to overwrite")
    if path.is_file() and not is_file:
        raise Misuse(f"{path} is a file; give a folder, or a name that ends with {suffix}")
    return Target(path if is_file else path / document, fetch)


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """Yield a file that takes the place of `path` once the block has ended well.

    Raises:
        NightshiftError: if it cannot be written.
    """
    partial = path.with_name(f"{path.name}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with partial.open("wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        partial.replace(path)
    except OSError as exc:
        raise NightshiftError(f"{path}: cannot be written: {exc.strerror or exc}") from exc
    finally:
        partial.unlink(missing_ok=True)
