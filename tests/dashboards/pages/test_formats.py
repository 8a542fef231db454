import pytest

from dashboards.pages import formats


@pytest.mark.parametrize(
    ("write", "value", "text"),
    [
        (formats.bank, "/tmp/tried-out/office", "office"),
        (formats.bank, "banks/office/", "office"),
        (formats.bank, "office@2", "office@2"),
        (formats.banks, ("/tmp/office", "office@2"), ["office", "office@2"]),
        (formats.banks, ("/a/office", "/b/office"), ("/a/office", "/b/office")),
        (formats.share, 1.0, "100 %"),
        (formats.share, 0.998, "99.8 %"),
        (formats.share, 0.004, "0.4 %"),
        (formats.share, None, "–"),
        (formats.money, 0.0, "$0.00"),
        (formats.money, 0.0123, "$0.0123"),
        (formats.money, 1234.5, "$1,234.50"),
        (formats.money, None, "unknown"),
        (formats.duration, 59.94, "59.9 s"),
        (formats.duration, 61, "1 min 01 s"),
        (formats.duration, 7260, "2 h 01 min"),
        (formats.gain, -0.5, "−0.50"),
        (formats.gain, 0.001, "0.00"),
        (formats.relative, 1234.5, "+1,234 %"),
        (formats.relative, -12, "−12 %"),
        (formats.relative, -0.2, "0 %"),
        (formats.relative, None, "–"),
        (formats.probability, 0.0004, "< 0.001"),
        (formats.size, 999, "999 B"),
        (formats.size, 38_100, "38.1 kB"),
        (formats.count, 2.0, "2"),
    ],
)
def test_numbers_are_written_as_exactly_as_they_are_known(write, value, text):
    assert write(value).replace("\u00a0", " ") == text


def test_a_cut_text_says_that_there_was_more():
    assert formats.cut("abc", 3) == "abc"
    assert formats.cut("abcd", 3) == "abc…"
