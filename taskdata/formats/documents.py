"""JSON that somebody else wrote, read row by row with bounds on size and nesting.

A document is cut into the members of its outermost mapping or list before anything is parsed, so
that one hostile member costs neither memory nor the rest of the file. What is not JSON at all, or
ends too early, is refused as a whole.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from taskdata.errors import BadTaskData, Misuse
from taskdata.formats.rows import RawRow, RowRefused, refusal
from taskdata.formats.splitting import (
    HEAD,
    MAX_ROW_BYTES,
    TOO_DEEP,
    TOO_LARGE,
    Span,
    Splitter,
    is_too_deep,
    refused_within,
)
from taskdata.places import UNSTORABLE, first_place, is_not_finite, is_unstorable

_MAX_SMALL = 16 << 20
_CHUNK = 1 << 20
_BOM = b"\xef\xbb\xbf"
_ESCAPED = re.compile(r"\\u(?:0000|[dD][89a-fA-F])")


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
        for number, span in enumerate(_spans(path, stream), start=1):
            if span.why is not None:
                excerpt = span.text[:HEAD].decode("utf-8", "replace")
                item = str(number - 1) if span.key is None else span.key
                yield RawRow(number, item, refused=refusal(span.refused_within, span.why, excerpt))
                continue
            key, value, refused = _member(path, span)
            yield RawRow(number, str(number - 1) if key is None else key, value, refused)


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
                where = refused_within(line)
                while not line.endswith(b"\n") and (more := stream.readline(_CHUNK)):
                    line = line[:HEAD] + more[-1:]
                excerpt = line[:HEAD].decode("utf-8", "replace")
                yield RawRow(number, refused=refusal(where, TOO_LARGE, excerpt))
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
    data = text.encode("utf-8", "replace")
    if is_too_deep(data):
        raise refusal(refused_within(data), TOO_DEEP, text[:HEAD])
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


def _member(path: Path, span: Span) -> tuple[str | None, Any, RowRefused | None]:
    """Return key, value and what is wrong with them."""
    whole = _text(path, span.text, span.start)
    where = f"{path}: not JSON near byte {span.start}"
    try:
        if not span.is_mapping:
            return None, _parsed(whole), None
        ((key, value),) = _parsed("{" + whole + "}").items()
    except RowRefused as exc:
        if isinstance(exc.__cause__, json.JSONDecodeError):
            raise BadTaskData(f"{where}: {exc.__cause__.msg}") from exc
        within = None if exc.field in (None, span.key) else exc.field.removeprefix(f"{span.key}.")
        return span.key, None, refusal(within, str(exc), exc.value)
    except ValueError as exc:
        raise BadTaskData(f"{where}: expected one member") from exc
    return key, value, None


def _text(path: Path, data: bytes, start: int, where: str = "") -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as exc:
        raise BadTaskData(f"{path}: not UTF-8 at {where}byte {start + exc.start}") from exc


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in found if names.count(name) > 1)
        raise refusal(twice, f"the key {twice[:80]!r} stands twice in one mapping")
    return found


class _NotFinite(Exception):
    """A number that JSON has no sign for, or that is larger than any float."""


def _refuse_constant(name: str) -> Any:
    raise _NotFinite(f"{name} is no JSON number; every number must be finite")


def _finite(text: str) -> float:
    number = float(text)
    if is_not_finite(number):
        raise _NotFinite("a number is too large; every number must be finite")
    return number


_DECODER = json.JSONDecoder(
    object_pairs_hook=_distinct, parse_constant=_refuse_constant, parse_float=_finite
)
_LENIENT = json.JSONDecoder(parse_int=float)
"""Takes what is not finite, or has too many digits, so that it can be found."""


def _parsed(text: str) -> Any:
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as exc:
        says = f"not JSON: {exc.msg.removesuffix(' at')} at character {exc.pos}"
        raise refusal(None, says, text[:HEAD]) from exc
    except (_NotFinite, ValueError) as exc:
        says = str(exc) if isinstance(exc, _NotFinite) else "a number has too many digits"
        raise refusal(_place_of_number(text), says, text[:HEAD]) from exc
    if _ESCAPED.search(text):
        place = first_place(value, is_unstorable)
        if place is not None:
            raise refusal(place.where or None, UNSTORABLE, place.found)
    return value


def _place_of_number(text: str) -> str | None:
    """Return where the first number stands that is not finite, as far as the text is JSON."""
    try:
        place = first_place(_LENIENT.decode(text), is_not_finite)
    except ValueError:
        return None
    return (place and place.where) or None


def _spans(path: Path, stream: BinaryIO) -> Iterator[Span]:
    splitter = Splitter(lambda reason: BadTaskData(f"{path}: {reason}"))
    chunk = stream.read(_CHUNK).removeprefix(_BOM)
    while chunk:
        yield from splitter.feed(chunk)
        chunk = stream.read(_CHUNK)
    splitter.finish()
