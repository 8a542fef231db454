"""A folder packed as what differs from a packed folder that it grew out of.

A cluster of PostgreSQL has hundreds of files of which a trial changes few, and the files of a new
database are copies of those of its template. So a pack holds a list of all files, where in the base
those stand that are the same there, and the content of the others.
"""

import hashlib
import io
import json
import os
import tarfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import IO

_INDEX = "index.json"
_LEVEL = 3
"""Of gzip: half of a cluster's pages are zeros, and more effort gains little."""
_CHUNK = 1 << 20


def pack(folder: Path, base: Path, target: Path) -> None:
    """Pack `folder` into `target`, given the tar file `base` of what it grew out of."""
    known = {digest: name for name, digest in _digests(base)}
    same: dict[str, str] = {}
    changed: list[Path] = []
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        place = known.get(_digest_of(path))
        if place is None:
            changed.append(path)
        else:
            same[str(path.relative_to(folder))] = place
    folders = sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_dir())
    index = json.dumps({"folders": folders, "same": same}).encode()
    with tarfile.open(target, "w:gz", compresslevel=_LEVEL) as packed:
        entry = tarfile.TarInfo(_INDEX)
        entry.size = len(index)
        packed.addfile(entry, io.BytesIO(index))
        for path in changed:
            packed.add(path, str(path.relative_to(folder)), recursive=False)


def unpack(source: Path, base: Path, folder: Path) -> None:
    """Make `folder` as it was when `source` was packed against the same `base`.

    Raises:
        OSError: The pack cannot be read, or does not belong to the base.
    """
    try:
        _unpack(source, base, folder)
    except (tarfile.TarError, EOFError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise OSError(f"the packed state cannot be read: {error}") from error


def _unpack(source: Path, base: Path, folder: Path) -> None:
    folder.mkdir(mode=0o700)
    with tarfile.open(source, "r|gz") as packed:
        for entry in packed:
            content = packed.extractfile(entry)
            if content is None:
                raise ValueError(f"{entry.name} is no file")
            if entry.name == _INDEX:
                index = json.load(content)
                for name in index["folders"]:
                    _inside(folder, name).mkdir(mode=0o700)
            else:
                _write(content, [_inside(folder, entry.name)])
    wanted: dict[str, list[Path]] = defaultdict(list)
    for name, place in index["same"].items():
        wanted[place].append(_inside(folder, name))
    for entry, content in _files(base):
        if targets := wanted.pop(entry.name, None):
            _write(content, targets)
    if wanted:
        raise ValueError(f"{min(wanted)} is not in the cluster that it grew out of")


def _files(base: Path) -> Iterator[tuple[tarfile.TarInfo, IO[bytes]]]:
    with tarfile.open(base, "r|") as packed:
        for entry in packed:
            content = packed.extractfile(entry) if entry.isfile() else None
            if content is not None:
                yield entry, content


def _digests(base: Path) -> Iterator[tuple[str, bytes]]:
    for entry, content in _files(base):
        digest = hashlib.sha256()
        while chunk := content.read(_CHUNK):
            digest.update(chunk)
        yield entry.name, digest.digest()


def _digest_of(path: Path) -> bytes:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


def _write(content: IO[bytes], targets: list[Path]) -> None:
    files = [open(target, "xb", opener=_private) for target in targets]  # noqa: SIM115
    try:
        while chunk := content.read(_CHUNK):
            for file in files:
                file.write(chunk)
    finally:
        for file in files:
            file.close()


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _inside(folder: Path, name: str) -> Path:
    if name.startswith("/") or ".." in name.split("/"):
        raise ValueError(f"{name!r} is no path inside the folder")
    return folder / name
