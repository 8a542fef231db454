"""What a Dockerfile says without being built."""

import pytest

from taskdata.formats.harbor.dockerfile import Copied, read_dockerfile


@pytest.mark.parametrize(
    ("text", "workdir", "copied"),
    [
        ("FROM a:1\nWORKDIR /app\n", "/app", ()),
        ("from a\nworkdir /srv\nworkdir data\n", "/srv/data", ()),
        ("FROM a\nWORKDIR /app\nCOPY b.txt .", "/app", (Copied(("b.txt",), "/app/"),)),
        ("FROM a\nWORKDIR /app\nCOPY b.txt c.txt", "/app", (Copied(("b.txt",), "/app/c.txt"),)),
        (
            'FROM a\nWORKDIR /app\n# why\nCOPY --chown=1:1 ["b c", \\\n "d", "in/"]\nUSER me',
            "/app",
            (Copied(("b c", "d"), "/app/in/"),),
        ),
        ("FROM a\nCOPY b /app/\nWORKDIR /app", "/app", (Copied(("b",), "/app/"),)),
    ],
)
def test_what_only_copies_needs_no_build(text, workdir, copied):
    said = read_dockerfile(text)
    assert (said.needs_build, said.workdir, said.copied) == (False, workdir, copied)


@pytest.mark.parametrize(
    "text",
    [
        "FROM a\nRUN true",
        "FROM a\nENV A=1",
        "FROM a AS b\nFROM c\nCOPY --from=b /x /app/x",
        "ARG A=1\nFROM b:$A",
        "FROM scratch",
        "FROM a\nWORKDIR /app\nCOPY *.txt .",
        "FROM a\nWORKDIR /app\nCOPY b /etc/b",
        "FROM a\nWORKDIR /app\nCOPY ../b .",
        "FROM a\nWORKDIR /app\nADD https://example.org/b .",
        "FROM a\nWORKDIR /app\nCOPY <<EOF b\nEOF",
        "FROM a\nCOPY b c",
        "WORKDIR /app",
        "",
        "\0",
    ],
)
def test_anything_else_is_left_to_a_build(text):
    assert read_dockerfile(text).needs_build
