"""MPNet's forward pass and how its files are found, on a tiny model made here."""

import json

import numpy as np
import pytest
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

from quality.encoders import packaged
from quality.encoders.choosing import encoder_in, find_encoder
from quality.encoders.mpnet import MpnetEncoder
from taskdata.errors import Misuse

pytest.importorskip("threadpoolctl")
WIDTH, HEADS, BUCKETS, WORDS = 8, 2, 8, 6


def tensors() -> dict[str, np.ndarray]:
    generator = np.random.default_rng(7)

    def some(*shape: int) -> np.ndarray:
        return generator.normal(size=shape).astype(np.float32)

    found = {
        "embeddings.word_embeddings.weight": some(WORDS, WIDTH),
        "embeddings.position_embeddings.weight": some(16, WIDTH),
        "encoder.relative_attention_bias.weight": some(BUCKETS, HEADS),
    }
    layer = "encoder.layer.0"
    shapes = {f"{layer}.attention.attn.{part}": (WIDTH, WIDTH) for part in "qkvo"}
    shapes |= {f"{layer}.intermediate.dense": (16, WIDTH), f"{layer}.output.dense": (WIDTH, 16)}
    for name, shape in shapes.items():
        found |= {f"{name}.weight": some(*shape), f"{name}.bias": some(shape[0])}
    for name in ("embeddings", f"{layer}.attention", f"{layer}.output"):
        found |= {f"{name}.LayerNorm.weight": some(WIDTH), f"{name}.LayerNorm.bias": some(WIDTH)}
    return found


def write_tensors(path, found: dict[str, np.ndarray]) -> None:
    header, data = {}, b""
    for name, tensor in found.items():
        whole = tensor.tobytes()
        place = [len(data), len(data) + len(whole)]
        header[name] = {"dtype": "F32", "shape": tensor.shape, "data_offsets": place}
        data += whole
    text = json.dumps(header | {"__metadata__": {"format": "pt"}}).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)


@pytest.fixture
def folder(tmp_path):
    words = {"[UNK]": 0, "cats": 1, "sleep": 2, "dogs": 3, "run": 4, "far": 5}
    tokenizer = Tokenizer(WordLevel(words, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    write_tensors(tmp_path / "model.safetensors", tensors())
    config = {"model_type": "mpnet", "num_hidden_layers": 1, "num_attention_heads": HEADS}
    (tmp_path / "config.json").write_text(json.dumps(config | {"layer_norm_eps": 1e-5}))
    (tmp_path / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 3}))
    return tmp_path


def test_a_row_has_length_one_and_depends_on_the_order_of_words(folder):
    encoder = MpnetEncoder(folder, "tiny")
    vectors = encoder.encode(["cats sleep", "sleep cats", "dogs run"])
    assert vectors.shape == (3, WIDTH)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    assert not np.allclose(vectors[0], vectors[1], atol=1e-3)
    assert encoder.encode([]).shape[0] == 0


def test_words_beyond_the_length_that_the_model_was_trained_on_are_left_out(folder):
    encoder = MpnetEncoder(folder, "tiny")
    long, cut = encoder.encode(["cats sleep far dogs run", "cats sleep far"])
    assert np.array_equal(long, cut)


def test_it_computes_what_its_layers_say(folder):
    """One token: attention is on itself, so the pass can be written out."""
    w, row = tensors(), 3

    def normal(x, name):
        scaled = (x - x.mean()) / np.sqrt(x.var() + 1e-5)
        return scaled * w[f"{name}.LayerNorm.weight"] + w[f"{name}.LayerNorm.bias"]

    def linear(x, name):
        return w[f"{name}.weight"] @ x + w[f"{name}.bias"]

    from math import erf

    layer = "encoder.layer.0"
    x = w["embeddings.word_embeddings.weight"][row] + w["embeddings.position_embeddings.weight"][2]
    x = normal(x, "embeddings")
    attended = linear(linear(x, f"{layer}.attention.attn.v"), f"{layer}.attention.attn.o")
    x = normal(x + attended, f"{layer}.attention")
    inner = linear(x, f"{layer}.intermediate.dense")
    inner = np.array([v * 0.5 * (1 + erf(v / 2**0.5)) for v in inner])
    x = normal(x + linear(inner, f"{layer}.output.dense"), f"{layer}.output")
    (found,) = MpnetEncoder(folder, "tiny").encode(["dogs"])
    assert np.allclose(found, x / np.linalg.norm(x), atol=1e-5)


def test_a_folder_is_an_encoder_with_its_own_name(folder):
    assert find_encoder(str(folder), folder).name == folder.name


def test_another_kind_of_model_is_refused(folder):
    (folder / "config.json").write_text(json.dumps({"model_type": "bert"}))
    with pytest.raises(Misuse, match="model_type 'bert'"):
        encoder_in(folder, "mine")


def test_a_folder_without_a_model_is_refused(tmp_path):
    with pytest.raises(Misuse, match="cannot be loaded"):
        encoder_in(tmp_path, "mine")


def test_an_unknown_name_says_what_there_is(tmp_path):
    with pytest.raises(Misuse, match="all-mpnet-base-v2, all-MiniLM-L6-v2-int8"):
        find_encoder("mpnet-2", tmp_path)


def test_without_its_packages_the_message_says_how_to_get_them(tmp_path, monkeypatch):
    monkeypatch.setattr(packaged, "_MPNET_PARTS", (("no-such-package-of-ours", "part.zip"),))
    with pytest.raises(Misuse, match=r"not installed; run `make setup-all`"):
        find_encoder("all-mpnet-base-v2", tmp_path)


def test_an_unpacked_file_that_was_changed_is_refused(tmp_path, monkeypatch):
    """What is below the home is checked each time, not only when it was unpacked."""
    monkeypatch.setattr(packaged, "_MPNET_PARTS", ())
    folder = tmp_path / "models" / "all-mpnet-base-v2-78c0197b6159"
    folder.mkdir(parents=True)
    (folder / "model.safetensors").write_bytes(b"other weights")
    with pytest.raises(Misuse, match="not the file of all-mpnet-base-v2"):
        find_encoder("all-mpnet-base-v2", tmp_path)
