"""The estimate of tokens: generous with everything, and exact about what it cuts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stages.score.judging.tokens import MOST_BYTES_PER_TOKEN, beginning, tokens_of


@pytest.mark.parametrize(
    ("text", "least"),
    [
        ("The quick brown fox jumps over the lazy dog.", 10),
        ("1234567890", 4),
        ("Überraschung für Gäste", 6),
        ("春のうららの隅田川", 9),
        ("🎉🎊", 4),
        ("{[(<>)]}", 4),
        ("a\n\n\nb", 4),
        ("x" * 40, 20),
        (" " * 800, 100),
    ],
)
def test_no_tokenizer_in_use_needs_more(text, least):
    assert tokens_of(text) >= least


@given(st.text(), st.integers(0, 30))
def test_what_is_cut_fits_and_is_a_beginning(text, most):
    kept = beginning(text, most)
    assert text.startswith(kept)
    assert tokens_of(kept) <= most
    if tokens_of(text) <= most:
        assert kept == text


def test_long_texts_are_cut_close_to_the_limit():
    text = "several words of a text, 12.5 of them. " * 4_000
    kept = beginning(text, 10_000)
    assert 9_990 <= tokens_of(kept) <= 10_000


@given(st.text(st.characters(exclude_characters=" ")))
def test_no_text_has_more_bytes_for_a_token(text):
    assert len(text.encode("utf-8", "replace")) <= MOST_BYTES_PER_TOKEN * tokens_of(text)


@given(st.text(max_size=60), st.integers(0, 20))
def test_counting_that_stops_early_still_says_whether_it_is_too_much(text, most):
    assert (tokens_of(text * 40, most) > most) == (tokens_of(text * 40) > most)
