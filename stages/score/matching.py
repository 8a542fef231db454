"""When a text or a cell equals the expected one; the same for all checks."""

import re
import unicodedata
from collections.abc import Sequence
from datetime import date
from typing import Annotated, Any

from pydantic import BeforeValidator, Strict

from stages.score.numbers import close, plain, read_number
from taskdata.schema.views import Cell

Found = str | float | bool | None
"""A value in a deliverable: a cell, or an item of a JSON document."""


def without_dates(value: Any) -> Any:
    """Return the value with dates as ISO text, as in views; YAML parses 2024-03-31 as a date."""
    if isinstance(value, dict):
        return {key: without_dates(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [without_dates(item) for item in value]
    return value.isoformat() if isinstance(value, date) else value


Expected = Annotated[
    Annotated[bool, Strict()] | Annotated[float, Strict()] | Annotated[str, Strict()] | None,
    BeforeValidator(without_dates),
]
"""A value that a task expects."""

_DASHES = dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2014\u2212"), "-")
_QUOTES = dict.fromkeys(map(ord, "\u2018\u2019\u201b\u02bc"), "'") | dict.fromkeys(
    map(ord, "\u201c\u201d\u201e"), '"'
)
_INVISIBLE = dict.fromkeys(map(ord, "\u00ad\u200b\u200c\u200d\u2060\ufeff"), None)
_TRANSLATION = _DASHES | _QUOTES | _INVISIBLE
_MIDNIGHT = re.compile(r"(\d{4}-\d\d-\d\d)[t ]00:00(:00(\.0+)?)?")
_REASON_TEXT = 80


def fold(text: str) -> str:
    """Return `text` for comparison: case, white space, dashes and quotes made uniform."""
    return " ".join(unicodedata.normalize("NFKC", text).translate(_TRANSLATION).casefold().split())


def quote(value: object) -> str:
    """Return a found value for a reason: short, on one line, without control characters."""
    if isinstance(value, float) and not isinstance(value, bool):
        return plain(value)
    text = "nothing" if value is None or value == "" else str(value)
    text = "".join(char if char.isprintable() else " " for char in text[: 4 * _REASON_TEXT])
    text = " ".join(text.split())
    return text if len(text) <= _REASON_TEXT else text[: _REASON_TEXT - 3] + "..."


def storable(text: str) -> str:
    """Return `text` without NUL and lone surrogates, which databases refuse."""
    return text.replace("\0", "").encode("utf-8", "replace").decode("utf-8")


def listed(items: Sequence[object], most: int = 4) -> str:
    """Return some of the items for a reason, and how many more there are."""
    shown = ", ".join(quote(item) for item in items[:most])
    return f"{shown} and {len(items) - most} more" if len(items) > most else shown


def same(found: Found, expected: Expected, tolerance: float = 0.0, percent: bool = False) -> bool:
    """Return whether a found value is the expected one.

    Numbers may be written as text and lie within `tolerance`; where the value is written as a
    percentage (its text, or with `percent` its number format), 12 % is 0.12 as well as 12. Texts
    compare folded; None expects nothing there.
    """
    if isinstance(expected, bool):
        return (
            found == expected if isinstance(found, bool) else _text(found) == str(expected).lower()
        )
    if expected is None:
        return found is None or _text(found) == ""
    if isinstance(expected, str):
        written = read_number(expected)
        if written is not None and isinstance(found, float) and not isinstance(found, bool):
            return close(found, written, tolerance)
        return _text(found) == _text(expected)
    if isinstance(found, bool) or found is None:
        return False
    number = read_number(found) if isinstance(found, str) else found
    if number is None:
        return False
    values = [number]
    if isinstance(found, str) and "%" in found:
        values.append(number / 100)
    elif percent:
        values.append(number * 100)
    return any(close(value, expected, tolerance) for value in values)


def same_cell(cell: Cell | None, expected: Expected, tolerance: float = 0.0) -> bool:
    """Return whether a worksheet cell holds the expected value, see `same`."""
    if cell is None:
        return same(None, expected)
    return same(cell.value, expected, tolerance, percent="%" in cell.number_format)


def _text(value: Found) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return f"{value:.15g}"
    text = fold(value or "")
    midnight = _MIDNIGHT.fullmatch(text)
    return midnight[1] if midnight else text


def contains_whole(text: str, alias: str) -> bool:
    """Return whether folded `text` has folded `alias` as whole words (GTA's answer rule).

    As in the published scorer, except that an alias that starts or ends with a symbol (`$4`)
    needs no word boundary there.
    """
    pattern = re.escape(alias)
    start = r"(?<!\w)" if re.match(r"\w", alias) else ""
    end = r"(?!\w)" if re.search(r"\w$", alias) else ""
    return re.search(start + pattern + end, text) is not None


def contains_phrase(text: str, alias: str) -> bool:
    """Return whether folded `text` has folded `alias` from the start of a word on.

    `supplier` finds `suppliers`, `day` does not find `monday`; a number is found only as a whole:
    `12` is found neither in `120` nor in `12.5` nor in `1,12`.
    """
    start = r"(?<!\w)" if re.match(r"\w", alias) else ""
    if re.match(r"[0-9]", alias):
        start += r"(?<![0-9][.,])"
    end = r"(?![0-9]|[.,][0-9])" if re.search(r"[0-9]$", alias) else ""
    return re.search(start + re.escape(alias) + end, text) is not None


def key_of(value: Found | Expected) -> str:
    """Return what identifies a row or item: equal for a number and the text that writes it."""
    if isinstance(value, str):
        number = read_number(value)
        # 007 is a name, not the number 7.
        if number is None or re.match(r"0[0-9]", value.strip()):
            return _text(value)
        value = number
    return _text(value)
