"""Reads one JSON object per line; a malformed line is reported and the others are read."""

import json
import math
from collections.abc import Iterator
from typing import Any, BinaryIO

from stages.intake.readers.raw import (
    TOO_LONG,
    Fault,
    Line,
    RawRow,
    capped_lines,
    first_words,
    not_utf8,
    short_name,
)
from taskdata.formats.splitting import refused_within

_NOT_FINITE = object()


def read_jsonl(stream: BinaryIO, origin: str) -> Iterator[RawRow]:
    """Yield every line that is not blank, with its line number.

    Raises:
        BadTaskData: if the first line is not UTF-8, because then it is not a text file.
    """
    first = True
    for number, line in enumerate(capped_lines(stream), 1):
        if line.data.strip():
            yield _row(number, line, origin if first else None)
            first = False


def _row(number: int, line: Line, origin: str | None) -> RawRow:
    excerpt = first_words(line.data[:4096].decode(errors="replace").strip())
    if line.is_cut:
        fault = Fault(_refused_within(line.data), TOO_LONG.reason)
        return RawRow(number, excerpt, fault=fault)
    try:
        text = line.data.decode()
    except UnicodeDecodeError as exc:
        if origin is not None:
            raise not_utf8(origin, f"line {number}", exc.start + 1) from exc
        return RawRow(number, excerpt, fault=Fault(None, f"not UTF-8 at byte {exc.start + 1}"))
    parsed = _parse(text.rstrip())
    if isinstance(parsed, Fault):
        return RawRow(number, excerpt, fault=parsed)
    return RawRow(number, excerpt, fields=parsed)


def _parse(text: str) -> dict[str, object] | Fault:
    repeated: list[str] = []

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            keys = [key for key, _value in pairs]
            repeated.extend(key for key in found if keys.count(key) > 1)
        return found

    try:
        value = json.loads(
            text,
            object_pairs_hook=once,
            parse_constant=lambda _name: _NOT_FINITE,
            parse_float=_finite,
        )
    except json.JSONDecodeError as exc:
        return Fault(None, f"not JSON: {exc.msg.removesuffix(' at')} at column {exc.colno}")
    except RecursionError:
        return Fault(_refused_within(text.encode()), "nested too deeply")
    except ValueError:  # an integer of more digits than Python converts
        return Fault(None, "holds a number that is too long")
    if not isinstance(value, dict):
        return Fault(None, f"expected a JSON object, got {_kind(value)}")
    if repeated:
        return Fault(short_name(repeated[0]), "is given more than once")
    for name, content in value.items():
        if _holds_no_number(content):
            return Fault(short_name(name), "NaN and Infinity are no JSON values")
    return value


def _refused_within(row: bytes) -> str | None:
    name = refused_within(row)
    return None if name is None else short_name(name)


def _finite(digits: str) -> object:
    number = float(digits)
    return number if math.isfinite(number) else _NOT_FINITE


def _holds_no_number(value: object) -> bool:
    # Iterative instead of recursive, because a row's nesting is untrusted.
    waiting = [value]
    while waiting:
        found = waiting.pop()
        if found is _NOT_FINITE:
            return True
        if isinstance(found, dict):
            waiting.extend(found.values())
        elif isinstance(found, list):
            waiting.extend(found)
    return False


def _kind(value: object) -> str:
    kinds = {list: "a list", str: "a text", bool: "true or false", type(None): "null"}
    return kinds.get(type(value), "a number")
