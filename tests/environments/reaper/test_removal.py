"""Whatever an agent leaves in its workspace goes, and nothing beside it."""

import os
from pathlib import Path

import pytest

from environments.reaper.removal import remove_tree


def nested(folder: Path, levels: int) -> None:
    """Nest folders deeper than a path may be long."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    for _ in range(levels):
        os.mkdir("d", dir_fd=descriptor)
        below = os.open("d", os.O_RDONLY | os.O_DIRECTORY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = below
    os.close(descriptor)


@pytest.mark.parametrize("levels", [0, 3, 9, 3_000])
def test_folders_go_however_deep_they_are(tmp_path: Path, levels):
    root = tmp_path / "workspace"
    root.mkdir()
    (root / "file.txt").write_text("x")
    nested(root, levels)

    assert remove_tree(root)

    assert not root.exists()


def test_many_files_go(tmp_path: Path):
    root = tmp_path / "workspace"
    root.mkdir()
    for number in range(500):
        (root / f"{number}.txt").write_text("x")

    assert remove_tree(root)

    assert not root.exists()


def test_what_a_link_points_at_stays(tmp_path: Path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept.txt").write_text("x")
    root = tmp_path / "workspace"
    root.mkdir()
    (root / "folder").symlink_to(outside)
    (root / "file").symlink_to(outside / "kept.txt")

    assert remove_tree(root)

    assert not root.exists()
    assert (outside / "kept.txt").read_text() == "x"


def test_what_is_gone_already_is_gone(tmp_path: Path):
    assert remove_tree(tmp_path / "never")
