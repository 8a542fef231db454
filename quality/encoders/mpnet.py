"""MPNet (Song et al. 2020) as a sentence encoder, from its published weights, without PyTorch.

The forward pass of one text is a few matrix products: NumPy does them on the CPU in a tenth of a
second, and installing PyTorch would take a hundred times as long as all comparisons of a run.
"""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from taskdata.errors import Misuse

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

WEIGHTS = "model.safetensors"
TOKENIZER = "tokenizer.json"
CONFIG = "config.json"
SENTENCES = "sentence_bert_config.json"

_DEFAULT_TOKENS = 384
"""Word pieces that are used where the folder does not say; the rest of a text is ignored."""
_FIRST_POSITION = 2
"""Positions are counted from behind that of padding."""
_MAX_DISTANCE = 128
_HEADER_BYTES = 8


class MpnetEncoder:
    """A sentence transformer of the kind of `all-mpnet-base-v2`, read from a folder."""

    def __init__(self, folder: Path, name: str) -> None:
        """Load the model.

        Raises:
            Misuse: The folder holds no MPNet model, or one whose files cannot be read.
        """
        from threadpoolctl import ThreadpoolController
        from tokenizers import Tokenizer

        self._name = name
        try:
            config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
            if config.get("model_type") != "mpnet":
                raise Misuse(
                    f"sentence encoder {folder}: {CONFIG} says model_type "
                    f"{config.get('model_type')!r}; only MPNet models, or a folder with a "
                    "model.onnx, can be used"
                )
            self._weights = _tensors(folder / WEIGHTS)
            self._tokenizer: Any = Tokenizer.from_file(str(folder / TOKENIZER))
        except Misuse:
            raise
        # The tokenizer's library raises a type of its own that has no base below Exception.
        except Exception as exc:
            reason = " ".join(str(exc).split())[:200]
            raise Misuse(f"sentence encoder {folder}: cannot be loaded: {reason}") from exc
        self._tokenizer.enable_truncation(_max_tokens(folder))
        self._tokenizer.no_padding()
        self._threads: Any = ThreadpoolController()
        self._layers: int = config["num_hidden_layers"]
        self._heads: int = config["num_attention_heads"]
        self._epsilon: float = config["layer_norm_eps"]
        self._prefix = "mpnet." if any(key.startswith("mpnet.") for key in self._weights) else ""

    @property
    def name(self) -> str:
        """The model's name."""
        return self._name

    def encode(self, texts: Sequence[str]) -> "Floats":
        """Return one row per text: the mean of its tokens' vectors, scaled to length one."""
        import numpy as np

        # Products as small as these lose more to threads that wait for each other than they gain.
        with self._threads.limit(limits=1, user_api="blas"):
            rows = [self._encode(text) for text in texts]
        return np.stack(rows) if rows else np.empty((0, 0), dtype=np.float32)

    def _encode(self, text: str) -> "Floats":
        import numpy as np

        ids = np.array(self._tokenizer.encode(text).ids, dtype=np.int64)
        positions = np.arange(len(ids)) + _FIRST_POSITION
        states = self._normalised(
            self._of("embeddings.word_embeddings.weight")[ids]
            + self._of("embeddings.position_embeddings.weight")[positions],
            "embeddings.LayerNorm",
        )
        bias = self._position_bias(len(ids))
        for number in range(self._layers):
            states = self._layer(states, bias, f"encoder.layer.{number}")
        mean = states.mean(axis=0)
        scaled: Floats = (mean / max(float(np.linalg.norm(mean)), 1e-12)).astype(np.float32)
        return scaled

    def _layer(self, states: "Floats", bias: "Floats", name: str) -> "Floats":
        attended = self._attention(states, bias, f"{name}.attention.attn")
        states = self._normalised(states + attended, f"{name}.attention.LayerNorm")
        inner = _gelu(self._linear(states, f"{name}.intermediate.dense"))
        return self._normalised(
            states + self._linear(inner, f"{name}.output.dense"), f"{name}.output.LayerNorm"
        )

    def _attention(self, states: "Floats", bias: "Floats", name: str) -> "Floats":
        import numpy as np

        tokens, width = states.shape
        size = width // self._heads
        query, key, value = (
            self._linear(states, f"{name}.{part}")
            .reshape(tokens, self._heads, size)
            .transpose(1, 0, 2)
            for part in "qkv"
        )
        scores = query @ key.transpose(0, 2, 1) / np.float32(math.sqrt(size)) + bias
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights = scores / scores.sum(axis=-1, keepdims=True)
        joined = (weights @ value).transpose(1, 0, 2).reshape(tokens, width)
        return self._linear(joined, f"{name}.o")

    def _position_bias(self, tokens: int) -> "Floats":
        """Return heads x tokens x tokens: what a pair's distance adds to its attention."""
        import numpy as np

        table = self._of("encoder.relative_attention_bias.weight")
        sided, place = table.shape[0] // 2, np.arange(tokens)
        ahead = place[None, :] - place[:, None]
        distance = np.abs(ahead)
        exact = sided // 2
        # Beyond `exact` tokens, buckets grow with the logarithm of the distance.
        far = np.log(np.maximum(distance, 1).astype(np.float32) / exact)
        far = exact + (far / math.log(_MAX_DISTANCE / exact) * (sided - exact)).astype(np.int64)
        bucket = np.where(distance < exact, distance, np.minimum(far, sided - 1))
        bias: Floats = table[bucket + sided * (ahead > 0)].transpose(2, 0, 1)
        return bias

    def _linear(self, states: "Floats", name: str) -> "Floats":
        return states @ self._of(f"{name}.weight").T + self._of(f"{name}.bias")

    def _normalised(self, states: "Floats", name: str) -> "Floats":
        import numpy as np

        centred = states - states.mean(axis=-1, keepdims=True)
        spread = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + np.float32(self._epsilon))
        scaled: Floats = centred / spread * self._of(f"{name}.weight") + self._of(f"{name}.bias")
        return scaled

    def _of(self, name: str) -> "Floats":
        return self._weights[self._prefix + name]


def _gelu(values: "Floats") -> "Floats":
    import numpy as np
    from scipy.special import erf

    halves: Floats = values * np.float32(0.5) * (1 + erf(values * np.float32(math.sqrt(0.5))))
    return halves


def _max_tokens(folder: Path) -> int:
    path = folder / SENTENCES
    if not path.is_file():
        return _DEFAULT_TOKENS
    return int(json.loads(path.read_text(encoding="utf-8")).get("max_seq_length", _DEFAULT_TOKENS))


def _tensors(path: Path) -> dict[str, "Floats"]:
    """Return the tensors of 32-bit floats of a safetensors file, by name.

    The file begins with the length of a JSON header, which says where each tensor is.
    """
    import numpy as np

    with path.open("rb") as file:
        length = int.from_bytes(file.read(_HEADER_BYTES), "little")
        header = json.loads(file.read(length))
    header.pop("__metadata__", None)
    # Read and not mapped: tensors of a mapped file may lie where BLAS cannot take them as they are.
    data = np.fromfile(path, dtype=np.uint8, offset=_HEADER_BYTES + length)
    found: dict[str, Floats] = {}
    for name, tensor in header.items():
        if tensor["dtype"] != "F32":
            continue
        start, end = tensor["data_offsets"]
        found[name] = np.frombuffer(data[start:end], dtype=np.float32).reshape(tensor["shape"])
    return found
