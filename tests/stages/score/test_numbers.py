import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stages.score.numbers import close, numbers_in, read_number


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1234.5", 1234.5),
        ("1,234.50", 1234.5),
        ("1.234,50", 1234.5),
        ("1 234,5", 1234.5),
        ("1\u202f234", 1234),
        ("1'234.50", 1234.5),
        ("1,234", 1234),
        ("1,234,567", 1234567),
        ("1.234.567", 1234567),
        ("1,23", 1.23),
        ("1.234", 1.234),
        ("12 %", 12),
        ("€ 5", 5),
        ("-€5.00", -5),
        ("5.00 EUR", 5),
        ("$1,000", 1000),
        ("(1,234.5)", -1234.5),
        ("\u22127", -7),
        ("+3", 3),
        ("1e3", 1000),
        (".5", 0.5),
        (" 42 ", 42),
    ],
)
def test_numbers_as_people_write_them(text, number):
    assert read_number(text) == number


@pytest.mark.parametrize(
    "text",
    [
        "",
        "abc",
        "12 apples",
        "1-2",
        "2026-03-31",
        "12:30",
        "nan",
        "inf",
        "1e999",
        "٣",
        "(5",
        "9" * 99,
    ],
)
def test_what_is_not_just_a_number(text):
    assert read_number(text) is None


@given(st.text(max_size=80))
def test_reading_never_fails_and_never_gives_infinity(text):
    number = read_number(text)
    assert number is None or math.isfinite(number)
    assert all(math.isfinite(v) for values in numbers_in(text) for v in values)


@given(st.floats(min_value=-1e12, max_value=1e12))
def test_a_number_written_with_separators_reads_back(value):
    assert close(read_number(f"{value:,.6f}"), value, 1e-6)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("The total is 1,234.50 EUR.", 1234.5),
        ("It fell by -3.5 points", -3.5),
        ("about €1.2 million", 1_200_000),
        ("a share of 12 %", 0.12),
        ("a share of 12%", 12),
        ("1 234 567 rows", 1_234_567),
        ("from 10-20 people", 20),
        ("in total 42.", 42),
    ],
)
def test_a_number_stated_in_a_sentence(text, number):
    assert any(close(value, number, 0) for values in numbers_in(text) for value in values)


@pytest.mark.parametrize("text", ["no numbers", "version v2x", "abc123"])
def test_what_states_no_number(text):
    assert list(numbers_in(text)) == []


def test_equal_up_to_binary_rounding_and_no_further():
    assert close(0.1 + 0.2, 0.3, 0)
    assert not close(0.31, 0.3, 0)
    assert close(10.01, 10, 0.01)
    assert not close(float("nan"), 1, 100)
