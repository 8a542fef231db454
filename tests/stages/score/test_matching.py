import datetime

import pytest

from stages.score.matching import (
    contains_phrase,
    contains_whole,
    fold,
    key_of,
    quote,
    same,
    same_cell,
)
from taskdata.schema.views import Cell


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (5.0, 5),
        ("5", 5),
        ("1,234.50", 1234.5),
        ("12 %", 0.12),
        ("12 %", 12),
        ("  North  Region ", "north region"),
        ("it\u2019s \u2013 fine", "it's - fine"),
        (5.0, "5"),
        (3.5, "3.50"),
        ("2026-03-31T00:00:00", "2026-03-31"),
        (True, True),
        ("TRUE", True),
        (None, None),
        ("", None),
    ],
)
def test_equal_values(found, expected):
    assert same(found, expected)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (5.1, 5),
        ("five", 5),
        (None, 0),
        (True, 1),
        (1.0, True),
        ("North", "South"),
        (0.0, None),
        ("7", "007"),
        (10**300, 5),
        ("inf", 5),
    ],
)
def test_different_values(found, expected):
    assert not same(found, expected)


def test_a_percentage_by_number_format_is_read_either_way():
    cell = Cell(value=0.12, number_format="0.0%")
    assert same_cell(cell, 12)
    assert same_cell(cell, 0.12)
    assert not same_cell(Cell(value=0.12), 12)


@pytest.mark.parametrize(
    ("text", "alias", "found"),
    [
        ("the total is $4 now", "$4", True),
        ("the total is $40 now", "$4", False),
        ("c# and c++", "c++", True),
        ("northern", "north", False),
        ("a north wind", "north", True),
    ],
)
def test_whole_words(text, alias, found):
    assert contains_whole(text, alias) is found


@pytest.mark.parametrize(
    ("text", "alias", "found"),
    [
        ("three suppliers", "supplier", True),
        ("on monday", "day", False),
        ("page 120", "12", False),
        ("12.5 percent", "12", False),
        ("exactly 12.", "12", True),
        ("1,234", "234", False),
        ("€35 a box", "€35", True),
        ("€350 a box", "€35", False),
    ],
)
def test_phrases_from_the_start_of_a_word(text, alias, found):
    assert contains_phrase(text, alias) is found


def test_keys_of_a_number_and_of_the_text_that_writes_it_are_equal():
    assert key_of(7.0) == key_of("7") == key_of(" 7.0 ")
    assert key_of("007") != key_of("7")
    assert key_of("North ") == key_of("north")


def test_what_an_agent_wrote_is_quoted_short_and_harmless():
    assert quote("a\0b\n\x1b[31m" + "x" * 500) == "a b [31m" + "x" * 69 + "..."
    assert quote(None) == "nothing"
    assert quote(1234.50) == "1234.5"
    assert fold("Stra\u00dfe\u00ad\u200b") == "strasse"
    assert quote(datetime.date(2026, 1, 2)) == "2026-01-02"
