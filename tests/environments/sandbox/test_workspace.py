"""A trial's folder: filled, and removed whatever is left in it."""

import os
from pathlib import Path

import pytest

from environments.sandbox.workspace import new_workspace
from taskdata.errors import SandboxFailed


def test_holds_copies_of_the_files_and_goes_away(tmp_path: Path):
    original = tmp_path / "original.csv"
    original.write_text("a,b\n")

    with new_workspace(tmp_path / "w", {"data/x.csv": original, "y.txt": b"why"}) as workspace:
        assert (workspace.input / "data" / "x.csv").read_text() == "a,b\n"
        assert (workspace.input / "y.txt").read_bytes() == b"why"
        assert list(workspace.output.iterdir()) == []
        assert not workspace.root.stat().st_mode & 0o077

    assert list((tmp_path / "w").iterdir()) == []
    assert original.exists()


def test_a_strict_umask_does_not_lock_the_program_out(tmp_path: Path):
    before = os.umask(0o077)
    try:
        with new_workspace(tmp_path, {"a/b/c.txt": b"x"}) as workspace:
            modes = [path.stat().st_mode & 0o004 for path in workspace.input.rglob("*")]
    finally:
        os.umask(before)

    assert modes == [4, 4, 4]


@pytest.mark.parametrize("name", ["../up.txt", "/etc/cron.d/x", "a/../../b", ""])
def test_files_cannot_be_placed_elsewhere(tmp_path: Path, name: str):
    with (
        pytest.raises(SandboxFailed, match="not a relative path"),
        new_workspace(tmp_path, {name: b"x"}),
    ):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_missing_file_is_named(tmp_path: Path):
    gone = tmp_path / "gone.csv"

    with pytest.raises(SandboxFailed, match=r"x\.csv.*No such file"):
        new_workspace(tmp_path, {"x.csv": gone}).__enter__()


def test_removal_copes_with_locked_and_endless_folders(tmp_path: Path):
    with new_workspace(tmp_path, {}) as workspace:
        locked = workspace.output / "locked"
        locked.mkdir()
        (locked / "file").write_text("x")
        locked.chmod(0)
        folder = os.open(workspace.output, os.O_RDONLY)
        for _ in range(1200):
            os.mkdir("d", dir_fd=folder)
            inner = os.open("d", os.O_RDONLY, dir_fd=folder)
            os.close(folder)
            folder = inner
        os.close(folder)

    assert list(tmp_path.iterdir()) == []
