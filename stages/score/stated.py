"""What an answer states: one of few candidates, in a text of readable length.

An answer that names every possible result states none of them. So candidates of the requested kind
(times, numbers, codes, names) are counted. If there are too many, the answer is judged by its
conclusion: by its first and last paragraph and bold text, then by bold text alone, then by what
follows the last `so` or `in total` of its last sentence. If there are too many everywhere, nothing
is stated.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

from stages.score.matching import contains_whole, fold
from stages.score.numbers import close, numbers_in, read_number

MAX_WORDS = 400
"""Length of an answer that is judged as a whole; a longer one is judged by its conclusion."""
MOST_NUMBERS, MOST_TIMES, MOST_CODES, MOST_NAMES = 5, 5, 3, 2
"""Other candidates allowed per kind: who calculates writes more numbers than names."""
MOST_ITEMS = 12
"""Short items, such as those of a list, allowed in a text besides its sentences."""
PER_GROUP = 1
"""Additional candidates for each requested thing."""
MOST_CLAUSE_WORDS = 35
"""Words between two punctuation marks: more of them are a heap of words, not a sentence."""

MOST_LISTED, MOST_HEAPED = 40, 80
"""Of a document, which may hold more than an answer: short items in a row, words in a clause."""

_MAGNITUDE = 10.0
"""Numbers within this factor of the expected one are candidates."""
_ITEM_WORDS = 3
_TIME = re.compile(r"[0-9]{1,2}[:.h][0-9]{2}(?![0-9])")
_CODE = re.compile(r"[^\W\d]{1,3}(?=[0-9]{3})")
_FIGURES = re.compile(r"\S*[0-9]\S*")
_GAP = re.compile(r"(?<=[^\W\d])[ -](?=[0-9])")
_MARK = re.compile(r"^\W*(?:final answer|answer)\W*:", re.IGNORECASE | re.MULTILINE)
_BOLD = re.compile(r"\*\*(.+?)\*\*|__(.+?)__")
_PARTS = re.compile(r"(?<=[,;:.!?|])\s+|\n|[\u2022\u00b7]")
_SPACED = re.compile(r"(?<=[0-9]) (?=[0-9]{3}(?![0-9]))")
_CLOSING = re.compile(
    r"(?:\b(?:so|therefore|thus|hence|in total|in all|altogether|overall|answer is)\b|=)",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=\S)|\n")
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
    text = answer[marked.end() :] if marked else answer
    paragraphs = [part for part in re.split(r"\n\s*\n", text) if part.strip()]
    ends = paragraphs[:1] + paragraphs[1:][-1:]
    bold = [first or second for first, second in _BOLD.findall(text)]
    parts = (text, ";\n".join([*ends, *bold]), ";\n".join(bold), _closing(text))
    for part in dict.fromkeys(parts):
        if part.strip() and len(part.split()) <= MAX_WORDS:
            yield Reading.of(part)


def _closing(text: str) -> str:
    """Return what follows the last word of conclusion in the last sentence, or nothing."""
    sentences = [part for part in _SENTENCE.split(text) if part.strip()]
    # One position in each answer, so that nobody can put several results there.
    ends = [mark.end() for mark in _CLOSING.finditer(sentences[-1])] if sentences else []
    parts = [sentences[-1][end:] for end in reversed(ends)]
    return next((part for part in parts if re.search("[0-9]", part)), "")


def without_heaps(text: str) -> str:
    """Return a document's text without what is no writing: heaps of words, long lists of items.

    A heap is a part without punctuation that no sentence is as long as. Items have at most three
    words each; a list of more than `MOST_LISTED` names everything and says nothing.
    """
    kept, run = list[str](), list[str]()
    for part in [*_PARTS.split(text), "a " * (_ITEM_WORDS + 1)]:
        words = len(part.split())
        if words <= _ITEM_WORDS:
            run += [part] * bool(words)
            continue
        if len({fold(item) for item in run}) <= MOST_LISTED:
            kept += run
        run = []
        if words <= MOST_HEAPED:
            kept.append(part)
    return "\n".join(kept[:-1])


def is_heap(text: str) -> bool:
    """Return whether more than half of a document's text is no writing, see `without_heaps`."""
    words = len(text.split())
    return words > MOST_HEAPED and len(without_heaps(text).split()) < words / 2


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
        return len(set(_like(alias).findall(text))) <= MOST_CODES + more
    # A name may be broken at the end of a line.
    lines = reading.lines if any(alias in line for line in reading.lines) else (text,)
    return _few_items(lines, alias, more)


def _count_numbers(text: str, number: float) -> int:
    """Return how many different numbers of about that size the text has."""
    # `165 168 172` may be one number with spaces in it, and is rather three.
    apart = _SPACED.sub(";", text)
    found = {abs(values[0]) for part in (text, apart) for values in numbers_in(part)}
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
    """Return whether the alias is said in a clause, or is an item of a short list."""
    allowed = MOST_NAMES + more
    runs, clauses = _runs_and_clauses(lines)
    if len(set().union(*runs)) > MOST_ITEMS + more:
        return False
    said = [*clauses, *(item for run in runs if len(run) <= allowed for item in run)]
    return any(
        _said_of(part, alias, (*clauses, *set().union(*runs))) <= allowed
        for part in said
        if contains_whole(part, alias)
    )


def _runs_and_clauses(lines: Sequence[str]) -> tuple[list[set[str]], list[str]]:
    """Return the runs of short items, and the longer parts between punctuation marks."""
    runs, clauses = [set[str]()], list[str]()
    for part in _BETWEEN.split("\n".join(lines)):
        item = " ".join(_FIGURES.sub(" ", part).split()).strip(" -*()\"':#")
        if len(item.split()) > _ITEM_WORDS:
            runs.append(set())
            if len(part.split()) <= MOST_CLAUSE_WORDS:
                clauses.append(item)
        elif item:
            runs[-1].add(item)
    return runs, clauses


def _said_of(part: str, alias: str, parts: Sequence[str]) -> int:
    """Return of how many things the parts say what this one says of the alias."""
    if part == alias:
        return 1
    pattern = re.compile(r".{1,60}".join(re.escape(text) for text in part.split(alias)))
    return len({other for other in parts if pattern.fullmatch(other)})
