"""Rules about wording, for several languages: words that stand together in one sentence.

A rule is a line such as `ignore|forget & previous|earlier & instruction* ! printer`: one of the
words of every part must stand in the same sentence, near the word of the first part, in any order,
and none of the words after `!`. `*` stands for the rest of a word. Case and accents do not count.
A text is read in time linear in its length.
"""

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

_NEAR = 100
"""Characters to both sides of a word of the first part within which the other parts must stand."""
_FOLDER = Path(__file__).parent / "rules"
_END = re.compile(r"[.!?](?=[ \0]|$)|[。！？\0]")
_EASTERN = re.compile("[\u3040-\u30ff\u3400-\u9fff]")


@dataclass(frozen=True)
class Words:
    """Alternatives of which one must be found."""

    stems: tuple[str, ...]
    pattern: re.Pattern[str]

    def may_stand_in(self, text: str) -> bool:
        """Return whether the text holds one of the stems, perhaps inside another word."""
        # A plain search is many times faster than the pattern, and mostly finds nothing.
        return any(stem in text for stem in self.stems)

    def places(self, text: str) -> list[int]:
        """Return where they begin, in order."""
        if not self.may_stand_in(text):
            return []
        return [found.start() for found in self.pattern.finditer(text)]


@dataclass(frozen=True)
class Wording:
    """One rule."""

    name: str
    """The sign or category that it stands for."""
    language: str
    parts: tuple[Words, ...]
    unless: Words | None
    letters: frozenset[str]
    """Letters of which every match has one, for a rule in another script than Latin; else none."""


@dataclass(frozen=True)
class Match:
    """A place at which a rule applies."""

    name: str
    language: str
    start: int
    """Where the first part begins, in the text as `folded` returns it."""


def matches(text: str, rules: Sequence[Wording]) -> list[Match]:
    """Return the first place of every rule that applies to a text that `folded` has returned."""
    ends: list[int] | None = None
    found = []
    letters = set(text)
    for rule in rules:
        if rule.letters and rule.letters.isdisjoint(letters):
            continue
        if not all(part.may_stand_in(text) for part in rule.parts):
            continue
        places = [part.places(text) for part in rule.parts]
        if not all(places):
            continue
        ends = [end.start() for end in _END.finditer(text)] if ends is None else ends
        barred = rule.unless.places(text) if rule.unless else []
        start = _first(places, barred, ends)
        if start is not None:
            found.append(Match(rule.name, rule.language, start))
    return found


def folded(text: str) -> str:
    """Return the text in lower case, with single spaces and without accents."""
    plain = text if text.isascii() else unicodedata.normalize("NFKD", text)
    if not plain.isascii():
        plain = "".join(c for c in plain if not unicodedata.category(c).startswith(("M", "Cf")))
    return re.sub(r"[^\S\0]+", " ", plain.replace("’", "'").casefold())


@cache
def rules_of(name: str) -> tuple[Wording, ...]:
    """Return the rules of that file: lines by sign or category, by language."""
    read = yaml.safe_load((_FOLDER / f"{name}.yaml").read_text(encoding="utf-8"))
    return tuple(
        _wording(sign, language, line)
        for language, signs in read.items()
        for sign, lines in _lines(signs)
        for line in lines
    )


def _lines(signs: Mapping[str, Sequence[str]]) -> list[tuple[str, Sequence[str]]]:
    return list(signs.items())


def _wording(sign: str, language: str, line: str) -> Wording:
    wanted, _, unless = line.partition(" ! ")
    parts = tuple(_words(part) for part in wanted.split(" & "))
    foreign = (part for part in parts if not any(stem.isascii() for stem in part.stems))
    first = next(foreign, None)
    letters = frozenset(stem[0] for stem in first.stems) if first else frozenset()
    return Wording(sign, language, parts, _words(unless) if unless else None, letters)


def _words(part: str) -> Words:
    words = [folded(word).strip() for word in part.split("|")]
    return Words(
        stems=tuple(word.strip("*") for word in words),
        pattern=re.compile("|".join(map(_pattern, words))),
    )


def _pattern(word: str) -> str:
    stem = re.escape(word.strip("*"))
    if _EASTERN.search(word):
        return stem
    before = "" if word.startswith("*") else r"(?<!\w)"
    return before + stem + ("" if word.endswith("*") else r"(?!\w)")


def _first(places: Sequence[list[int]], barred: list[int], ends: list[int]) -> int | None:
    """Return the first place of the first part at which the rule applies."""
    for start in places[0]:
        low, high = _sentence(start, ends)
        low, high = max(low, start - _NEAR), min(high, start + _NEAR)
        if all(_within(part, low, high) for part in places[1:]) and not _within(barred, low, high):
            return start
    return None


def _sentence(start: int, ends: list[int]) -> tuple[int, int]:
    after = bisect_right(ends, start)
    return (ends[after - 1] if after else 0, ends[after] if after < len(ends) else 1 << 60)


def _within(places: list[int], low: int, high: int) -> bool:
    found = bisect_left(places, low)
    return found < len(places) and places[found] < high
