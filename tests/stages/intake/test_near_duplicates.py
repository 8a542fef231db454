"""Precision and recall of links on the labelled pairs; thresholds come from the other part."""

from collections import Counter
from functools import cache

import pytest

from quality.encoders.choosing import find_encoder, is_installed
from quality.encoders.packaged import MINILM, UNIVERSAL
from quality.encoders.paired import PairedEncoder
from stages.intake.duplicates import DuplicateIndex
from tests.stages.intake.labelled import labelled_pairs

PAIRS = labelled_pairs()
HELD_OUT = [pair for pair in PAIRS if not pair.calibrates]
ENGLISH = [pair for pair in HELD_OUT if pair.language is None]
ACROSS = [pair for pair in HELD_OUT if pair.language is not None]


class Remembering:
    """Encodes every text of the pairs once, in batches."""

    def __init__(self, encoder):
        self.name = encoder.name
        texts = list(dict.fromkeys(t for pair in HELD_OUT for t in (pair.request, pair.text)))
        self._vectors = dict(zip(texts, encoder.encode(texts), strict=True))

    def encode(self, texts):
        import numpy as np

        return np.stack([self._vectors[text] for text in texts])


def linked(pair, encoder=None):
    index = DuplicateIndex(encoder)
    index.learn("task", [("request", pair.request)])
    return index.links([("text", pair.text)])


def precision_and_recall(pairs, encoder=None):
    found = [pair.same for pair in pairs if linked(pair, encoder)]
    return sum(found) / len(found), sum(found) / sum(pair.same for pair in pairs)


@pytest.fixture(scope="module")
def encoder_named(tmp_path_factory):
    @cache
    def found(name):
        return Remembering(find_encoder(name, tmp_path_factory.mktemp("home")))

    def encoder(name):
        if not is_installed(name):
            pytest.skip(f"{name} is not installed")
        return found(name)

    return encoder


def test_the_labelled_set_is_balanced_and_parts_share_no_request():
    assert Counter((pair.same, pair.calibrates) for pair in PAIRS) == {
        (True, True): 60,
        (False, True): 60,
        (True, False): 40,
        (False, False): 40,
    }
    kept = {pair.request for pair in HELD_OUT}
    assert not kept & {pair.request for pair in PAIRS if pair.calibrates}
    assert len({pair.language for pair in PAIRS if pair.language and pair.same}) == 9


def test_without_an_encoder_only_light_edits_are_linked():
    found = [(pair, link) for pair in PAIRS for link in linked(pair)]
    assert {link.method for _pair, link in found} == {"minhash"}
    assert sum(not pair.same for pair, _link in found) <= 1


def test_the_multilingual_encoder_finds_paraphrases_in_any_language(encoder_named):
    encoder = encoder_named(UNIVERSAL)
    precision, recall = precision_and_recall(HELD_OUT, encoder)
    assert precision >= 0.95
    assert recall >= 0.8
    precision, recall = precision_and_recall(ACROSS, encoder)
    assert precision >= 0.95
    assert recall >= 0.8


def test_the_light_encoder_finds_english_paraphrases(encoder_named):
    precision, recall = precision_and_recall(ENGLISH, encoder_named(MINILM))
    assert precision >= 0.95
    assert recall >= 0.8


def test_both_encoders_together_find_english_paraphrases_and_those_across_languages(encoder_named):
    both = PairedEncoder(encoder_named(UNIVERSAL), encoder_named(MINILM))
    for pairs in (HELD_OUT, ENGLISH, ACROSS):
        precision, recall = precision_and_recall(pairs, both)
        assert precision >= 0.95
        assert recall >= 0.8
