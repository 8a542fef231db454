"""Saves a trial's deliverables from the store to a folder; their names and bytes are untrusted.

A name is resolved one part at a time from an open folder, never through a link, so every file is
written below the folder that the user named.
"""

import os
import re
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath

from dashboards.visible_text import visible
from taskdata.artifacts import ArtifactStore
from taskdata.errors import NightshiftError
from taskdata.schema.base import Value
from taskdata.schema.run import Deliverable


class Saved(Value):
    """What became of one deliverable."""

    name: str
    """As the agent named it."""
    path: str
    """Below the folder, as it was written."""
    size_bytes: int
    error: str | None = None
    """Why it was not written."""


def save(
    artifacts: ArtifactStore, deliverables: Sequence[Deliverable], folder: Path, *, force: bool
) -> list[Saved]:
    """Write the files below `folder`, which is made if need be; one that fails stops no other.

    What is there already is left as it is, unless `force`.

    Raises:
        NightshiftError: The folder cannot be made or opened.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        root = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as exc:
        raise NightshiftError(f"{folder}: cannot be used as a folder: {exc.strerror}") from exc
    try:
        return [_saved(artifacts, each, root, force=force) for each in deliverables]
    finally:
        os.close(root)


def _saved(artifacts: ArtifactStore, file: Deliverable, root: int, *, force: bool) -> Saved:
    parts = [harmless(part) for part in PurePosixPath(file.name).parts]
    outcome = Saved(name=file.name, path="/".join(parts), size_bytes=file.size_bytes)
    try:
        data = artifacts.read_bytes(file.sha256)
        with _folder(root, parts[:-1]) as parent:
            _write(parent, parts[-1], data, force=force)
    except FileExistsError:
        return outcome.model_copy(update={"error": "it is there already; --force replaces it"})
    except OSError as exc:
        return outcome.model_copy(update={"error": exc.strerror or type(exc).__name__})
    except NightshiftError as exc:
        return outcome.model_copy(update={"error": str(exc)})
    return outcome


def harmless(part: str) -> str:
    """Return one part of a name; hidden, control and misleading characters become `%` and hex.

    Different parts stay different. A leading dot is escaped too: it would hide a file, or make it a
    shell's settings in a home folder.
    """
    escaped = re.sub("%(?=[0-9A-Fa-f]{2})", "%25", part)
    escaped = "".join(c if _is_shown(c) else _hex(c) for c in escaped)
    if escaped.startswith((".", "-", "~")):
        escaped = _hex(escaped[0]) + escaped[1:]
    return escaped


def _is_shown(letter: str) -> bool:
    return letter.isprintable() and visible(letter) == letter


def _hex(letter: str) -> str:
    return "".join(f"%{byte:02X}" for byte in letter.encode(errors="surrogatepass"))


@contextmanager
def _folder(root: int, parts: Sequence[str]) -> Iterator[int]:
    """Yield a descriptor of the folder below `root`, made if need be, reached through no link."""
    descriptor = os.dup(root)
    try:
        for part in parts:
            with suppress(FileExistsError):
                os.mkdir(part, dir_fd=descriptor)
            flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
            below = os.open(part, flags, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = below
        yield descriptor
    finally:
        os.close(descriptor)


def _write(parent: int, name: str, data: bytes, *, force: bool) -> None:
    """Write a new file, never executable; with `force` it takes the place of what has the name."""
    target = f".{secrets.token_hex(8)}.part" if force else name
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    descriptor = os.open(target, flags, 0o644, dir_fd=parent)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
        if force:
            os.replace(target, name, src_dir_fd=parent, dst_dir_fd=parent)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(target, dir_fd=parent)
        raise
