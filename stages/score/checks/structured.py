"""Checks of JSON files."""

import re
from collections.abc import Sequence
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from stages.score.check import (
    CheckArgs,
    CheckSpec,
    CountArgs,
    RowDemands,
    Tolerance,
    Verdict,
    demanded,
    failed,
    share,
    spare_rows,
)
from stages.score.grids import bounds, counted
from stages.score.matching import key_of, quote, same, without_dates
from taskdata.schema.scores import Shortcoming
from taskdata.schema.views import JsonView

_PATH = re.compile(r"(?:\$\.?)?(?:[^.\[\]]+|\[-?[0-9]+\])?(?:\.[^.\[\]]+|\[-?[0-9]+\])*")
_STEP = re.compile(r"\[(?P<index>-?[0-9]+)\]|(?P<key>[^.\[\]]+)")


class _Absent:
    """Nothing is at a path; unlike null, which is a value."""


ABSENT = _Absent()


def _path(text: str) -> str:
    if not _PATH.fullmatch(text):
        raise ValueError(f"{text!r} is not a path such as a.b[0].c")
    return text


Path = Annotated[str, AfterValidator(_path)]
"""Keys and positions from the top: `a.b[0].c`; empty or `$` for the whole document."""

ExpectedJson = Annotated[Any, BeforeValidator(without_dates)]


def at_path(value: Any, path: str) -> Any:
    """Return what is at the path, `ABSENT` if there is nothing."""
    for step in _STEP.finditer(path.removeprefix("$")):
        if step["key"] is not None:
            if not isinstance(value, dict) or step["key"] not in value:
                return ABSENT
            value = value[step["key"]]
        else:
            index = int(step["index"])
            if not isinstance(value, list) or not -len(value) <= index < len(value):
                return ABSENT
            value = value[index]
    return value


def same_value(found: Any, expected: Any, tolerance: float) -> bool:
    """Return whether a JSON value is the expected one; objects may have further keys."""
    if isinstance(expected, dict):
        return isinstance(found, dict) and all(
            key in found and same_value(found[key], value, tolerance)
            for key, value in expected.items()
        )
    if isinstance(expected, list | tuple):
        return (
            isinstance(found, list)
            and len(found) == len(expected)
            and all(same_value(f, e, tolerance) for f, e in zip(found, expected, strict=True))
        )
    if isinstance(found, dict | list | _Absent):
        return False
    number = float(found) if isinstance(found, int) and not isinstance(found, bool) else found
    return same(number, expected, tolerance)


def _shown(value: Any) -> str:
    return "absent" if isinstance(value, _Absent) else "null" if value is None else quote(value)


class JsonValues(CheckArgs):
    """Values by path; lists and objects are compared item by item."""

    values: Annotated[dict[Path, ExpectedJson], Field(min_length=1)]
    tolerance: Tolerance = 0.0


def json_values(view: JsonView, args: JsonValues) -> Verdict:
    """Give the share of paths that hold the expected value."""
    wrong = []
    for path, expected in args.values.items():
        found = at_path(view.value, path)
        if not same_value(found, expected, args.tolerance):
            wrong.append(f"{path} is {_shown(found)}, expected {_shown(expected)}")
    asked = len(args.values)
    right = asked - len(wrong)
    return share(right, asked, counted(right, asked, "values", wrong))


class JsonLength(CountArgs):
    """Number of items of a list, or of keys of an object."""

    path: Path = ""


def json_length(view: JsonView, args: JsonLength) -> Verdict:
    """Give 10 when the number of items is within the bounds."""
    found = at_path(view.value, args.path)
    where = args.path or "the document"
    if not isinstance(found, list | dict):
        reason = f"{where} is {_shown(found)}, not a list or object"
        return failed(reason, Shortcoming.NO_LIST)
    expected = bounds(args.min, args.max)
    return args.verdict(len(found), f"{where} has {len(found)} items; expected {expected}")


class JsonItems(RowDemands):
    """Objects of a list, found by a key.

    More items than `max_rows` lower the score in proportion.
    """

    path: Path = ""
    key: str
    rows: Annotated[tuple[dict[str, ExpectedJson], ...], Field(min_length=1)]
    tolerance: Tolerance = 0.0

    @model_validator(mode="after")
    def _every_row_has_the_key(self) -> Self:
        for row in self.rows:
            if self.key not in row:
                raise ValueError(f"row {row} lacks the key {self.key!r}")
        return self


def json_items(view: JsonView, args: JsonItems) -> Verdict:
    """Give the share of expected values that are right; of items with one key the first counts."""
    found = at_path(view.value, args.path)
    if not isinstance(found, list):
        reason = f"{args.path or 'the document'} is {_shown(found)}, not a list"
        return failed(reason, Shortcoming.NO_LIST)
    items = _first_items(found, args.key)
    right, asked, wrong = 0, 0, list[str]()
    for row in args.rows:
        name = row[args.key]
        fields = [field for field in row if field != args.key] or [args.key]
        asked += len(fields)
        item = items.get(key_of(name))
        if item is None:
            wrong.append(f"no item {quote(name)}")
            continue
        for field in fields:
            value = item.get(field, ABSENT)
            if same_value(value, row[field], args.tolerance):
                right += 1
            else:
                wrong.append(
                    f"{quote(name)}.{field} is {_shown(value)}, expected {_shown(row[field])}"
                )
    verdict = share(right, asked, counted(right, asked, "values", wrong))
    most = spare_rows(len(args.rows)) if all(len(row) == 1 for row in args.rows) else None
    return demanded(verdict, len(found), args, "items", most)


def _first_items(found: Sequence[Any], key: str) -> dict[str, dict[str, Any]]:
    items: dict[str, dict[str, Any]] = {}
    for item in found:
        if isinstance(item, dict) and key in item and not isinstance(item[key], dict | list):
            items.setdefault(key_of(item[key]), item)
    return items


CHECKS = (
    CheckSpec("json_values", JsonValues, (JsonView,), json_values),
    CheckSpec("json_length", JsonLength, (JsonView,), json_length),
    CheckSpec("json_items", JsonItems, (JsonView,), json_items, version=2),
)
