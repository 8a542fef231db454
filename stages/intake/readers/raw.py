"""What every reader returns: rows as they are in the file, and lines of limited length."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import BinaryIO

from taskdata.errors import BadTaskData
from taskdata.schema.seed import EXCERPT_CHARACTERS

MAX_ROW_BYTES = 2 << 20
"""The longest text (100,000 characters) takes 1.2 MB when every character is escaped."""

_CHUNK = 1 << 16
_NAME_CHARACTERS = 80
_SPARE_CHARACTERS = 300
"""Longer than any piece of personal data, of which a beginning alone would not be recognised."""
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Fault:
    """Why a row is refused."""

    field: str | None
    """The invalid field; None: the row as a whole."""
    reason: str


@dataclass(frozen=True)
class RawRow:
    """A row of a file: its fields by name, or the fault that makes it unreadable."""

    number: int
    """Counted from 1: the line of a JSONL file, else the row without the header."""
    excerpt: str
    """Beginning of the row, longer than a quarantine keeps, so that no personal data is cut."""
    fields: Mapping[str, object] = field(default_factory=dict)
    fault: Fault | None = None


@dataclass(frozen=True)
class Line:
    """A line without its end, or the beginning of one that is longer than allowed."""

    data: bytes
    is_cut: bool = False
    cut_quotes: int = 0
    """Double quotes in the part that was cut off."""


def capped_lines(stream: BinaryIO) -> Iterator[Line]:
    """Yield the lines of `stream`, never holding more than `MAX_ROW_BYTES` of one.

    A byte order mark at the very beginning is dropped.
    """
    first = True
    while data := stream.readline(MAX_ROW_BYTES + 1):
        if first and data.startswith(_BOM):
            data = data[len(_BOM) :]
        first = False
        if data.endswith(b"\n") or len(data) <= MAX_ROW_BYTES:
            yield Line(data)
            continue
        quotes = 0
        while rest := stream.readline(_CHUNK):
            quotes += rest.count(b'"')
            if rest.endswith(b"\n"):
                break
        yield Line(data, is_cut=True, cut_quotes=quotes)


def first_words(text: str) -> str:
    """Return the beginning of `text` for the quarantine, in a form that any database stores."""
    return _UNSTORABLE.sub("\ufffd", text[: EXCERPT_CHARACTERS + _SPARE_CHARACTERS])


def short_name(name: object) -> str:
    """Return a field name from a file, shortened for messages."""
    return _UNSTORABLE.sub("\ufffd", str(name)[:_NAME_CHARACTERS])


def not_utf8(origin: str, place: str, byte: int) -> BadTaskData:
    """Return the error for a file that does not begin with UTF-8."""
    return BadTaskData(f"{origin}: {place} is not UTF-8 at byte {byte}; save the file as UTF-8")


TOO_LONG = Fault(None, f"longer than {MAX_ROW_BYTES >> 20} MiB")
