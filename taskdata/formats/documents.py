"""JSON that somebody else wrote, read row by row with bounds on size and nesting.

A document is cut into the members of its outermost mapping or list before anything is parsed, so
that one hostile member costs neither memory nor the rest of the file. What is not JSON at all, or
ends too early, is refused as a whole.
"""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from taskdata.errors import BadTaskData, Misuse
from taskdata.formats.rows import RawRow, RowRefused, refusal

MAX_ROW_BYTES = 4 << 20
MAX_NESTING = 64
_MAX_SMALL = 16 << 20
_CHUNK = 1 << 20
_HEAD = 400
_BOM = b"\xef\xbb\xbf"

_AT_THE_EDGE = re.compile(rb'["{}\[\],]')
_INSIDE_STRING = re.compile(rb'["\\]')
# Possessive, so that text without an end is never tried again from its middle.
_TO_BRACKETS = re.compile(
    rb'(?:[^"{}\[\]]++|"(?:[^"\\]++|\\.)*+")*+([{\[]++|[}\]]++|"|\Z)', re.DOTALL
)
_KEY = re.compile(rb'\s*"((?:[^"\\]|\\.){0,300})"\s*:')

_TOO_DEEP = f"nested deeper than {MAX_NESTING} levels"
_TOO_LARGE = f"larger than {MAX_ROW_BYTES >> 20} MB"


def document(path: Path, names: tuple[str, ...]) -> Path:
    """Return the first of the `names` in folder `path`, or `path` itself if it is a file.

    Raises:
        Misuse: if there is none.
    """
    if path.is_file():
        return path
    for name in names:
        if (path / name).is_file():
            return path / name
    raise Misuse(f"{path}: expected a folder with {' or '.join(names)}, or that file")


def members(path: Path) -> Iterator[RawRow]:
    """Yield the members of the JSON mapping or list in `path`; an item's id is its key or index.

    Raises:
        BadTaskData: if the document is not JSON, is cut short or is not UTF-8.
    """
    with _opened(path) as stream:
        for number, (is_mapping, start, text, why) in enumerate(_spans(path, stream), start=1):
            if why is not None:
                key = _KEY.match(text) if is_mapping else None
                item = key[1].decode("utf-8", "replace") if key else str(number - 1)
                excerpt = text.decode("utf-8", "replace")
                yield RawRow(number, item, refused=refusal(None, why, excerpt))
                continue
            item, value, refused = _member(path, start, text, is_mapping)
            yield RawRow(number, str(number - 1) if item is None else item, value, refused)


def lines(path: Path) -> Iterator[RawRow]:
    """Yield the rows of a JSON Lines file; empty lines are skipped but counted.

    Raises:
        BadTaskData: if the file is not UTF-8, or ends in the middle of a row.
    """
    with _opened(path) as stream:
        number = 0
        while line := stream.readline(MAX_ROW_BYTES + 1):
            number += 1
            if len(line) > MAX_ROW_BYTES:
                while not line.endswith(b"\n") and (more := stream.readline(_CHUNK)):
                    line = line[:_HEAD] + more[-1:]
                excerpt = line[:_HEAD].decode("utf-8", "replace")
                yield RawRow(number, refused=refusal(None, _TOO_LARGE, excerpt))
            elif line.strip():
                yield _line(path, number, line)


def small_document(path: Path) -> Any:
    """Return the whole JSON document in `path`, which must be a small one.

    Raises:
        BadTaskData: if it cannot be read, is larger than 16 MB or is not JSON.
    """
    with _opened(path) as stream:
        data = stream.read(_MAX_SMALL + 1)
    if len(data) > _MAX_SMALL:
        raise BadTaskData(f"{path}: larger than {_MAX_SMALL >> 20} MB")
    try:
        return decode(_text(path, data, 0))
    except RowRefused as exc:
        raise BadTaskData(f"{path}: {exc}") from exc


def decode(text: str) -> Any:
    """Return the value of a JSON text.

    Raises:
        RowRefused: if it is not JSON, nests too deeply, repeats a key, or holds a number that is
            not finite or text that is no Unicode.
    """
    if _depth(text.encode("utf-8", "replace")) > MAX_NESTING:
        raise refusal(None, _TOO_DEEP, text[:_HEAD])
    return _parsed(text)


def _opened(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as exc:
        raise BadTaskData(f"{path}: cannot be read: {exc.strerror}") from exc


def _line(path: Path, number: int, line: bytes) -> RawRow:
    text = _text(path, line.removeprefix(_BOM) if number == 1 else line, 0, f"line {number}, ")
    try:
        return RawRow(number, value=decode(text))
    except RowRefused as exc:
        if isinstance(exc.__cause__, json.JSONDecodeError) and not line.endswith(b"\n"):
            raise BadTaskData(f"{path}: cut short in line {number}: {exc}") from exc
        return RawRow(number, refused=exc)


def _member(
    path: Path, start: int, text: bytes, is_mapping: bool
) -> tuple[str | None, Any, RowRefused | None]:
    """Return key, value and what is wrong with them."""
    whole = _text(path, text, start)
    try:
        if not is_mapping:
            return None, _parsed(whole), None
        ((key, value),) = _parsed("{" + whole + "}").items()
    except RowRefused as exc:
        if isinstance(exc.__cause__, json.JSONDecodeError):
            raise BadTaskData(f"{path}: not JSON near byte {start}: {exc.__cause__.msg}") from exc
        key_found = _KEY.match(text) if is_mapping else None
        return (key_found[1].decode() if key_found else None), None, exc
    except ValueError as exc:
        raise BadTaskData(f"{path}: not JSON near byte {start}: expected one member") from exc
    return key, value, None


def _text(path: Path, data: bytes, start: int, where: str = "") -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as exc:
        raise BadTaskData(f"{path}: not UTF-8 at {where}byte {start + exc.start}") from exc


def _depth(data: bytes) -> int:
    """Return how deep brackets nest outside strings."""
    deepest = depth = position = 0
    while match := _TO_BRACKETS.match(data, position):
        brackets, position = match[1], match.end()
        if not brackets or brackets == b'"':
            break
        depth += len(brackets) if brackets[:1] in b"{[" else -len(brackets)
        deepest = max(deepest, depth)
    return deepest


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in found if names.count(name) > 1)
        raise refusal(twice, f"the key {twice[:80]!r} stands twice in one mapping")
    return found


def _refuse_constant(name: str) -> Any:
    raise refusal(None, f"{name} is no JSON number; every number must be finite", name)


def _finite(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise refusal(None, "a number is too large; every number must be finite", text[:80])
    return number


_DECODER = json.JSONDecoder(
    object_pairs_hook=_distinct, parse_constant=_refuse_constant, parse_float=_finite
)


def _parsed(text: str) -> Any:
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as exc:
        raise refusal(None, f"not JSON: {exc.msg} at character {exc.pos}", text[:_HEAD]) from exc
    except ValueError as exc:
        raise refusal(None, f"a number has too many digits: {exc}", text[:_HEAD]) from exc
    if "\\ud" in text or "\\uD" in text:
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError as exc:
            raise refusal(None, "half of a surrogate pair is no Unicode text") from exc
    return value


Span = tuple[bool, int, bytes, str | None]
"""Whether of a mapping, offset in the file, the bytes, and why they were not read whole."""


class _Splitter:
    """Cuts the outermost mapping or list into its members, whatever the chunks it comes in."""

    def __init__(self, fail: Callable[[str], BadTaskData]) -> None:
        self._fail = fail
        self._depth = 0
        self._in_string = self._after_backslash = False
        self._closed = False
        self.is_mapping = True
        self._text = bytearray()
        self._length = 0
        self._why: str | None = None
        self._start = self._seen = 0
        self._any = False

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
        self.is_mapping = sign == b"{"
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
                self._why = self._why or _TOO_DEEP
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
        self._length += end - start
        if self._length > MAX_ROW_BYTES:
            self._why = self._why or _TOO_LARGE
        if self._why:
            del self._text[_HEAD:]
        room = _HEAD - len(self._text) if self._why else end - start
        if room > 0:
            self._text += chunk[start : min(end, start + room)]

    def _ended(self, sign: bytes, next_start: int) -> Iterator[Span]:
        self._closed = sign != b","
        self._depth = 0 if self._closed else 1
        text, why = bytes(self._text), self._why
        self._text.clear()
        self._length, self._why = 0, None
        if self._closed and not self._any and not text.strip():
            return
        if self._closed and sign != (b"}" if self.is_mapping else b"]"):
            raise self._fail(f"not JSON at byte {next_start - 1}")
        self._any = True
        yield self.is_mapping, self._start, text[:_HEAD] if why else text, why
        self._start = next_start


def _spans(path: Path, stream: BinaryIO) -> Iterator[Span]:
    splitter = _Splitter(lambda reason: BadTaskData(f"{path}: {reason}"))
    chunk = stream.read(_CHUNK).removeprefix(_BOM)
    while chunk:
        yield from splitter.feed(chunk)
        chunk = stream.read(_CHUNK)
    splitter.finish()
