"""Cutting a JSON mapping or list into its members, unparsed, with bounds on size and nesting.

`ijson` does not serve here: it holds a string of any length in memory, and cannot go on with the
next member after one that is too large or nests too deeply.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from taskdata.errors import BadTaskData

MAX_ROW_BYTES = 4 << 20
MAX_NESTING = 64
HEAD = 400
"""Bytes kept of what is not read whole."""
TOO_DEEP = f"nested deeper than {MAX_NESTING} levels"
TOO_LARGE = f"larger than {MAX_ROW_BYTES >> 20} MB"

_AT_THE_EDGE = re.compile(rb'["{}\[\],]')
_INSIDE_STRING = re.compile(rb'["\\]')
# Possessive, so that text without an end is never tried again from its middle.
_TO_BRACKETS = re.compile(
    rb'(?:[^"{}\[\]]++|"(?:[^"\\]++|\\.)*+")*+([{\[]++|[}\]]++|"|\Z)', re.DOTALL
)
_KEY = re.compile(rb'\s*"((?:[^"\\]|\\.){0,300})"\s*:')


@dataclass(frozen=True)
class Span:
    """A member of the outermost mapping or list."""

    is_mapping: bool
    """Whether it is one of a mapping."""
    start: int
    """Offset in the document."""
    text: bytes
    """Its beginning, where it was not read whole."""
    why: str | None
    """Why it was not read whole."""

    @property
    def key(self) -> str | None:
        """Its key as it stands there; None in a list."""
        return _key(self.text) if self.is_mapping else None

    @property
    def refused_within(self) -> str | None:
        """The member of its own that is why it was not read whole."""
        key = _KEY.match(self.text) if self.is_mapping else None
        value = self.text[key.end() if key else 0 : MAX_ROW_BYTES]
        # One level is the document itself.
        return refused_within(value, MAX_NESTING - 1)


class Splitter:
    """Cuts the outermost mapping or list into its members, whatever the chunks it comes in."""

    def __init__(self, fail: Callable[[str], BadTaskData]) -> None:
        self._fail = fail
        self._depth = 0
        self._in_string = self._after_backslash = False
        self._closed = False
        self._is_mapping = True
        self._text = bytearray()
        self._why: str | None = None
        self._is_cut = False
        self._start = self._seen = 0
        self._any = False

    @property
    def open_key(self) -> str | None:
        """Key of the member that has not ended yet; None outside a mapping."""
        return _key(bytes(self._text[:HEAD])) if self._is_mapping else None

    def feed(self, chunk: bytes) -> Iterator[Span]:
        """Yield the members that end in this chunk."""
        position = kept = 0
        while position < len(chunk):
            if self._closed or self._depth == 0:
                position = kept = self._edge(chunk, position)
            elif self._in_string:
                position = self._string(chunk, position)
            elif self._depth > 1:
                position = self._deeper(chunk, position)
            elif match := _AT_THE_EDGE.search(chunk, position):
                position = match.end()
                if match[0] == b'"':
                    self._in_string = True
                elif match[0] in b"{[":
                    self._depth += 1
                else:
                    self._take(chunk, kept, position - 1)
                    kept = position
                    yield from self._ended(match[0], self._seen + position)
            else:
                break
        if not self._closed and self._depth:
            self._take(chunk, kept, len(chunk))
        self._seen += len(chunk)

    def finish(self) -> None:
        """Raise unless the document is complete."""
        if not self._closed:
            raise self._fail("the document is cut short")

    def _edge(self, chunk: bytes, position: int) -> int:
        """Skip white space around the document and step into it."""
        rest = chunk[position:]
        skipped = len(rest) - len(rest.lstrip())
        if skipped == len(rest):
            return len(chunk)
        sign = rest[skipped : skipped + 1]
        if self._closed or sign not in (b"{", b"["):
            raise self._fail(f"not JSON at byte {self._seen + position + skipped}")
        self._is_mapping = sign == b"{"
        self._depth = 1
        self._start = self._seen + position + skipped + 1
        return position + skipped + 1

    def _deeper(self, chunk: bytes, position: int) -> int:
        match = _TO_BRACKETS.match(chunk, position)
        if match is None or not match[1]:
            return len(chunk)
        if match[1] == b'"':
            self._in_string = True
        elif match[1][:1] in b"{[":
            self._depth += len(match[1])
            if self._depth > MAX_NESTING:
                self._why = self._why or TOO_DEEP
        else:
            closed = min(len(match[1]), self._depth - 1)
            self._depth -= closed
            return match.start(1) + closed
        return match.end()

    def _string(self, chunk: bytes, position: int) -> int:
        if self._after_backslash:
            self._after_backslash = False
            return position + 1
        match = _INSIDE_STRING.search(chunk, position)
        if match is None:
            return len(chunk)
        if match[0] == b'"':
            self._in_string = False
        else:
            self._after_backslash = True
        return match.end()

    def _take(self, chunk: bytes, start: int, end: int) -> None:
        if self._is_cut:
            return
        self._text += chunk[start:end]
        if len(self._text) > MAX_ROW_BYTES:
            self._why = self._why or TOO_LARGE
        self._is_cut = self._why is not None

    def _ended(self, sign: bytes, next_start: int) -> Iterator[Span]:
        self._closed = sign != b","
        self._depth = 0 if self._closed else 1
        span = Span(self._is_mapping, self._start, bytes(self._text), self._why)
        self._text.clear()
        self._why, self._is_cut = None, False
        if self._closed and not self._any and not span.text.strip():
            return
        if self._closed and sign != (b"}" if self._is_mapping else b"]"):
            raise self._fail(f"not JSON at byte {next_start - 1}")
        self._any = True
        yield span
        self._start = next_start


def is_too_deep(data: bytes) -> bool:
    """Return whether brackets outside strings nest deeper than is allowed."""
    return _too_deep_at(data, MAX_NESTING) is not None


def refused_within(row: bytes, nesting: int = MAX_NESTING) -> str | None:
    """Return the key of the member in which a mapping nests too deeply, or else breaks off.

    Args:
        row: The mapping as JSON, or its beginning.
        nesting: Levels that are allowed.

    Returns:
        None if it is no mapping, or there is no such member.
    """
    splitter = Splitter(BadTaskData)
    try:
        for _ in splitter.feed(row[: _too_deep_at(row, nesting)]):
            pass
    except BadTaskData:
        return None
    return splitter.open_key


def _too_deep_at(data: bytes, nesting: int) -> int | None:
    """Return where brackets outside strings have nested deeper than that; None if they do not."""
    depth = position = 0
    while match := _TO_BRACKETS.match(data, position):
        brackets, position = match[1], match.end()
        if not brackets or brackets == b'"':
            break
        depth += len(brackets) if brackets[:1] in b"{[" else -len(brackets)
        if depth > nesting:
            return position
    return None


def _key(member: bytes) -> str | None:
    found = _KEY.match(member)
    return found[1].decode("utf-8", "replace") if found else None
