"""Agents name their deliverables; whatever they say, only the named folder is written to."""

import pytest

from flows.cli.trials.saving import harmless, save
from taskdata.schema.run import Deliverable


@pytest.fixture
def saving(store, tmp_path):
    """Save files of these names and bytes below a folder; returns what became of each."""
    folder = tmp_path / "taken out"

    def run(files: dict[str, bytes], *, force: bool = False):
        deliverables = [
            # Without validation, for what is read may have been written by another revision.
            Deliverable.model_construct(
                name=name, sha256=store.artifacts.put_bytes(data), size_bytes=len(data)
            )
            for name, data in files.items()
        ]
        return save(store.artifacts, deliverables, folder, force=force)

    run.folder = folder
    return run


def everything_below(folder):
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if not p.is_dir())


def test_files_and_folders_are_written_as_they_are_named(saving):
    assert [s.error for s in saving({"a.txt": b"a", "sub/b c.txt": b"b"})] == [None, None]
    assert everything_below(saving.folder) == ["a.txt", "sub/b c.txt"]
    assert (saving.folder / "sub/b c.txt").read_bytes() == b"b"


@pytest.mark.parametrize(
    "name",
    ["../out.txt", "../../etc/x", "/tmp/absolute.txt", "a/../../up.txt", "./.././b", "~/x", ".."],
)
def test_no_name_leads_out_of_the_folder(saving, tmp_path, name):
    before = set(tmp_path.rglob("*"))
    saving({name: b"x"}, force=True)
    new = {p for p in set(tmp_path.rglob("*")) - before if "artifacts" not in p.parts}
    assert new, "it is written below the folder, under a harmless name"
    assert all(p == saving.folder or saving.folder in p.parents for p in new)


@pytest.mark.parametrize("force", [False, True])
def test_no_link_is_followed(saving, tmp_path, force):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept.txt").write_text("kept")
    saving.folder.mkdir()
    (saving.folder / "sub").symlink_to(outside)
    (saving.folder / "kept.txt").symlink_to(outside / "kept.txt")
    into, onto = saving({"sub/new.txt": b"x", "kept.txt": b"x"}, force=force)
    assert into.error is not None
    assert (onto.error is None) == force
    assert everything_below(outside) == ["kept.txt"]
    assert (outside / "kept.txt").read_text() == "kept"
    # The link itself was replaced.
    assert (saving.folder / "kept.txt").is_symlink() != force


def test_nothing_is_overwritten_without_force(saving):
    saving({"a.txt": b"first"})
    (again,) = saving({"a.txt": b"second"})
    assert "--force" in again.error
    assert (saving.folder / "a.txt").read_bytes() == b"first"
    assert saving({"a.txt": b"second"}, force=True)[0].error is None
    assert everything_below(saving.folder) == ["a.txt"]
    assert (saving.folder / "a.txt").read_bytes() == b"second"


def test_a_file_that_cannot_be_written_stops_no_other(saving):
    file, below, long, good = saving(
        {"a": b"file", "a/b": b"in it", "n" * 300: b"long", "good.txt": b"good"}
    )
    assert (file.error, good.error) == (None, None)
    assert below.error
    assert "name too long" in long.error
    assert everything_below(saving.folder) == ["a", "good.txt"]


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("invoice\u202efdp.exe", "invoice%E2%80%AEfdp.exe"),
        ("two\nlines", "two%0Alines"),
        ("\x1b[2Jgone", "%1B[2Jgone"),
        (".bashrc", "%2Ebashrc"),
        ("..", "%2E."),
        ("-rf", "%2Drf"),
        ("half\ud800", "half%ED%A0%80"),
        ("already%2E", "already%252E"),
        ("100% done.txt", "100% done.txt"),
        ("Übersicht 每月.txt", "Übersicht 每月.txt"),
    ],
)
def test_what_hides_or_steers_is_written_out(name, written):
    assert harmless(name) == written


def test_different_names_stay_different(saving):
    names = (".a", "%2Ea", "a\u200b", "a%E2%80%8B", "a")
    assert all(s.error is None for s in saving({name: name.encode() for name in names}))
    assert len(everything_below(saving.folder)) == len(names)


def test_no_file_is_executable(saving):
    saving({"run.sh": b"#!/bin/sh"})
    assert (saving.folder / "run.sh").stat().st_mode & 0o111 == 0
