"""No path leads out of the folder of an import, and no file unpacks to more than can be borne."""

import gzip
import struct
import zipfile

import pytest

from taskdata.formats import files


@pytest.fixture
def folder(workflow_folder, item):
    """The folder of the import, to put files into."""
    return workflow_folder(item())


@pytest.fixture
def refused(read, workflow_folder, item):
    """Import an item that names a path, and return why it was not let through."""

    def name(path):
        folder = workflow_folder(item(files=[{"type": "file", "path": path}]))
        result = read("gta-workflow", folder)
        assert result.tasks == []
        (row,) = result.refused
        assert (row.origin, row.row, row.field) == ("end.json", 1, "files.0.path")
        assert path in row.excerpt
        return row.reason

    return name


@pytest.mark.parametrize("path", ["../secret.txt", "/etc/passwd", "a/../../b", "a\\b"])
def test_a_path_that_leads_out_is_refused(refused, path):
    assert "stays inside" in refused(path)


def test_links_are_refused_wherever_they_stand_on_the_way(refused, folder, tmp_path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.txt").write_text("secret")
    (folder / "linked").symlink_to(tmp_path / "outside")
    (folder / "link.txt").symlink_to(tmp_path / "outside" / "secret.txt")
    assert "link" in refused("link.txt")
    assert "link" in refused("linked/secret.txt")


def test_folders_and_absent_files_are_refused(refused, folder):
    (folder / "sub").mkdir()
    assert "plain file" in refused("sub")
    assert "not there" in refused("none.txt")


def test_an_archive_that_unpacks_to_far_more_is_refused(refused, folder):
    with zipfile.ZipFile(folder / "bomb.docx", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", b"\0" * (64 << 20))
    assert "unpacks to" in refused("bomb.docx")


def test_a_bomb_whose_directory_lies_or_that_lies_inside_another_is_refused(
    refused, folder, new_zip
):
    bomb = bytearray(new_zip(zeros=bytes(64 << 20)))
    (folder / "nested.zip").write_bytes(new_zip(bomb=bytes(bomb)))
    struct.pack_into("<L", bomb, bomb.index(b"PK\x01\x02") + 24, 10)
    (folder / "forged.xlsx").write_bytes(bomb)
    (folder / "prefixed.bin").write_bytes(b"no archive at first sight" + bomb)
    for name in ("nested.zip", "forged.xlsx", "prefixed.bin"):
        assert "ZIP archive that" in refused(name)


def test_a_gzip_that_unpacks_to_far_more_is_refused(refused, folder):
    (folder / "bomb.dat").write_bytes(gzip.compress(b"\0" * (64 << 20)))
    assert "unpacks to" in refused("bomb.dat")


def test_a_file_beyond_the_limit_is_refused_unread(refused, folder, monkeypatch):
    monkeypatch.setattr(files, "MAX_FILE_BYTES", 10)
    (folder / "large.bin").write_bytes(b"x" * 11)
    assert "larger than" in refused("large.bin")


def test_an_ordinary_archive_is_let_through(read, folder, workflow_folder, item):
    with zipfile.ZipFile(folder / "notes.docx", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", b"<a/>" * 1_000)
    (folder / "broken.zip").write_bytes(b"PK\x03\x04 no archive after all")
    named = [{"path": "notes.docx"}, {"path": "broken.zip"}]
    (task,) = read("gta-workflow", workflow_folder(item(files=named))).tasks
    assert [f.path for f in task.files] == ["notes.docx", "broken.zip"]
