"""Sentence transformers (Reimers and Gurevych 2019, Sentence-BERT) that are ONNX files."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from taskdata.errors import Misuse

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MAX_TOKENS = 256
"""Word pieces that are used, as in the model's training; the rest is ignored."""

_BATCH = 8


class OnnxEncoder:
    """A sentence transformer on the CPU: mean of the token vectors, scaled to length one."""

    def __init__(self, model: Path, tokenizer: Path, name: str) -> None:
        """Load the model.

        Raises:
            Misuse: if one of the files cannot be loaded.
        """
        import onnxruntime
        from tokenizers import Tokenizer

        self._name = name
        options = onnxruntime.SessionOptions()
        # Threads that wait for each other shall not keep the cores busy that others need.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        try:
            self._session: Any = onnxruntime.InferenceSession(
                str(model), options, providers=["CPUExecutionProvider"]
            )
            self._tokenizer: Any = Tokenizer.from_file(str(tokenizer))
        # Both libraries raise types of their own that share no base below Exception.
        except Exception as exc:
            reason = " ".join(str(exc).split())[:200]
            raise Misuse(f"sentence encoder {model}: cannot be loaded: {reason}") from exc
        self._tokenizer.enable_truncation(MAX_TOKENS)
        self._tokenizer.enable_padding()
        self._inputs = {taken.name for taken in self._session.get_inputs()}

    @property
    def name(self) -> str:
        """The model's name."""
        return self._name

    def encode(self, texts: Sequence[str]) -> "NDArray[np.float32]":
        """Return one row per text; the product of two rows is their cosine similarity."""
        import numpy as np

        # Texts of similar length together: a batch is as wide as its longest text.
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
        vectors: NDArray[np.float32] | None = None
        for start in range(0, len(order), _BATCH):
            chosen = order[start : start + _BATCH]
            batch = self._encode([texts[i] for i in chosen])
            if vectors is None:
                vectors = np.empty((len(texts), batch.shape[1]), dtype=np.float32)
            vectors[chosen] = batch
        return np.empty((0, 0), dtype=np.float32) if vectors is None else vectors

    def _encode(self, texts: Sequence[str]) -> "NDArray[np.float32]":
        import numpy as np

        tokens = self._tokenizer.encode_batch(list(texts))
        ids = np.array([t.ids for t in tokens], dtype=np.int64)
        mask = np.array([t.attention_mask for t in tokens], dtype=np.int64)
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        states = self._session.run(None, {k: v for k, v in given.items() if k in self._inputs})[0]
        summed = (states * mask[:, :, None]).sum(axis=1)
        lengths = np.linalg.norm(summed, axis=1, keepdims=True)
        scaled: NDArray[np.float32] = (summed / np.maximum(lengths, 1e-12)).astype(np.float32)
        return scaled
