"""When the night begins: a cron expression, and the time zone that it is read in.

Prefect judges both only when the night is served, and takes seconds to import.
"""

import re
from typing import Annotated, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator


class _Field(NamedTuple):
    name: str
    least: int
    most: int
    names: tuple[str, ...] = ()
    """Of the values from `least` on."""

    def value(self, text: str) -> int:
        """Return what a number or a name stands for."""
        if text.lower() in self.names:
            return self.least + self.names.index(text.lower())
        if text.isdigit() and self.least <= int(text) <= self.most:
            return int(text)
        raise ValueError(f"{self.name} {text!r}: expected {self.least} to {self.most}")


_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_FIELDS = (
    _Field("minute", 0, 59),
    _Field("hour", 0, 23),
    _Field("day of the month", 1, 31),
    _Field("month", 1, 12, _MONTHS),
    _Field("day of the week", 0, 7, ("sun", "mon", "tue", "wed", "thu", "fri", "sat")),
)
_PART = re.compile(
    r"(?:\*|(?P<first>\w{1,3})(?:-(?P<last>\w{1,3}))?)(?:/(?P<step>[1-9]\d?))?", re.ASCII
)


def cron_expression(text: str) -> str:
    """Return a cron expression of five fields as it is.

    Raises:
        ValueError: if it is none; says which field does not fit.
    """
    words = text.split()
    if len(words) != len(_FIELDS):
        names = ", ".join(field.name for field in _FIELDS)
        raise ValueError(f"has {len(words)} fields; expected {names}, such as '0 2 * * *'")
    for field, word in zip(_FIELDS, words, strict=True):
        for part in word.split(","):
            _require_part(field, part)
    return text


def _require_part(field: _Field, part: str) -> None:
    found = _PART.fullmatch(part)
    if found is None:
        raise ValueError(f"{field.name} {part!r}: expected such as *, 5, 1-5, */10 or 1,3")
    bounds = [field.value(text) for text in (found["first"], found["last"]) if text]
    if bounds != sorted(bounds):
        raise ValueError(f"{field.name} {part!r}: ends before it begins")


def time_zone(name: str) -> str:
    """Return the name of a time zone as it is.

    Raises:
        ValueError: if there is none of that name.
    """
    try:
        ZoneInfo(name)
    # Names that are no file's, a folder's, or lead out of the folder of zones.
    except (ZoneInfoNotFoundError, OSError, ValueError) as exc:
        raise ValueError("is no time zone; expected such as UTC or Europe/Berlin") from exc
    return name


Cron = Annotated[str, AfterValidator(cron_expression)]
TimeZone = Annotated[str, AfterValidator(time_zone)]
