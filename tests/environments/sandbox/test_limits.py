"""Limits that are watched from outside."""

import math
import os
from pathlib import Path

import pytest

from environments.sandbox import walking
from environments.sandbox.limits import Capture, Space, used_bytes


def test_a_capture_keeps_the_beginning_and_knows_of_the_rest():
    capture = Capture(5)
    capture.feed(b"abc")
    assert not capture.overflowed
    capture.feed(b"de")
    assert not capture.overflowed

    capture.feed(b"f")

    assert capture.overflowed
    assert capture.content() == b"abcde"


def test_disk_use_is_what_is_allocated(tmp_path: Path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "full").write_bytes(os.urandom(300_000))
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(1 << 40)

    assert 300_000 <= used_bytes(tmp_path) < 400_000


def test_what_was_there_before_may_stay_but_not_grow(tmp_path: Path):
    (tmp_path / "full").write_bytes(os.urandom(300_000))
    space = Space([tmp_path], 100_000)

    assert not space.exceeded()
    (tmp_path / "more").write_bytes(os.urandom(100_000))
    assert space.exceeded()


def test_all_folders_that_a_program_fills_count_together(tmp_path: Path):
    folders = [tmp_path / "one", tmp_path / "other"]
    for folder in folders:
        folder.mkdir()
    space = Space(folders, 500_000)

    (folders[0] / "full").write_bytes(os.urandom(300_000))
    assert 100_000 < space.left() <= 200_000
    (folders[1] / "full").write_bytes(os.urandom(300_000))
    assert space.left() < 0


def test_links_are_not_followed(tmp_path: Path):
    (tmp_path / "output").mkdir()
    (tmp_path / "large").write_bytes(os.urandom(300_000))
    (tmp_path / "output" / "link").symlink_to(tmp_path / "large")
    (tmp_path / "output" / "folder").symlink_to(tmp_path)

    assert used_bytes(tmp_path / "output") == 0


def test_hiding_files_counts_as_exceeding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(walking, "MAX_ENTRIES", 10)
    monkeypatch.setattr(walking, "MAX_DEPTH", 3)
    (tmp_path / "deep" / "2" / "3" / "4").mkdir(parents=True)
    (tmp_path / "wide").mkdir()
    for number in range(11):
        (tmp_path / "wide" / str(number)).touch()

    assert used_bytes(tmp_path / "deep") == 0
    assert used_bytes(tmp_path) == math.inf
    assert Space([tmp_path / "wide"], 1 << 40).exceeded()


def test_folders_that_take_libraries_may_hold_more_and_count_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(walking, "MAX_ENTRIES", 10)
    monkeypatch.setattr(walking, "MAX_DEPTH", 3)
    deep = tmp_path / "1/2/3/4/5"
    deep.mkdir(parents=True)
    for number in range(20):
        (deep / str(number)).write_bytes(os.urandom(10_000))

    assert Space([tmp_path], 1 << 20).exceeded()
    assert not Space([tmp_path], 1 << 20, [tmp_path]).exceeded()
    space = Space([tmp_path], 300_000, [tmp_path])
    (deep / "more").write_bytes(os.urandom(200_000))
    assert space.exceeded()
