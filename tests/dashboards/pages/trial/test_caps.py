from itertools import pairwise

import pytest

from dashboards.pages.trial.caps import CAPS, shown, shown_json


@pytest.mark.parametrize(
    ("text", "limit", "result"),
    [
        ("short", 5, "short"),
        ("longer", 5, ["longe", 1]),
        ("x" * 1_000_000, 10, ["x" * 10, 999_990]),
        ("a\u202eb", 3, "a⟨U+202E⟩b"),
        ("", 5, ""),
    ],
)
def test_a_text_says_how_much_of_it_is_left_out(text, limit, result):
    assert shown(text, limit) == result


def test_json_is_shown_indented():
    assert shown_json({"a": ["é"]}, 100) == '{\n  "a": [\n    "é"\n  ]\n}'


def test_every_cap_is_tighter_than_the_one_before():
    for wider, tighter in pairwise(CAPS):
        assert all(b < a for a, b in zip(wider, tighter, strict=True))
