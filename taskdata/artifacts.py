"""Content-addressed files on any fsspec file system: the name of a file is its sha256."""

import hashlib
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import fsspec

from taskdata.errors import Misuse, NightshiftError, StoreUnavailable
from taskdata.installing import extra_command

_CHUNK = 1 << 20


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
            way_out = f"; run {extra_command('s3')}" if url.startswith("s3:") else ""
            raise Misuse(f"artifacts_url {url!r}: {exc}{way_out}") from exc
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
            raise StoreUnavailable(f"artifact store {self.url}: cannot {doing}: {cause}") from exc

    def __contains__(self, sha256: str) -> bool:
        with self._translated("read"):
            return bool(self._fs.exists(self._path(sha256)))

    def put_bytes(self, data: bytes) -> str:
        """Store `data` and return its hex sha256."""
        sha256 = hashlib.sha256(data).hexdigest()
        if sha256 not in self:
            self._write(self._path(sha256), (data,))
        return sha256

    def put_file(self, path: Path) -> str:
        """Store the file at `path`, a piece at a time, and return its hex sha256."""
        return self.add_file(path)[0]

    def add_file(self, path: Path) -> tuple[str, bool]:
        """Store the file at `path`; return its hex sha256, and whether it was not there before."""
        sha256 = sha256_of(path)
        if sha256 in self:
            return sha256, False
        with path.open("rb") as source:
            self._write(self._path(sha256), iter(lambda: source.read(_CHUNK), b""))
        return sha256, True

    def remove(self, sha256: str) -> None:
        """Take the artifact away again, by the writer whose other facts were not stored."""
        with self._translated("remove"), suppress(FileNotFoundError):
            self._fs.rm_file(self._path(sha256))

    def _write(self, path: str, pieces: Iterable[bytes]) -> None:
        # A reader, or a crash, must never meet half a file: write beside it, then rename.
        partial = f"{path}.{uuid.uuid4().hex}.partial"
        with self._translated("write"):
            self._fs.makedirs(path.rsplit("/", 1)[0], exist_ok=True)
            with self._fs.open(partial, "wb") as stream:
                for piece in pieces:
                    stream.write(piece)
            self._fs.mv(partial, path)

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


def sha256_of(path: Path) -> str:
    """Return the hex sha256 of a local file."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()
