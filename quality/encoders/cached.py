"""A sentence encoder that keeps its vectors on disk, by the hash of each text.

A file holds the vectors of one encoder. Texts are not in it.
"""

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from quality.encoders.encoder import SentenceEncoder
from taskdata.errors import StoreUnavailable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_TOGETHER = 500
"""Keys of one query; SQLite takes 999 at least."""
_BUSY_SECONDS = 30.0


class CachedEncoder:
    """Gives the vectors of texts that were encoded before without loading the model."""

    def __init__(self, name: str, load: Callable[[], SentenceEncoder], folder: Path) -> None:
        """Keep vectors in `folder`.

        Args:
            name: The name of the encoder, which with its version is that of the file.
            load: Loads the encoder, when a text is new.
            folder: Is made if it is not there.
        """
        self._name, self._load = name, load
        self._path = folder / f"{name}.sqlite"

    @property
    def name(self) -> str:
        """The model's name."""
        return self._name

    def encode(self, texts: Sequence[str]) -> "NDArray[np.float32]":
        """Return one row per text; the product of two rows is their cosine similarity.

        Raises:
            StoreUnavailable: if the file of vectors cannot be read or written.
        """
        import numpy as np

        if not texts:
            return np.empty((0, 0), dtype=np.float32)
        keys = [sha256(text.encode("utf-8", "surrogatepass")).digest() for text in texts]
        by_key = dict(zip(keys, texts, strict=True))
        try:
            with closing(self._opened()) as vectors:
                known = _known(vectors, list(by_key))
                new = {key: text for key, text in by_key.items() if key not in known}
                if new:
                    rows = self._model.encode(list(new.values()))
                    made = {key: row.tobytes() for key, row in zip(new, rows, strict=True)}
                    with vectors:
                        vectors.executemany(
                            "INSERT OR IGNORE INTO vector VALUES (?, ?)", made.items()
                        )
                    known |= made
        except (sqlite3.Error, OSError) as exc:
            raise StoreUnavailable(
                f"{self._path}: vectors of {self._name} cannot be kept: {exc}; the file may be "
                "deleted"
            ) from exc
        return np.stack([np.frombuffer(known[key], dtype=np.float32) for key in keys])

    @cached_property
    def _model(self) -> SentenceEncoder:
        return self._load()

    def _opened(self) -> sqlite3.Connection:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        vectors = sqlite3.connect(self._path, timeout=_BUSY_SECONDS)
        vectors.execute(
            "CREATE TABLE IF NOT EXISTS vector (text_sha256 BLOB PRIMARY KEY, row BLOB NOT NULL)"
        )
        return vectors


def _known(vectors: sqlite3.Connection, keys: Sequence[bytes]) -> dict[bytes, bytes]:
    found: dict[bytes, bytes] = {}
    for start in range(0, len(keys), _TOGETHER):
        some = keys[start : start + _TOGETHER]
        marks = ", ".join("?" * len(some))
        # Only question marks are put into the text of the query.
        query = f"SELECT text_sha256, row FROM vector WHERE text_sha256 IN ({marks})"  # noqa: S608
        found |= dict(vectors.execute(query, some).fetchall())
    return found
