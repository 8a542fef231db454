"""The files that an imported task names: found inside its folder, bounded, hashed."""

import os
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from taskdata.archives import ArchiveLimits, archive_fault
from taskdata.artifacts import sha256_of
from taskdata.formats.rows import refusal
from taskdata.schema.task import InputFile

MAX_FILE_BYTES = 256 << 20
MAX_FILES = 2_000
"""Of one task."""
_LIMITS = ArchiveLimits(
    unpacked_bytes=1 << 30, entries=10_000, ratio=150, ratio_from_bytes=32 << 20
)
_CHUNK = 1 << 20
BESIDE = "files"
"""Folder beside an exported bank that holds its files, each named by its sha256."""


@dataclass
class Folder:
    """The folder beyond which no path of an import leads."""

    root: Path
    _known: dict[str, InputFile] = field(default_factory=dict)

    def find(self, where: str, path: str) -> tuple[InputFile, Path]:
        """Return the file at `path`, which a row names in field `where`.

        Raises:
            RowRefused: if the path leads out of the folder or to no plain file, or the file is
                too large or an archive that unpacks to too much.
        """
        parts = PurePosixPath(path).parts
        if not parts or path.startswith("/") or ".." in parts or "\\" in path or "\0" in path:
            raise refusal(where, "must be a relative path that stays inside the folder", path)
        found = self.root.joinpath(*parts)
        if path not in self._known:
            try:
                self._require_plain(where, path, parts)
                self._known[path] = _read(where, path, found)
            except OSError as exc:
                raise refusal(where, f"cannot be read: {exc.strerror}", path) from exc
        return self._known[path], found

    def below(self, where: str, path: str) -> list[str]:
        """Return the paths of all files below folder `path`, sorted; none if there is no such.

        Raises:
            RowRefused: if there is a link or a device among them, or there are too many.
        """
        top = self.root / path
        if not top.exists() and not top.is_symlink():
            return []
        if top.is_symlink() or not top.is_dir():
            raise refusal(where, "must be a folder, not a link or a file", path)
        found: list[str] = []
        for folder, folders, names in os.walk(top):
            for name in (*folders, *names):
                entry = Path(folder, name)
                relative = entry.relative_to(self.root).as_posix()
                if entry.is_symlink() or not (entry.is_dir() or entry.is_file()):
                    says = "must be a plain file, not a link or a device"
                    raise refusal(relative, says, relative)
            found += [Path(folder, name).relative_to(self.root).as_posix() for name in names]
            if len(found) > MAX_FILES:
                raise refusal(where, f"holds more than {MAX_FILES} files", path)
        return sorted(found)

    def _require_plain(self, where: str, path: str, parts: Iterable[str]) -> None:
        place = self.root
        for part in parts:
            place = place / part
            if not os.path.lexists(place):
                raise refusal(where, "the file is not there", path)
            if place.is_symlink():
                raise refusal(where, "must be a plain file; there is a link on the way", path)
        if not stat.S_ISREG(place.lstat().st_mode):
            raise refusal(where, "must be a plain file, not a folder or a device", path)


def beside(
    root: Folder, files: Iterable[InputFile], is_stored: Callable[[str], bool]
) -> dict[str, Path]:
    """Return those of an exported task's files that lie in the `files` folder, by sha256.

    Raises:
        RowRefused: if one is neither there nor in the store, or is not what its hash says.
    """
    found: dict[str, Path] = {}
    for file in files:
        path = f"{BESIDE}/{file.sha256}"
        if not (root.root / path).is_file() and is_stored(file.sha256):
            continue
        read, place = root.find(f"files.{file.path}", path)
        require_same(f"files.{file.path}", file, read)
        found[file.sha256] = place
    return found


def require_same(where: str, stated: InputFile, read: InputFile) -> None:
    """Raise `RowRefused` unless hash and size of a file are the stated ones."""
    if (stated.sha256, stated.size_bytes) != (read.sha256, read.size_bytes):
        reason = f"the file has changed: it should have {stated.size_bytes} bytes and sha256"
        raise refusal(where, f"{reason} {stated.sha256[:12]}...", read.path)


def _read(where: str, name: str, path: Path) -> InputFile:
    size = path.stat().st_size
    if size > MAX_FILE_BYTES:
        raise refusal(where, f"larger than {MAX_FILE_BYTES >> 20} MB", name)
    _require_no_bomb(where, name, path, size)
    return InputFile(path=name, sha256=sha256_of(path), size_bytes=size)


def _require_no_bomb(where: str, name: str, path: Path, size: int) -> None:
    """Refuse archives, whatever they are called, that unpack to too much."""
    if _opens_as_zip(path):
        fault = archive_fault(path.read_bytes(), _LIMITS)
        if fault is not None:
            raise refusal(where, fault, name)
    with path.open("rb") as stream:
        is_gzip = stream.read(2) == b"\x1f\x8b"
    unpacked = _unpacked_gzip(path) if is_gzip else 0
    bomb = unpacked > max(_LIMITS.ratio_from_bytes, _LIMITS.ratio * size)
    if bomb or unpacked > _LIMITS.unpacked_bytes:
        raise refusal(where, f"an archive of {size} bytes that unpacks to {unpacked} or more", name)


def _opens_as_zip(path: Path) -> bool:
    """Return whether it is an archive; what nothing that reads archives can open is only bytes."""
    if not zipfile.is_zipfile(path):
        return False
    try:
        zipfile.ZipFile(path).close()
    except (zipfile.BadZipFile, NotImplementedError, ValueError):
        return False
    return True


def _unpacked_gzip(path: Path) -> int:
    """Return how many bytes a gzip file unpacks to, counting no further than the limit."""
    count, pending = 0, b""
    reader = zlib.decompressobj(wbits=31)
    with path.open("rb") as stream:
        while count <= _LIMITS.unpacked_bytes:
            pending = pending or stream.read(_CHUNK)
            if not pending:
                break
            try:
                count += len(reader.decompress(pending, _CHUNK))
            except zlib.error:
                break
            pending = reader.unconsumed_tail or reader.unused_data
            if reader.eof:
                reader = zlib.decompressobj(wbits=31)
    return count
