"""Archives are listed and never unpacked."""

import zipfile

import pytest

from environments.renderers import archive
from environments.renderers.archive import read_archive
from environments.renderers.limits import Unreadable


@pytest.fixture
def zipped(tmp_path):
    def make(**files: bytes):
        path = tmp_path / "a.zip"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
            for name, content in files.items():
                made.writestr(name.replace("__", "/"), content)
        return path

    return make


def test_the_files_of_an_archive_with_their_sizes(zipped):
    view = read_archive(zipped(src__main=b"print(1)", readme=b""))
    assert [(e.name, e.size_bytes) for e in view.entries] == [("src/main", 8), ("readme", 0)]


def test_a_bomb_is_a_line_of_the_list(zipped):
    path = zipped(bomb=b"\0" * 50_000_000)
    assert path.stat().st_size < 100_000
    assert read_archive(path).entries[0].size_bytes == 50_000_000


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 and no more", b"Rar!\x1a\x07", b"PK" * 99])
def test_what_is_no_archive_is_unreadable(tmp_path, content):
    (tmp_path / "a.zip").write_bytes(content)
    with pytest.raises(Unreadable, match="ZIP"):
        read_archive(tmp_path / "a.zip")


def test_an_archive_of_too_many_files_is_unreadable(zipped, monkeypatch):
    monkeypatch.setattr(archive, "MAX_LISTED_ENTRIES", 2)
    with pytest.raises(Unreadable, match="at most 2"):
        read_archive(zipped(a=b"", b=b"", c=b""))


def test_names_of_too_many_characters_are_unreadable(zipped, monkeypatch):
    monkeypatch.setattr("environments.renderers.limits.MAX_TEXT_CHARACTERS", 100)
    with pytest.raises(Unreadable, match="characters"):
        read_archive(zipped(**{"x" * 60: b"", "y" * 60: b""}))
