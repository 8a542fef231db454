"""Which files of an image's folder become files of a workspace."""

import io
import tarfile

import pytest

from environments.sandbox.docker.contents import plain_files
from taskdata.errors import SandboxFailed
from taskdata.schema.image import TaskImage
from taskdata.schema.task import Resources

IMAGE = TaskImage(name="an-image", workdir="/app")


def packed(*entries: tuple[str, bytes]) -> bytes:
    """Return an archive; the first byte of an entry's content is its type."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for name, content in entries:
            entry = tarfile.TarInfo(name)
            entry.type, data = content[:1], content[1:]
            if entry.isreg():
                entry.size = len(data)
            else:
                entry.linkname = data.decode()
            tar.addfile(entry, io.BytesIO(data) if entry.isreg() else None)
    return archive.getvalue()


def test_plain_files_come_with_their_paths_and_nothing_else_comes():
    archive = packed(
        ("app", tarfile.DIRTYPE),
        ("app/a.txt", tarfile.REGTYPE + b"a"),
        ("app/in/b.txt", tarfile.REGTYPE + b"b"),
        ("app/link", tarfile.SYMTYPE + b"/etc/passwd"),
        ("app/hard", tarfile.LNKTYPE + b"app/a.txt"),
        ("app/device", tarfile.CHRTYPE),
        ("app/pipe", tarfile.FIFOTYPE),
        ("app/../../out.txt", tarfile.REGTYPE + b"out"),
        ("/etc/passwd", tarfile.REGTYPE + b"root"),
    )
    found = plain_files(archive, IMAGE, Resources())
    assert found == {"a.txt": b"a", "in/b.txt": b"b", "etc/passwd": b"root"}


def test_more_files_than_a_workspace_may_hold_are_refused():
    archive = packed(*((f"app/{n}", tarfile.REGTYPE) for n in range(4)))
    with pytest.raises(SandboxFailed, match="/app of image an-image holds more than 3 files"):
        plain_files(archive, IMAGE, Resources(max_files=3))
