"""Two encoders that compare texts together: one for many languages, one for English.

The light encoder for English knows paraphrases that the multilingual one misses. Between two
English texts the mean of both similarities is used, between others that of the multilingual one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from quality.encoders.encoder import SentenceEncoder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class PairedEncoder:
    """The encoder for many languages, with one for English beside it."""

    general: SentenceEncoder
    english: SentenceEncoder

    @property
    def name(self) -> str:
        """The name of the encoder for many languages."""
        return self.general.name

    def encode(self, texts: Sequence[str]) -> "NDArray[np.float32]":
        """Return the rows of the encoder for many languages."""
        return self.general.encode(texts)
