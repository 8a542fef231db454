import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from environments.search.cleaning import MAX_SNIPPET_CHARS, MAX_TITLE_CHARS, clean_hit

URL = "https://example.com/a"


def test_markup_and_unseen_characters_are_taken_out():
    hit = clean_hit("<b>CN&nbsp;Tower</b>\n", URL, "553\u202e m &lt;tall&gt;\x00\ud800")
    assert (hit.title, hit.snippet) == ("CN Tower", "553 m �?")


@pytest.mark.parametrize(
    "url", ["", "javascript:alert(1)", "ftp://x/y", None, 7, "https://" + "a" * 600]
)
def test_what_has_no_web_address_is_left_out(url):
    assert clean_hit("Title", url, "text") is None


def test_what_has_no_title_is_left_out():
    assert clean_hit("  ", URL, "text") is None
    assert clean_hit({"a": 1}, URL, "text") is None


@given(st.text(max_size=300), st.text(max_size=5000))
def test_lines_are_bounded_printable_and_storable(title, snippet):
    hit = clean_hit(title, URL, snippet * 3)
    if hit is not None:
        assert len(hit.title) <= MAX_TITLE_CHARS
        assert len(hit.snippet) <= MAX_SNIPPET_CHARS
        assert hit.title.isprintable()
        assert hit.snippet.isprintable()
        json.dumps([hit.title, hit.snippet], ensure_ascii=False).encode()
