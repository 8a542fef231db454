"""How an argument names the result of another step, and how two arguments are compared.

A plan is made before its steps are carried out, so an argument may stand for a value that only an
earlier step will give: `<result of step 2>`, or with words for a part of it,
`<result of step 2: the total>`. Steps are counted from 1, in step-wise form with the prefix.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any

_REFERENCE = re.compile(
    r"<\s*results?\s+of\s+step\s+(\d{1,4})\s*(?::\s*([^<>]{0,300}?)\s*)?>", re.I
)
_IN_WORDS = re.compile(
    r"\b(?:steps?|results?|outputs?|returned|returns|previous(?:ly)?|earlier|above|obtained"
    r"|extracted|computed|determined|identified|found|given|from)\b|<[^<>]*>|\{\{?[^{}]*\}\}?|\$\w",
    re.I,
)


def named_steps(value: Any) -> Iterator[int]:
    """Yield the numbers of the steps whose results the argument names in the agreed form."""
    if isinstance(value, str):
        for found in _REFERENCE.finditer(value):
            yield int(found[1])
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from named_steps(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from named_steps(part)


def stands_for_value(text: str) -> bool:
    """Return whether a text may stand for a value that is not known yet.

    A text in the agreed form does; only a judge can tell whether other words mean a result.
    """
    return _REFERENCE.search(text) is not None or _IN_WORDS.search(text) is not None


def same_arguments(
    given: Mapping[str, Any], expected: Mapping[str, Any], schema: Mapping[str, Any]
) -> bool:
    """Return whether two calls of a tool have the same arguments.

    What equals the default of the tool's schema counts as left out. White space and the form of
    Unicode do not matter, nor does 2 against 2.0; upper case does. Two results of earlier steps are
    the same if they are of one step; words for a part of it must agree only if both have some.
    """
    declared = schema.get("properties")
    declared = declared if isinstance(declared, Mapping) else {}
    ours, theirs = _without_defaults(given, declared), _without_defaults(expected, declared)
    return ours.keys() == theirs.keys() and all(_same(ours[key], theirs[key]) for key in ours)


def _without_defaults(values: Mapping[str, Any], declared: Mapping[str, Any]) -> dict[str, Any]:
    def is_default(name: str, value: Any) -> bool:
        part = declared.get(name)
        return isinstance(part, Mapping) and "default" in part and _same(value, part["default"])

    return {name: value for name, value in values.items() if not is_default(name, value)}


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, str) and isinstance(other, str):
        return _same_text(one, other)
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(_same, one, other))
    # True equals 1 in Python, and not in JSON.
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def _same_text(one: str, other: str) -> bool:
    if one == other:
        return True
    ours, theirs = _REFERENCE.findall(one), _REFERENCE.findall(other)
    if [number for number, _ in ours] != [number for number, _ in theirs]:
        return False
    parts_agree = all(
        not mine or not its or _plain(mine) == _plain(its)
        for (_, mine), (_, its) in zip(ours, theirs, strict=True)
    )
    return parts_agree and _plain(_REFERENCE.sub("<>", one)) == _plain(_REFERENCE.sub("<>", other))


def _plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).split())
