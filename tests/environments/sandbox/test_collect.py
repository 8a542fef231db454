"""What leaves an output folder, whatever an agent put there."""

import os
import socket
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from environments.sandbox import walking
from environments.sandbox.collect import MAX_REASONS, collect
from taskdata.errors import SandboxFailed
from taskdata.schema.base import RelativePath
from taskdata.schema.task import Resources

SECRET = b"the host's secret"


@pytest.fixture
def output(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace" / "output"
    folder.mkdir(parents=True)
    return folder


def test_plain_files_are_copied_with_their_relative_names(output: Path):
    (output / "charts").mkdir()
    (output / "charts" / "Umsatz März.png").write_bytes(b"png")
    (output / "report.docx").write_bytes(b"docx")

    collected = collect(output, Resources())

    contents = {file.name: file.path.read_bytes() for file in collected.files}
    assert contents == {"charts/Umsatz März.png": b"png", "report.docx": b"docx"}
    assert collected.rejected == ()


def test_copies_do_not_follow_later_changes(output: Path, tmp_path: Path):
    (output / "a.txt").write_text("before")

    [file] = collect(output, Resources(), tmp_path / "elsewhere").files
    (output / "a.txt").write_text("after")

    assert file.path.parent == tmp_path / "elsewhere"
    assert file.path.read_text() == "before"


def test_copies_lose_special_permissions(output: Path):
    (output / "tool").write_text("#!/bin/sh")
    (output / "tool").chmod(0o6777)

    [file] = collect(output, Resources()).files

    assert stat.S_IMODE(file.path.stat().st_mode) & 0o7111 == 0


def test_links_and_special_files_stay_behind(output: Path, tmp_path: Path):
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "key").write_bytes(SECRET)
    (output / "link").symlink_to(secret / "key")
    (output / "folder").symlink_to(secret)
    (output / "dangling").symlink_to("nowhere")
    os.link(secret / "key", output / "hard")
    os.mkfifo(output / "fifo")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(output / "socket"))
        collected = collect(output, Resources())

    assert collected.files == ()
    assert sorted(collected.rejected) == [
        "'dangling' is a symbolic link",
        "'fifo' is a FIFO",
        "'folder' is a symbolic link",
        "'hard' is a hard link",
        "'link' is a symbolic link",
        "'socket' is a socket",
    ]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make devices")
def test_devices_stay_behind(output: Path):
    os.mknod(output / "zero", stat.S_IFCHR | 0o666, os.makedev(1, 5))

    assert collect(output, Resources()).rejected == ("'zero' is a device",)


def test_a_linked_output_folder_is_not_followed(output: Path, tmp_path: Path):
    (tmp_path / "host").mkdir()
    (tmp_path / "host" / "key").write_bytes(SECRET)
    output.rmdir()
    output.symlink_to(tmp_path / "host")

    collected = collect(output, Resources())

    assert collected.files == ()
    assert "cannot be read" in collected.rejected[0]


@pytest.mark.parametrize(
    "name",
    [
        b"line\nbreak.txt",
        b"bell\x07.txt",
        "right\u202eto-left.txt".encode(),
        "zero\u200bwidth.txt".encode(),
        b"not-utf8-\xff.txt",
        b"back\\slash.txt",
        b" leading.txt",
    ],
)
def test_odd_names_stay_behind_and_are_quoted(output: Path, name: bytes):
    Path(os.fsdecode(os.fsencode(output) + b"/" + name)).write_text("x")

    collected = collect(output, Resources())

    assert collected.files == ()
    [reason] = collected.rejected
    assert reason.isascii()
    assert reason.isprintable()


def test_sparse_files_count_with_their_apparent_size(output: Path):
    with (output / "sparse.bin").open("wb") as file:
        file.truncate(50 << 30)

    [reason] = collect(output, Resources(disk_mb=1)).rejected

    assert reason == f"'sparse.bin' exceeds the space allowed ({50 << 30} bytes)"


def test_all_files_share_the_space(output: Path):
    for name in "abc":
        (output / name).write_bytes(b"x" * 600_000)

    collected = collect(output, Resources(disk_mb=1))

    assert [file.name for file in collected.files] == ["a"]
    assert len(collected.rejected) == 2


def test_files_at_the_top_win_over_nested_ones(output: Path):
    (output / "cache").mkdir()
    for number in range(5):
        (output / "cache" / str(number)).write_text("x")
    (output / "report.pdf").write_text("x")

    collected = collect(output, Resources(max_files=2))

    assert [file.name for file in collected.files] == ["cache/0", "report.pdf"]
    assert collected.rejected[0] == "'cache/1' exceeds the number of files allowed"


def test_a_flood_of_entries_ends_the_walk(output: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(walking, "MAX_ENTRIES", 300)
    (output / "answer.txt").write_text("42")
    (output / "flood").mkdir()
    for number in range(400):
        (output / "flood" / f"{number}").touch()

    collected = collect(output, Resources())

    assert [file.name for file in collected.files] == ["answer.txt"]
    assert "the rest was not looked at" in collected.rejected[0]


def test_many_reasons_are_counted_instead_of_listed(output: Path):
    for number in range(MAX_REASONS + 50):
        (output / f"link{number}").symlink_to("/etc/passwd")

    rejected = collect(output, Resources()).rejected

    assert len(rejected) == MAX_REASONS + 1
    assert rejected[-1] == "and 50 more"


def test_endless_nesting_ends_the_walk(output: Path):
    folder = os.open(output, os.O_RDONLY)
    for _ in range(walking.MAX_DEPTH + 20):
        os.mkdir("d", dir_fd=folder)
        inner = os.open("d", os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = inner
    os.close(folder)

    [reason] = collect(output, Resources()).rejected

    assert reason.endswith(f"is below {walking.MAX_DEPTH} folders")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_closed_folders_stay_behind(output: Path):
    (output / "closed").mkdir(mode=0)

    assert collect(output, Resources()).rejected == ("'closed' cannot be read (Permission denied)",)


def test_our_own_full_disk_is_not_the_agents_fault(output: Path, tmp_path: Path):
    (output / "a.txt").write_text("x")
    (tmp_path / "file").write_text("in the way")

    with pytest.raises(SandboxFailed, match=r"cannot make .*file"):
        collect(output, Resources(), tmp_path / "file")


@dataclass(frozen=True)
class Entry:
    folders: tuple[bytes, ...]
    name: bytes
    kind: str
    size: int

    @property
    def path(self) -> bytes:
        return b"/".join((*self.folders, self.name))


NAMES = st.one_of(
    st.sampled_from([b"a", b"b.txt", b"c d.csv", b"...", b"-rf", b"~", b"\xc3\xa9"]),
    st.binary(min_size=1, max_size=30).filter(
        lambda name: b"/" not in name and b"\0" not in name and name not in (b".", b"..")
    ),
)
ENTRIES = st.builds(
    Entry,
    st.lists(NAMES, max_size=3).map(tuple),
    NAMES,
    st.sampled_from(["file", "file", "file", "sparse", "symlink", "folder link", "hard", "fifo"]),
    st.integers(0, 700_000),
)


def _make(output: Path, secret: Path, entry: Entry) -> bool:
    """Put one entry in place; False if another one's name is in the way."""
    path = os.path.join(os.fsencode(output), entry.path)
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if os.path.lexists(path):
            return False
        match entry.kind:
            case "file" | "sparse":
                with open(path, "xb") as file:
                    if entry.kind == "file":
                        file.write(os.urandom(entry.size))
                    file.truncate(entry.size * (1 if entry.kind == "file" else 100))
            case "symlink":
                os.symlink(os.fsencode(secret / "key"), path)
            case "folder link":
                os.symlink(os.fsencode(secret), path)
            case "hard":
                os.link(os.fsencode(secret / "key"), path)
            case "fifo":
                os.mkfifo(path)
    except (FileExistsError, NotADirectoryError):
        return False
    return True


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(ENTRIES, max_size=12), st.integers(1, 2), st.integers(1, 8))
@example([Entry((b"folder",), b"in-link", "folder link", 0)], 1, 1)
def test_only_safe_copies_leave_and_nothing_is_lost_in_silence(
    entries: list[Entry], disk_mb: int, max_files: int
):
    with tempfile.TemporaryDirectory() as temporary:
        output, secret = Path(temporary, "output"), Path(temporary, "secret")
        output.mkdir()
        secret.mkdir()
        (secret / "key").write_bytes(SECRET)
        made = {entry.path for entry in entries if _make(output, secret, entry)}
        # A path through one of the links above would land in the secret folder.
        made -= {path for path in made if not _is_below(output, path)}

        collected = collect(output, Resources(disk_mb=disk_mb, max_files=max_files))

        names = [file.name for file in collected.files]
        assert len(set(names)) == len(names) <= max_files
        assert {os.fsencode(name) for name in names} <= made
        assert len(names) + len(collected.rejected) == len(made)
        assert sum(file.path.stat().st_size for file in collected.files) <= disk_mb << 20
        for file in collected.files:
            assert TypeAdapter(RelativePath).validate_python(file.name).isprintable()
            copy = file.path.lstat()
            assert stat.S_ISREG(copy.st_mode)
            assert copy.st_nlink == 1
            assert file.path.read_bytes() == (output / file.name).read_bytes() != SECRET


def _is_below(output: Path, path: bytes) -> bool:
    folder = os.path.dirname(os.path.join(os.fsencode(output), path))
    return os.path.realpath(folder).startswith(os.path.realpath(os.fsencode(output)))
