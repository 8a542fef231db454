"""Patterns of strangers over texts of strangers."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from environments.tools.session.patterns import MAX_MATCHES, matches


def test_matches_are_found_where_they_are():
    text = "Größe 12\nneedle 3\nNEEDLE 45\n"
    assert [text[a:b] for a, b in matches(r"^needle \d+$", text)] == ["needle 3", "NEEDLE 45"]
    assert matches("ß", text) == [(3, 4)]
    assert [a for a, _ in matches("needle", text, start=10)] == [18]


@pytest.mark.parametrize(
    ("pattern", "found"),
    [(r"(a+)+$", 1), (r"(a|a)*b", 0), (r"(.*)(.*)(.*)(.*)c", 0), (r"(a{1,500}){2}d", 0)],
)
def test_no_pattern_takes_long(pattern, found):
    began = time.monotonic()
    assert len(matches(pattern, "a" * 200_000)) == found
    assert time.monotonic() - began < 20


def test_matches_are_counted_up_to_a_number():
    assert len(matches("x", "x" * (MAX_MATCHES + 50))) == MAX_MATCHES


@given(st.text(), st.text(min_size=1, max_size=3))
def test_plain_words_are_found_as_anybody_would(text, words):
    plain = words.translate({1: "a", 2: "a"})
    # Elsewhere the two differ in what letters are the same but for their case.
    if not (plain + text).isascii():
        return
    expected = [m.span() for m in re.finditer(re.escape(plain), text, re.IGNORECASE)]
    assert matches(re.escape(plain), text) == expected[:MAX_MATCHES]


def test_half_surrogates_harm_nobody():
    assert matches("x", "\ud800x") == [(1, 2)]
