"""What may leave a sandbox: private copies of plain files; other entries get a reason."""

import errno
import os
import stat
from dataclasses import dataclass, field
from pathlib import Path

from environments.sandbox.walking import MAX_ENTRIES, Found, TooManyEntries, opened, walk
from taskdata.errors import SandboxFailed
from taskdata.schema.task import Resources

MAX_PATH_CHARACTERS = 240
MAX_REASONS = 100
_CHUNK = 1 << 20


@dataclass(frozen=True)
class CollectedFile:
    """A file that the agent left, copied out of the workspace."""

    name: str
    """POSIX path relative to the output folder: printable, at most 240 characters, no `..`."""
    path: Path
    """The copy: a plain file that nobody else writes to."""


@dataclass(frozen=True)
class Collected:
    """What was copied from an output folder and what was not."""

    files: tuple[CollectedFile, ...]
    """Sorted by name."""
    rejected: tuple[str, ...]
    """One line per entry that was not copied: its quoted path and the reason."""


def collect(output: Path, resources: Resources, destination: Path | None = None) -> Collected:
    """Copy the regular files below `output` to `destination` and say what was left behind.

    Links, devices, FIFOs, sockets, hard-linked files, odd names and files above `disk_mb` (each and
    together, by apparent size) or beyond `max_files` are not copied. Whatever an agent leaves, this
    function neither raises nor hangs nor follows a link.

    Args:
        output: The workspace's output folder.
        resources: The limits.
        destination: Folder for the copies; by default `collected/` beside the output folder, which
            no sandbox sees.

    Raises:
        SandboxFailed: the copies cannot be written.
    """
    target = destination or output.parent / "collected"
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SandboxFailed(f"cannot make {target}: {error.strerror}") from error
    taking = _Taking(target, resources.disk_mb * 1024 * 1024, resources.max_files)
    try:
        for found in walk(output):
            taking.consider(found)
    except TooManyEntries:
        taking.reasons.append(f"more than {MAX_ENTRIES} entries: the rest was not looked at")
    except OSError as error:
        taking.reasons.append(f"the output folder cannot be read ({error.strerror})")
    return Collected(tuple(sorted(taking.files, key=lambda f: f.name)), taking.rejected())


@dataclass
class _Taking:
    """The running totals of a collection."""

    target: Path
    bytes_left: int
    files_left: int
    files: list[CollectedFile] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)

    def consider(self, found: Found) -> None:
        """Copy `found`, or note why it is not copied."""
        problem = _bad_name(found.path) or found.problem or _bad_kind(found.status)
        if not problem and self.files_left == 0:
            problem = "exceeds the number of files allowed"
        if not problem:
            problem = self._copy(found)
        if problem:
            self.reasons.append(f"{_quoted(found.path)} {problem}")

    def _copy(self, found: Found) -> str:
        """Return why `found` was not copied, or an empty string."""
        try:
            source = opened(found.name, found.folder_fd)
        except OSError as error:
            if error.errno == errno.ELOOP:
                return "is a symbolic link"
            return f"cannot be read ({error.strerror})"
        try:
            status = os.fstat(source)
            problem = _bad_kind(status)
            if problem:
                return problem
            if status.st_size > self.bytes_left:
                return f"exceeds the space allowed ({status.st_size} bytes)"
            copy = self.target / f"{len(self.files):06d}"
            copied = _copy_bytes(source, copy, status.st_size)
        finally:
            os.close(source)
        if copied is None:
            return "cannot be read to its end"
        self.bytes_left -= copied
        self.files_left -= 1
        self.files.append(CollectedFile(found.path, copy))
        return ""

    def rejected(self) -> tuple[str, ...]:
        """Return the reasons; those beyond a number are counted instead of listed."""
        if len(self.reasons) <= MAX_REASONS:
            return tuple(self.reasons)
        rest = len(self.reasons) - MAX_REASONS
        return (*self.reasons[:MAX_REASONS], f"and {rest} more")


def _copy_bytes(source: int, copy: Path, size: int) -> int | None:
    """Copy the first `size` bytes; return how many were copied, None if reading failed."""
    copied = 0
    try:
        with copy.open("wb") as target:
            while copied < size:
                try:
                    chunk = os.read(source, min(_CHUNK, size - copied))
                except OSError:
                    break
                if not chunk:
                    return copied
                target.write(chunk)
                copied += len(chunk)
            else:
                return copied
    except OSError as error:
        raise SandboxFailed(f"cannot write the copy {copy}: {error.strerror}") from error
    copy.unlink()
    return None


def _bad_kind(status: os.stat_result | None) -> str:
    if status is None:
        return "cannot be read"
    mode = status.st_mode
    if stat.S_ISREG(mode):
        return "" if status.st_nlink == 1 else "is a hard link"
    kinds = {
        stat.S_IFLNK: "is a symbolic link",
        stat.S_IFIFO: "is a FIFO",
        stat.S_IFSOCK: "is a socket",
        stat.S_IFDIR: "is a directory",
    }
    return kinds.get(stat.S_IFMT(mode), "is a device")


def _bad_name(path: str) -> str:
    if len(path) > MAX_PATH_CHARACTERS:
        return f"has a path longer than {MAX_PATH_CHARACTERS} characters"
    # isprintable is False for control and bidi characters, line separators and surrogates.
    if not path.isprintable():
        return "has a line break, a control character or one that cannot be shown in its name"
    if "\\" in path:
        return "has a backslash in its name"
    if any(part != part.strip() for part in path.split("/")):
        return "has a name that starts or ends with white space"
    return ""


def _quoted(path: str) -> str:
    text = ascii(path)
    return text if len(text) <= 120 else f"{text[:80]}...{text[-20:]}"
