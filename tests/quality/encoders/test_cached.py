"""Vectors that are kept: a text is encoded once, and the model is loaded when one is new."""

import numpy as np
import pytest

from quality.encoders.cached import CachedEncoder
from taskdata.errors import StoreUnavailable


class Letters:
    """Encodes the first letter, and keeps what it was asked for."""

    name = "letters"

    def __init__(self):
        self.asked = []

    def encode(self, texts):
        self.asked.append(list(texts))
        return np.array([[ord(text[0]), 1.0] for text in texts], dtype=np.float32)


def test_only_new_texts_are_encoded_and_rows_are_in_order(tmp_path):
    model = Letters()
    first = CachedEncoder("letters", lambda: model, tmp_path / "vectors")
    assert first.encode(["a", "b", "a"]).tolist() == [[97, 1], [98, 1], [97, 1]]

    second = CachedEncoder("letters", lambda: model, tmp_path / "vectors")
    assert second.encode(["c", "b"]).tolist() == [[99, 1], [98, 1]]
    assert model.asked == [["a", "b"], ["c"]]


def test_a_model_whose_vectors_are_all_known_is_not_loaded(tmp_path):
    CachedEncoder("letters", Letters, tmp_path).encode(["a"])

    def load():
        raise AssertionError("loaded")

    assert CachedEncoder("letters", load, tmp_path).encode(["a"]).shape == (1, 2)


def test_no_text_is_in_the_file(tmp_path):
    CachedEncoder("letters", Letters, tmp_path).encode(["a secret sentence"])

    assert b"secret" not in (tmp_path / "letters.sqlite").read_bytes()


def test_a_file_that_is_no_database_is_named(tmp_path):
    (tmp_path / "letters.sqlite").write_text("no database" * 100)

    with pytest.raises(StoreUnavailable, match=r"letters\.sqlite"):
        CachedEncoder("letters", Letters, tmp_path).encode(["a"])
