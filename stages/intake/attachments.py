"""The attachments of a seed: only regular files, of limited size, below the seed file's folder.

A folder is opened one path part at a time without following symbolic links, so that no link, not
even one made during the walk, leads out of it.
"""

import errno
import os
import stat
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path, PurePosixPath

from pydantic import ValidationError

from quality.safety.files import FileFinding
from quality.safety.personal import masked
from stages.intake.protection import inspected, name_fault
from stages.intake.readers.raw import Fault, short_name
from taskdata.archives import archive_fault
from taskdata.artifacts import ArtifactStore
from taskdata.errors import BadTaskData
from taskdata.schema.safety import NOTHING_ALLOWED, SafetyRules
from taskdata.schema.task import InputFile

MAX_FILE_BYTES = 50 << 20
MAX_ROW_BYTES = 200 << 20
MAX_FILES = 20
"""Attachments of one seed; the gate before construction has the same limit."""

_FIELD = "attachments"
_CHUNK = 1 << 20


class _Refused(Exception):
    """Why an attachment is refused."""


@dataclass(frozen=True)
class AttachmentFolder:
    """The folder that the paths in a seed file are relative to."""

    path: Path
    safety: SafetyRules = NOTHING_ALLOWED
    findings: dict[str, tuple[FileFinding, ...]] = field(default_factory=dict)
    """Orders to the model and requests for harm in files that were read, by path."""

    def read(self, names: Sequence[str]) -> tuple[InputFile, ...] | Fault:
        """Return the attachments of one row, or why one of them is refused."""
        if len(names) > MAX_FILES:
            return Fault(_FIELD, f"names {len(names)} files; at most {MAX_FILES} are let through")
        found: dict[str, InputFile] = {}
        total = 0
        for name in names:
            try:
                file = self._inspect(name)
                total += file.size_bytes
                if total > MAX_ROW_BYTES:
                    raise _Refused(f"makes the row larger than {MAX_ROW_BYTES >> 20} MiB")
                same = unicodedata.normalize("NFC", file.path).casefold()
                if same in found:
                    raise _Refused(f"is named like {_shown(found[same].path)!r}")
            except _Refused as exc:
                return Fault(_FIELD, f"{_shown(name)!r} {exc}")
            found[same] = file
        return tuple(found.values())

    def put(self, files: Sequence[InputFile], artifacts: ArtifactStore) -> None:
        """Store the bytes of files that `read` has accepted.

        Raises:
            BadTaskData: if a file has changed since.
        """
        for file in files:
            if artifacts.is_fresh(file.sha256):
                continue
            try:
                data = self._bytes(file.path)
            except _Refused as exc:
                raise BadTaskData(f"{self.path / file.path} {exc}") from exc
            if sha256(data).hexdigest() != file.sha256:
                raise BadTaskData(f"{self.path / file.path} changed while it was read; try again")
            artifacts.put_bytes(data)

    def _inspect(self, name: str) -> InputFile:
        if (named := name_fault(name, self.safety)) is not None:
            raise _Refused(named)
        data = self._bytes(name)
        if (fault := archive_fault(data)) is not None:
            raise _Refused(fault)
        found = inspected(name, data, self.safety)
        if found.fault is not None:
            raise _Refused(found.fault)
        try:
            file = InputFile(
                path=PurePosixPath(name).as_posix(),
                sha256=sha256(data).hexdigest(),
                size_bytes=len(data),
            )
        except ValidationError as exc:
            raise _Refused(exc.errors(include_url=False)[0]["msg"].lower()) from exc
        if found.findings:
            self.findings[file.path] = found.findings
        return file

    def _bytes(self, name: str) -> bytes:
        parts = PurePosixPath(name).parts
        if not parts or name.startswith("/") or ".." in parts or "\\" in name:
            raise _Refused("must be a relative path that stays inside the seed file's folder")
        if not name.isprintable():
            raise _Refused("holds a character that cannot be seen")
        try:
            with _opened(self.path, parts) as file:
                return _read(file)
        except FileNotFoundError as exc:
            raise _Refused("is not there") from exc
        except OSError as exc:
            if exc.errno in (errno.ELOOP, errno.ENOTDIR):
                raise _Refused("leads through a symbolic link, or a file used as folder") from exc
            raise _Refused(f"cannot be read: {exc.strerror}") from exc


def _shown(name: str) -> str:
    """Return a name for messages, without the personal data that may be in it."""
    plain = name.replace("_", " ")
    return short_name(name if masked(plain) == plain else masked(plain))


@contextmanager
def _opened(folder: Path, parts: Sequence[str]) -> Iterator[int]:
    """Yield a descriptor of the file, opened without following any link below `folder`."""
    here = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for part in parts[:-1]:
            inner = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=here)
            os.close(here)
            here = inner
        # Non-blocking: opening a pipe would otherwise wait until another process writes to it.
        file = os.open(parts[-1], os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=here)
    finally:
        os.close(here)
    try:
        yield file
    finally:
        os.close(file)


def _read(file: int) -> bytes:
    found = os.fstat(file)
    if not stat.S_ISREG(found.st_mode):
        raise _Refused("is no regular file")
    if found.st_size > MAX_FILE_BYTES:
        raise _Refused(f"is larger than {MAX_FILE_BYTES >> 20} MiB")
    chunks, size = [], 0
    while size <= MAX_FILE_BYTES and (chunk := os.read(file, _CHUNK)):
        chunks.append(chunk)
        size += len(chunk)
    if size > MAX_FILE_BYTES:
        raise _Refused(f"is larger than {MAX_FILE_BYTES >> 20} MiB")
    return b"".join(chunks)
