import pytest

from environments.renderers.limits import Unreadable
from environments.renderers.text import read_csv, read_json, read_text


@pytest.fixture
def file(tmp_path):
    def write(content: bytes | str):
        path = tmp_path / "file"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


@pytest.mark.parametrize(
    ("content", "delimiter"),
    [
        ("a,b\n1,2\n", ","),
        ("a;b\n1,5;2,5\n", ";"),
        ("a\tb\n1\t2\n", "\t"),
        ('a,b\n"x;y;z",2\n', ","),
        ("single\n1\n", ","),
    ],
)
def test_the_delimiter_is_found(file, content, delimiter):
    assert read_csv(file(content)).delimiter == delimiter


def test_csv_cells_are_text_also_when_they_look_like_formulas(file):
    rows = read_csv(file("\ufeffname,link\r\nx,=HYPERLINK(1)\r\n\r\n")).table.rows
    assert rows == (("name", "link"), ("x", "=HYPERLINK(1)"))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"\xff\xd8\xff\xe0 a picture", "not UTF-8"),
        (b"a\0b", "NUL"),
        ("x" * 1_000_001, "characters"),
    ],
)
def test_what_is_not_bearable_text_is_unreadable(file, content, reason):
    with pytest.raises(Unreadable, match=reason):
        read_text(file(content))


def test_a_csv_with_too_many_cells_is_unreadable(file):
    with pytest.raises(Unreadable, match="cells"):
        read_csv(file("a,b\n" + "1,2\n" * 100_000))


def test_json_keeps_its_values(file):
    value = {"a": [1, 2.5, None, True, "x"], "big": 2**70}
    assert (
        read_json(file('{"a": [1, 2.5, null, true, "x"], "big": 1180591620717411303424}')).value
        == value
    )


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ('{"a": NaN}', "NaN"),
        ('{"a": -Infinity}', "Infinity"),
        ('{"a": 1e999}', "out of range"),
        ('{"a": ' + "9" * 400 + "}", "out of range"),
        ("9" * 10_000, "out of range"),
        ("[" * 100 + "]" * 100, "levels deep"),
        ("[" * 500_000, "levels deep"),
        ("[" + "0," * 300_000 + "0]", "values"),
        ("{'a': 1}", "not valid JSON"),
        ("", "not valid JSON"),
    ],
)
def test_json_that_is_none_or_is_a_trap_is_unreadable(file, content, reason):
    with pytest.raises(Unreadable, match=reason):
        read_json(file(content))
