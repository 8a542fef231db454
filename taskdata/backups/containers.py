"""Where a backup is: a folder, which the next backup brings up to date, or one ZIP file."""

import os
import zipfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol

from taskdata.errors import Misuse, NightshiftError
from taskdata.private_files import private_folder

MANIFEST = "backup.json"
"""Written last: without it there is no backup, or only the one before."""

ARTIFACTS = "artifacts/"
"""Names of artifacts begin with it."""

_CHUNK = 1 << 20


class BackupWriter(Protocol):
    """A backup that is being made."""

    def has(self, name: str) -> bool:
        """Return whether an earlier backup has left this file here."""
        ...

    def add(self, name: str, data: bytes) -> None:
        """Write a file."""
        ...

    def add_file(self, name: str, path: Path) -> None:
        """Copy a file, a piece at a time."""
        ...

    def finish(self, manifest: bytes, names: Collection[str]) -> None:
        """Make it a backup of these files; what is here of earlier ones beside them goes."""
        ...


class BackupReader(Protocol):
    """A backup that was made."""

    def names(self) -> Iterator[str]:
        """Yield the names of its files."""
        ...

    def read(self, name: str) -> bytes:
        """Return the bytes of a file."""
        ...

    def copy_to(self, name: str, path: Path) -> None:
        """Copy a file out, a piece at a time."""
        ...


@contextmanager
def new_backup(target: Path, *, overwrite: bool) -> Iterator[BackupWriter]:
    """Yield a backup to write to at a folder, or at a file that ends in `.zip`.

    Raises:
        Misuse: if something else is there; a file is replaced where `overwrite` says so.
        NightshiftError: if it cannot be written; an earlier backup there is as it was.
    """
    with _told(target):
        if target.suffix == ".zip":
            yield from _new_zip(target, overwrite=overwrite)
        else:
            yield _new_folder(target)


@contextmanager
def found_backup(source: Path) -> Iterator[BackupReader]:
    """Yield the backup that is there.

    Raises:
        Misuse: if there is none.
        NightshiftError: if it cannot be read.
    """
    with _told(source):
        if source.is_dir():
            if not (source / MANIFEST).is_file():
                raise Misuse(f"{source} is no backup: it has no {MANIFEST}")
            yield _Folder(source)
            return
        try:
            with zipfile.ZipFile(source) as archive:
                if MANIFEST not in archive.namelist():
                    raise Misuse(f"{source} is no backup: it has no {MANIFEST}")
                yield _Zip(archive)
        except FileNotFoundError:
            raise Misuse(f"{source} is not there") from None


@contextmanager
def _told(place: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, zipfile.BadZipFile) as exc:
        cause = exc.strerror if isinstance(exc, OSError) and exc.strerror else str(exc)
        raise NightshiftError(f"backup {place}: {cause}") from exc


def _new_zip(target: Path, *, overwrite: bool) -> Iterator[BackupWriter]:
    if target.exists() and not overwrite:
        raise Misuse(f"{target} is there already; --force overwrites it")
    partial = target.with_name(f"{target.name}.partial")
    partial.unlink(missing_ok=True)
    try:
        descriptor = os.open(partial, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
        with (
            os.fdopen(descriptor, "w+b") as file,
            zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive,
        ):
            yield _Zip(archive)
        partial.replace(target)
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)


def _new_folder(target: Path) -> "_Folder":
    if target.exists() and not target.is_dir():
        raise Misuse(f"{target} is a file; a backup is a folder, or a file that ends in .zip")
    if target.is_dir() and any(target.iterdir()) and not (target / MANIFEST).is_file():
        ours = {path.name for path in target.iterdir()} <= {ARTIFACTS.rstrip("/"), "home"}
        if not ours:
            raise Misuse(f"{target} holds something else than a backup; name a folder of its own")
    private_folder(target)
    return _Folder(target)


class _Folder:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def has(self, name: str) -> bool:
        return (self._folder / name).is_file()

    def add(self, name: str, data: bytes) -> None:
        partial = self._partial(name)
        partial.write_bytes(data)
        partial.replace(self._folder / name)

    def add_file(self, name: str, path: Path) -> None:
        partial = self._partial(name)
        with path.open("rb") as source, partial.open("wb") as target:
            while chunk := source.read(_CHUNK):
                target.write(chunk)
        partial.replace(self._folder / name)

    def finish(self, manifest: bytes, names: Collection[str]) -> None:
        self.add(MANIFEST, manifest)
        for name in list(self.names()):
            if name not in names:
                (self._folder / name).unlink()

    def names(self) -> Iterator[str]:
        for path in self._folder.rglob("*"):
            if path.is_file() and path != self._folder / MANIFEST:
                yield path.relative_to(self._folder).as_posix()

    def read(self, name: str) -> bytes:
        return (self._folder / name).read_bytes()

    def copy_to(self, name: str, path: Path) -> None:
        with (self._folder / name).open("rb") as source, path.open("wb") as target:
            while chunk := source.read(_CHUNK):
                target.write(chunk)

    def _partial(self, name: str) -> Path:
        path = self._folder / name
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        return path.with_name(f"{path.name}.partial")


class _Zip:
    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive

    def has(self, name: str) -> bool:
        return name in self._archive.NameToInfo

    def add(self, name: str, data: bytes) -> None:
        self._archive.writestr(name, data)

    def add_file(self, name: str, path: Path) -> None:
        self._archive.write(path, name)

    def finish(self, manifest: bytes, names: Collection[str]) -> None:
        self.add(MANIFEST, manifest)

    def names(self) -> Iterator[str]:
        yield from (name for name in self._archive.namelist() if name != MANIFEST)

    def read(self, name: str) -> bytes:
        return self._archive.read(name)

    def copy_to(self, name: str, path: Path) -> None:
        with self._archive.open(name) as source, path.open("wb") as target:
            while chunk := source.read(_CHUNK):
                target.write(chunk)
