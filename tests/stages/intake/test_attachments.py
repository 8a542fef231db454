import os
from hashlib import sha256

import pytest

from stages.intake import attachments
from stages.intake.attachments import AttachmentFolder
from stages.intake.readers.raw import Fault
from taskdata.errors import BadTaskData


@pytest.fixture
def reads(folder):
    (folder / "data").mkdir()
    (folder / "data" / "ages.csv").write_text("age\n41\n")
    (folder.parent / "secret.txt").write_text("secret")
    return AttachmentFolder(folder).read


def refusal(found):
    assert isinstance(found, Fault), found
    assert found.field == "attachments"
    return found.reason


def test_a_plain_file_becomes_an_input_file(reads):
    (found,) = reads(["./data//ages.csv"])
    assert found.path == "data/ages.csv"
    assert found.sha256 == sha256(b"age\n41\n").hexdigest()
    assert found.size_bytes == 7


@pytest.mark.parametrize(
    "path", ["../secret.txt", "data/../../secret.txt", "/etc/passwd", "..", ".", "a\\b"]
)
def test_a_path_that_leads_out_is_refused(reads, path):
    assert "stays inside the seed file's folder" in refusal(reads([path]))


@pytest.mark.parametrize("path", ["none.csv", "data/none.csv", "none/ages.csv"])
def test_a_missing_file_is_refused(reads, path):
    assert "is not there" in refusal(reads([path]))


def test_a_symbolic_link_anywhere_on_the_path_is_refused(reads, folder):
    (folder / "link.txt").symlink_to(folder.parent / "secret.txt")
    (folder / "up").symlink_to(folder.parent)
    (folder / "data" / "inside.csv").symlink_to(folder / "data" / "ages.csv")
    for path in ("link.txt", "up/secret.txt", "data/inside.csv"):
        assert "symbolic link" in refusal(reads([path]))


def test_what_is_no_regular_file_is_refused(reads, folder):
    os.mkfifo(folder / "pipe")
    assert "no regular file" in refusal(reads(["pipe"]))
    assert "no regular file" in refusal(reads(["data"]))
    assert "file used as folder" in refusal(reads(["data/ages.csv/x"]))


@pytest.mark.parametrize("path", ["bell\a.csv", "nul\0.csv", "back\u202ewards.csv"])
def test_a_name_that_cannot_be_seen_is_refused(reads, path):
    assert "cannot be seen" in refusal(reads([path]))


def test_a_name_that_is_too_long_is_refused(reads, folder):
    assert "cannot be read" in refusal(reads(["x" * 300]))


def test_names_of_one_row_are_distinct(reads, folder):
    (folder / "data" / "AGES.csv").write_text("other")
    for pair in (["data/ages.csv", "./data/ages.csv"], ["data/ages.csv", "data/AGES.csv"]):
        assert "is named like 'data/ages.csv'" in refusal(reads(pair))


def test_size_and_number_are_bounded(reads, folder, monkeypatch):
    monkeypatch.setattr(attachments, "MAX_FILE_BYTES", 1 << 20)
    monkeypatch.setattr(attachments, "MAX_ROW_BYTES", 2 << 20)
    for name, size in (("a", 1 << 20), ("b", 1 << 20), ("c", 1), ("large", (1 << 20) + 1)):
        (folder / name).write_bytes(bytes(size))
    assert len(reads(["a", "b"])) == 2
    assert "makes the row larger than 2 MiB" in refusal(reads(["a", "b", "c"]))
    assert "'large' is larger than 1 MiB" in refusal(reads(["large"]))
    assert "names 21 files" in refusal(reads(["a"] * 21))


def test_a_bomb_is_refused_whatever_it_is_called(reads, folder, new_zip):
    (folder / "notes.docx").write_bytes(new_zip(zeros=bytes(60 << 20)))
    (folder / "notes.txt").write_bytes(new_zip(zeros=bytes(60 << 20)))
    for name in ("notes.docx", "notes.txt"):
        assert f"{name!r} is a ZIP archive that unpacks" in refusal(reads([name]))


def test_a_file_that_changes_between_reading_and_storing_is_not_stored(reads, folder, store):
    found = reads(["data/ages.csv"])
    (folder / "data" / "ages.csv").write_text("age\n42\n")
    with pytest.raises(BadTaskData, match=r"ages\.csv changed while it was read"):
        AttachmentFolder(folder).put(found, store.artifacts)
    assert found[0].sha256 not in store.artifacts
