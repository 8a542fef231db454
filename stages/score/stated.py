"""What an answer states: one of few candidates, in a text of readable length.

An answer that names every possible result states none of them. So candidates of the requested kind
(times, numbers, codes, names) are counted. If there are too many, the answer is judged by its
conclusion, which is its first and last paragraph and its bold text; if there are too many there as
well, nothing is stated.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

from stages.score.matching import contains_whole, fold
from stages.score.numbers import close, numbers_in, read_number

MAX_WORDS = 400
"""Length of an answer that is judged as a whole; a longer one is judged by its conclusion."""
MOST_NUMBERS, MOST_TIMES, MOST_NAMES = 20, 12, 4
"""Other candidates allowed per kind: calculations have many numbers, but few names."""
MOST_ITEMS = 12
"""Short items, such as those of a list, allowed in a text besides its sentences."""
PER_GROUP = 2
"""Additional candidates for each requested thing."""

_MAGNITUDE = 10.0
"""Numbers within this factor of the expected one are candidates."""
_ITEM_WORDS = 4
_TIME = re.compile(r"[0-9]{1,2}[:.h][0-9]{2}(?![0-9])")
_CODE = re.compile(r"[^\W\d]{1,3}(?=[0-9]{3})")
_FIGURES = re.compile(r"\S*[0-9]\S*")
_GAP = re.compile(r"(?<=[^\W\d])[ -](?=[0-9])")
_MARK = re.compile(r"^\W*(?:final answer|answer)\W*:", re.IGNORECASE | re.MULTILINE)
_BOLD = re.compile(r"\*\*(.+?)\*\*|__(.+?)__")
_BETWEEN = re.compile(r"[,;/|\n\u2022\u00b7]|[.!?](?:\s|$)|\b(?:or|and)\b|&")


@dataclass(frozen=True)
class Reading:
    """A text by which an answer may be judged, folded."""

    text: str
    lines: tuple[str, ...]
    """The text by lines; the end of a line ends a list item."""

    @classmethod
    def of(cls, text: str) -> Self:
        """Return the reading of a text."""
        return cls(fold(text), tuple(filter(None, map(fold, text.splitlines()))))


def readings(answer: str) -> Iterator[Reading]:
    """Yield the texts by which an answer may be judged, the longest first."""
    marked = _MARK.search(answer)
    text = answer[marked.start() :] if marked else answer
    for part in (text, _conclusion(text)):
        if len(part.split()) <= MAX_WORDS:
            yield Reading.of(part)


def _conclusion(text: str) -> str:
    paragraphs = [part for part in re.split(r"\n\s*\n", text) if part.strip()]
    ends = paragraphs[:1] + paragraphs[1:][-1:]
    bold = [first or second for first, second in _BOLD.findall(text)]
    return "\n\n".join([*ends, *bold])


def names(text: str, alias: str) -> bool:
    """Return whether folded `text` contains folded `alias`: as whole words or an equal number."""
    if contains_whole(text, alias):
        return True
    code = _GAP.sub("", alias)
    if _CODE.match(code) and contains_whole(_GAP.sub("", text), code):
        return True
    number = read_number(alias)
    if number is None:
        return False
    return any(close(value, number, 0.0) for values in numbers_in(text) for value in values)


def names_wrong(text: str, alias: str) -> bool:
    """Return whether folded `text` contains a folded alias that is forbidden.

    Of a code such as `b2408.0` the number alone is enough, so leaving out its letter does not help.
    """
    return names(text, alias) or (
        _CODE.match(alias) is not None and names(text, _CODE.sub("", alias, count=1))
    )


def states(reading: Reading, aliases: Sequence[str], groups: int) -> bool:
    """Return whether a reading states one of the folded aliases, among few candidates."""
    named = [alias for alias in aliases if names(reading.text, alias)]
    return any(_few(reading, alias, PER_GROUP * groups) for alias in named)


def few_numbers(text: str, number: float) -> bool:
    """Return whether a text has few enough numbers to state one like `number`."""
    return _count_numbers(text, number) <= MOST_NUMBERS + PER_GROUP


def _few(reading: Reading, alias: str, more: int) -> bool:
    text = reading.text
    number = read_number(alias)
    if _TIME.fullmatch(alias):
        return len(set(_TIME.findall(text))) <= MOST_TIMES + more
    if number is not None:
        return _count_numbers(text, number) <= MOST_NUMBERS + more
    if re.search("[0-9]", alias):
        return len(set(_like(alias).findall(text))) <= MOST_NAMES + more
    return _few_items(reading.lines, alias, more)


def _count_numbers(text: str, number: float) -> int:
    """Return how many different numbers of about that size the text has."""
    found = {abs(values[0]) for values in numbers_in(text)}
    size = abs(number)
    return sum(not size or size / _MAGNITUDE <= value <= size * _MAGNITUDE for value in found)


def _like(alias: str) -> re.Pattern[str]:
    """Return a pattern for texts in the form of a code or date: letters and digits in order."""
    parts = re.findall(r"[0-9]+|[^\W\d_]+|[\W_]+", alias)
    shapes = (
        "[0-9]+" if part[0].isdigit() else r"[^\W\d_]+" if part[0].isalpha() else re.escape(part)
        for part in parts
    )
    return re.compile(r"(?<!\w)" + "".join(shapes) + r"(?!\w)")


def _few_items(lines: Sequence[str], alias: str, more: int) -> bool:
    """Return whether the text is no list, and the alias not merely an item of one."""
    run, longest, short = set[str](), 0, set[str]()
    # A long item ends the last run, too.
    for part in [*_BETWEEN.split("\n".join(lines)), "a " * (_ITEM_WORDS + 1)]:
        item = " ".join(_FIGURES.sub(" ", part).split()).strip(" -*()\"':#")
        if len(item.split()) > _ITEM_WORDS:
            if any(contains_whole(one, alias) for one in run):
                longest = max(longest, len(run))
            run = set()
        elif item:
            run.add(item)
            short.add(item)
    return longest <= MOST_NAMES + more and len(short) <= MOST_ITEMS + more
