"""What a sentence encoder is, and the similarity of two texts that follows from one."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class SentenceEncoder(Protocol):
    """Turns texts into vectors of length one: texts of similar meaning are close together."""

    @property
    def name(self) -> str:
        """The model's name: it stands beside every number that the model has a part in."""

    def encode(self, texts: Sequence[str]) -> "NDArray[np.float32]":
        """Return one row per text; the product of two rows is their cosine similarity."""


def names_of(encoders: Iterable[str | None]) -> str | None:
    """Return the names of the encoders that numbers are of; None where none had a part."""
    return ", ".join(sorted({name for name in encoders if name is not None})) or None


class Similarity:
    """Compares texts by one encoder, which reads each text once."""

    def __init__(self, encoder: SentenceEncoder) -> None:
        self._encoder = encoder
        self._vectors: dict[str, NDArray[np.float32]] = {}

    @property
    def encoder(self) -> str:
        """The name of the encoder."""
        return self._encoder.name

    def __call__(self, text: str, other: str) -> float:
        """Return max(cosine, 0) of two texts (GTA, appendix D.3).

        The similarity of a text with itself can be 1.0000001: it is computed in 32-bit floats, as
        the published scorer does.
        """
        self._read((text, other))
        return max(float(self._vectors[text] @ self._vectors[other]), 0.0)

    def best(self, text: str, references: Iterable[str]) -> float:
        """Return the largest similarity to any reference; 0 where there is none."""
        return max((self(text, reference) for reference in references), default=0.0)

    def _read(self, texts: Sequence[str]) -> None:
        new = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        if new:
            self._vectors.update(zip(new, self._encoder.encode(new), strict=True))
