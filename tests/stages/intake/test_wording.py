import pytest
from hypothesis import given
from hypothesis import strategies as st

from stages.intake.wording import shingles, words


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Book a table, please!", "book   a table\nplease"),
        ("STRASSE", "straße"),
        ("ﬁle №5", "file no5"),
        ("caf\u00e9", "cafe\u0301"),
        ("zero\u200bwidth", "zero width"),
        ("ｆｕｌｌ ｗｉｄｔｈ", "full width"),
    ],
)
def test_case_punctuation_spacing_and_forms_do_not_matter(one, other):
    assert words(one) == words(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("pay $ 5", "pay € 5"),
        ("resume", "résumé"),
        ("कि", "की"),
        ("book two tables", "book three tables"),
    ],
)
def test_other_words_stay_other_words(one, other):
    assert words(one) != words(other)


def test_scripts_without_spaces_are_compared_by_character():
    assert words("東京へ行く") == ["東", "京", "へ", "行", "く"]


def test_shingles_are_the_words_and_their_pairs():
    assert shingles(["a", "b", "c"]) == [b"a", b"b", b"c", b"a b", b"b c"]
    assert shingles(["alone"]) == [b"alone"]


@given(st.text())
def test_normalising_twice_changes_nothing(text):
    assert words(" ".join(words(text))) == words(text)


@given(st.text(st.characters(codec="ascii")))
def test_shouting_says_the_same(text):
    assert words(text.upper()) == words(text.lower())
