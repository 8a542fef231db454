"""Content-addressed files on any fsspec file system: the name of a file is its sha256.

A writer stores a file first and the row that refers to it afterwards, and a prune removes files
that no row refers to. So that the two cannot meet, writing a file that is there already renews it
once it is older than `FRESH`, and a prune removes none that was written within `GRACE`: a writer
has the time between the two to store its row.
"""

import hashlib
import re
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import fsspec

from taskdata.errors import Misuse, NightshiftError, StoreUnavailable
from taskdata.full_disks import way_out
from taskdata.installing import extra_command

_CHUNK = 1 << 20
_NAME = re.compile(r"[0-9a-f]{64}")

FRESH = timedelta(hours=6)
"""Age up to which a file that is there is not written again."""

GRACE = timedelta(days=1)
"""Age below which no prune removes a file."""


class KeptFile(NamedTuple):
    """An artifact as its file system lists it."""

    size_bytes: int
    written_at: datetime


class ArtifactStore:
    """Files by content hash below one URL; writing the same bytes twice stores them once.

    Raises:
        Misuse: if no file system is installed for the URL.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        try:
            self._fs, root = fsspec.core.url_to_fs(url)
        except (ImportError, ValueError) as exc:
            helps = f"; run {extra_command('s3')}" if url.startswith("s3:") else ""
            raise Misuse(f"artifacts_url {url!r}: {exc}{helps}") from exc
        self._root = str(root).rstrip("/")

    def _path(self, sha256: str) -> str:
        return f"{self._root}/{sha256[:2]}/{sha256}"

    @contextmanager
    def _translated(self, doing: str) -> Iterator[None]:
        try:
            yield
        except NightshiftError:
            raise
        # What a library under a remote file system raises need not be an OSError: botocore's isn't.
        except Exception as exc:
            cause = " ".join(str(exc).split())
            helps = way_out(exc)
            said = f"{cause}; {helps}" if helps else cause
            raise StoreUnavailable(f"artifact store {self.url}: cannot {doing}: {said}") from exc

    def __contains__(self, sha256: str) -> bool:
        with self._translated("read"):
            return bool(self._fs.exists(self._path(sha256)))

    def is_fresh(self, sha256: str) -> bool:
        """Return whether the artifact is there and stays until a row that refers to it is stored.

        A writer that need not write it again asks for this, not only whether it is there.
        """
        written_at = self.written_at(sha256)
        return written_at is not None and datetime.now(UTC) - written_at < FRESH

    def renew(self, sha256: str) -> bool:
        """Have an artifact stay to which a row will refer again; return whether it is there."""
        if self.is_fresh(sha256):
            return True
        if sha256 not in self:
            return False
        self.put_bytes(self.read_bytes(sha256))
        return True

    def written_at(self, sha256: str) -> datetime | None:
        """Return when the artifact was written; None if it is not there."""
        with self._translated("read"), suppress(FileNotFoundError):
            return _when(self._fs.info(self._path(sha256)))
        return None

    def put_bytes(self, data: bytes) -> str:
        """Store `data` and return its hex sha256."""
        sha256 = hashlib.sha256(data).hexdigest()
        if not self.is_fresh(sha256):
            self._write(self._path(sha256), (data,))
        return sha256

    def put_file(self, path: Path) -> str:
        """Store the file at `path`, a piece at a time, and return its hex sha256."""
        return self.add_file(path)[0]

    def add_file(self, path: Path) -> tuple[str, bool]:
        """Store the file at `path`; return its hex sha256, and whether it was not there before."""
        sha256 = sha256_of(path)
        was_there = sha256 in self
        if was_there and self.is_fresh(sha256):
            return sha256, False
        with path.open("rb") as source:
            self._write(self._path(sha256), iter(lambda: source.read(_CHUNK), b""))
        return sha256, not was_there

    def remove(self, sha256: str) -> None:
        """Take the artifact away again, by the writer whose other facts were not stored."""
        with self._translated("remove"), suppress(FileNotFoundError):
            self._fs.rm_file(self._path(sha256))

    def remove_old(self, sha256: str, now: datetime) -> bool:
        """Remove the artifact unless it was written within `GRACE`; return whether it is gone."""
        written_at = self.written_at(sha256)
        if written_at is None:
            return True
        if now - written_at < GRACE:
            return False
        self.remove(sha256)
        return True

    def listed(self) -> Iterator[tuple[str, KeptFile]]:
        """Yield every artifact with its size and when it was written, a folder at a time."""
        with self._translated("list"):
            self._fs.invalidate_cache()
            if not self._fs.exists(self._root):
                return
            for folder in sorted(self._fs.ls(self._root, detail=False)):
                for path, facts in self._fs.find(folder, detail=True).items():
                    name = str(path).rsplit("/", 1)[-1]
                    if _NAME.fullmatch(name):
                        yield name, KeptFile(int(facts["size"]), _when(facts))
            # Asked for one file afterwards, the file system must not answer from this list.
            self._fs.invalidate_cache()

    def _write(self, path: str, pieces: Iterable[bytes]) -> None:
        # A reader, or a crash, must never meet half a file: write beside it, then rename.
        partial = f"{path}.{uuid.uuid4().hex}.partial"
        with self._translated("write"):
            self._fs.makedirs(path.rsplit("/", 1)[0], exist_ok=True)
            try:
                with self._fs.open(partial, "wb") as stream:
                    for piece in pieces:
                        stream.write(piece)
                self._fs.mv(partial, path)
            except BaseException:
                # Where the disk is full, what was begun would take the room that is left.
                with suppress(OSError):
                    self._fs.rm_file(partial)
                raise

    def read_bytes(self, sha256: str) -> bytes:
        """Return the bytes of that hash.

        Raises:
            NightshiftError: if there is no such artifact, or its bytes have changed.
        """
        with self._translated("read"):
            try:
                data = bytes(self._fs.cat_file(self._path(sha256)))
            except FileNotFoundError as exc:
                raise NightshiftError(f"artifact {sha256} is not in {self.url}") from exc
        if hashlib.sha256(data).hexdigest() != sha256:
            raise NightshiftError(f"artifact {sha256} in {self.url} is corrupt: its bytes changed")
        return data

    def head(self, sha256: str, count: int) -> bytes | None:
        """Return the first `count` bytes of that hash, unverified; None if it is not there."""
        with self._translated("read"), suppress(FileNotFoundError):
            return bytes(self._fs.cat_file(self._path(sha256), start=0, end=count))
        return None

    def copy_to(self, sha256: str, target: Path) -> None:
        """Write the artifact to the local file `target`, whose folder must exist."""
        target.write_bytes(self.read_bytes(sha256))


def _when(facts: dict[str, object]) -> datetime:
    """Return when a file was written: local files say it in seconds, clouds as a time."""
    for name in ("mtime", "LastModified", "last_modified", "updated", "created"):
        found = facts.get(name)
        if isinstance(found, int | float):
            return datetime.fromtimestamp(found, tz=UTC)
        if isinstance(found, datetime):
            return found if found.tzinfo else found.replace(tzinfo=UTC)
    # Of an unknown age, so nothing that may be removed.
    return datetime.now(UTC)


def sha256_of(path: Path) -> str:
    """Return the hex sha256 of a local file."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()
