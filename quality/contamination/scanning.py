"""Scanning files of any size for the canary of a bank and for overlaps with its tasks."""

import gzip
import zlib
from collections.abc import Iterable, Iterator
from io import BufferedReader, TextIOWrapper
from pathlib import Path

from pydantic import Field

from quality.contamination.overlaps import BankIndex, OverlapFinder, by_task
from taskdata.canary import PATTERN
from taskdata.errors import Misuse
from taskdata.schema.base import Value

_PIECE = 1 << 20
_HEAD = 8_192
_LONGEST_WORD = 4_096
_CANARY_AT_MOST = 100
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_GZIP = b"\x1f\x8b"
_UNREADABLE = (OSError, EOFError, zlib.error)


class Finding(Value):
    """Benchmark data in a file."""

    file: str
    line: int = Field(ge=1)
    """The line on which the first of the data stands."""
    task: str | None
    """None: a canary, which belongs to a whole bank."""
    canary: str | None = None
    is_own_canary: bool = False
    """Whether it is the canary of the bank that was asked about."""
    query_share: float = Field(default=0, ge=0, le=1)
    """Share of the query's shingles in the file."""
    requirements: int = Field(default=0, ge=0)
    """Requirements that share a shingle with the file."""


class Unread(Value):
    """A file that could not be scanned to its end."""

    file: str
    reason: str


class ScanReport(Value):
    """What was found in the files."""

    files: int
    """Files that were scanned to their end."""
    findings: tuple[Finding, ...]
    unread: tuple[Unread, ...]


def files_in(paths: Iterable[Path]) -> Iterator[Path]:
    """Yield the files, and all files below the folders, in order of their names.

    Raises:
        Misuse: if one does not exist.
    """
    for path in paths:
        if path.is_dir():
            below = (p for p in path.rglob("*") if p.is_file() and not p.is_symlink())
            yield from sorted(below)
        elif path.exists():
            yield path
        else:
            raise Misuse(f"{path}: there is no such file or folder")


def scan(paths: Iterable[Path], index: BankIndex, canary: str) -> ScanReport:
    """Return what the files hold of the bank; a file that cannot be read does not stop the rest.

    Args:
        paths: Files and folders. Files that are compressed with gzip are read as their content.
        index: The bank's queries and requirements.
        canary: The bank's canary; canaries of other banks are found, too.

    Raises:
        Misuse: if a path does not exist.
    """
    findings: list[Finding] = []
    unread: list[Unread] = []
    scanned = 0
    for path in dict.fromkeys(files_in(list(paths))):
        found, reason = _scan_file(path, index, canary)
        findings += found
        if reason is None:
            scanned += 1
        else:
            unread.append(Unread(file=str(path), reason=reason))
    return ScanReport(files=scanned, findings=tuple(findings), unread=tuple(unread))


class _NotText(Exception):
    """The file holds bytes that occur in no text."""


def _scan_file(path: Path, index: BankIndex, canary: str) -> tuple[list[Finding], str | None]:
    """Return what was found, and why the file was not read to its end; None if it was."""
    finder = OverlapFinder(index)
    canaries: dict[str, int] = {}
    reason = None
    try:
        for line, piece in _pieces(path):
            for match in PATTERN.findall(piece):
                canaries.setdefault(match.lower(), line)
            finder.feed(line, piece)
    except _NotText:
        reason = "it is no text: only canaries were looked for; extract its text first"
        try:
            canaries = dict.fromkeys(_canaries_in_bytes(path), 1)
        except _UNREADABLE as exc:
            reason = _cut_off(exc)
    except _UNREADABLE as exc:
        reason = _cut_off(exc)
    marked = [
        Finding(file=str(path), line=at, task=None, canary=c, is_own_canary=c == canary)
        for c, at in canaries.items()
    ]
    shared = [
        Finding(
            file=str(path),
            line=overlap.line,
            task=overlap.task_id,
            query_share=overlap.query_share,
            requirements=overlap.requirements,
        )
        for overlap in by_task(index.texts, finder.found)
    ]
    return marked + shared, reason


def _cut_off(exc: Exception) -> str:
    return f"cannot be read to its end: {getattr(exc, 'strerror', None) or exc}"


def _unpacked(raw: BufferedReader) -> gzip.GzipFile | BufferedReader:
    is_packed = raw.read(2) == _GZIP
    raw.seek(0)
    return gzip.GzipFile(fileobj=raw) if is_packed else raw


def _canaries_in_bytes(path: Path) -> set[str]:
    """Return the canaries in metadata that stands in the file as it is."""
    found: set[str] = set()
    rest = ""
    with path.open("rb") as raw:
        stream = _unpacked(raw)
        while piece := stream.read(_PIECE):
            text = rest + piece.decode("latin-1")
            found.update(match.lower() for match in PATTERN.findall(text))
            rest = text[-_CANARY_AT_MOST:]
    return found


def _pieces(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the text with line numbers; a line of any length comes in pieces that cut no word."""
    if not path.is_file():
        raise OSError("it is no regular file")
    with path.open("rb") as raw:
        stream = _unpacked(raw)
        head = stream.read(_HEAD)
        stream.seek(0)
        encoding = "utf-16" if head[:2] in _UTF16 else "utf-8"
        if encoding == "utf-8" and b"\0" in head:
            raise _NotText
        yield from _lines(stream, encoding)


def _lines(stream: gzip.GzipFile | BufferedReader, encoding: str) -> Iterator[tuple[int, str]]:
    text = TextIOWrapper(stream, encoding=encoding, errors="replace", newline=None)
    number, rest = 1, ""
    try:
        while piece := text.readline(_PIECE):
            piece, rest = rest + piece, ""
            if piece.endswith("\n"):
                yield number, piece
                number += 1
                continue
            cut = max(piece.rfind(" ", -_LONGEST_WORD), 0) or len(piece)
            rest = piece[cut:]
            yield number, piece[:cut]
        if rest:
            yield number, rest
    finally:
        # Whoever opened the file closes it.
        text.detach()
