"""Checks of running text and headings, in any format that has them."""

import re
from collections.abc import Sequence
from typing import Self

from pydantic import model_validator

from stages.score.check import (
    CheckArgs,
    CheckSpec,
    Count,
    Evidence,
    Forbidden,
    Groups,
    Names,
    Pattern,
    Verdict,
    crowded,
    failed,
    find_all,
    holds,
    share,
    within,
)
from stages.score.checks.tables import tables_of
from stages.score.matching import contains_phrase, contains_whole, fold, listed
from stages.score.plain_text import searchable_text
from stages.score.stated import Reading, is_heap, readings, states, without_heaps
from taskdata.schema.scores import Shortcoming
from taskdata.schema.views import (
    DocumentView,
    HtmlView,
    Paragraph,
    PdfView,
    SlidesView,
    Table,
    TextView,
)

_TITLE_WORDS = 25
"""A longer one is no heading or title, whatever it is marked as."""
_CELL_WORDS = 20
"""A cell with more words is a heap of them."""
_TITLES_PER_EXPECTED, _SPARE_TITLES = 3, 5
_HEAP = "the text is a heap of words without sentences"
_WITH_TABLES = (DocumentView, PdfView, SlidesView, HtmlView)
_TEXTS = (TextView, DocumentView, PdfView, SlidesView, HtmlView)


class TextContains(CheckArgs):
    """One alias of every group in `all`; no alias of `none` as whole words."""

    all: Groups
    none: Forbidden = ()

    @model_validator(mode="after")
    def _can_be_met(self) -> Self:
        forbidden = [fold(alias) for alias in self.none]
        for group in self.all:
            if all(any(contains_whole(fold(a), one) for one in forbidden) for a in group):
                raise ValueError(f"`none` forbids {group[0]!r}, which `all` demands")
        return self


def groups_found(text: str, groups: Groups, where: str, tables: Sequence[Table] = ()) -> Verdict:
    """Return the share of groups of which an alias is in `text`, heaps of words left out.

    A long table is a list of short items, too, so the cells of `tables` count in any case, unless
    they are the only ones of their rows.
    """
    cells = (cell for table in tables for row in table.rows if len(row) > 1 for cell in row)
    short = (cell for cell in cells if len(cell.split()) <= _CELL_WORDS)
    folded = fold("\n".join([without_heaps(text), *short]))
    found = [any(contains_phrase(folded, fold(a)) for a in group) for group in groups]
    return _share_of(groups, found, where)


def _share_of(groups: Groups, found: Sequence[bool], where: str) -> Verdict:
    missing = [group for group, is_there in zip(groups, found, strict=True) if not is_there]
    right = len(groups) - len(missing)
    reason = f"{where} has {right} of {len(groups)} expected texts"
    if missing:
        reason += f"; missing: {listed([g[0] for g in missing])}"
    return share(right, len(groups), reason)


def text_contains(evidence: Evidence, args: TextContains) -> Verdict:
    """Give the share of groups found, and nothing when a text of `none` is there.

    Heaps of words and endless lists do not count; of a final answer, what it states counts.
    """
    text = searchable_text(evidence)
    folded = fold(text)
    wrong = [a for a in args.none if contains_whole(folded, fold(a))]
    if wrong:
        reason = f"the text has {listed(wrong)}, which must not be there"
        return failed(reason, Shortcoming.FORBIDDEN)
    if not isinstance(evidence, str):
        tables = tables_of(evidence) if isinstance(evidence, _WITH_TABLES) else ()
        return groups_found(text, args.all, "the text", tables)
    stated = [_stated(reading, args.all) for reading in readings(evidence)]
    best = max(stated, key=sum, default=[False] * len(args.all))
    return _share_of(args.all, best, "the answer")


def _stated(reading: Reading, groups: Groups) -> list[bool]:
    return [
        states(reading, [_as_found(reading.text, fold(a)) for a in group], len(groups))
        for group in groups
    ]


def _as_found(text: str, alias: str) -> str:
    """Return the alias to the end of the word that it begins: `supplier` as `suppliers`."""
    if not contains_phrase(text, alias):
        return alias
    longer = re.search(rf"(?<!\w){re.escape(alias)}\w*", text)
    return longer[0] if longer else alias


class TextMatches(CheckArgs):
    """The pattern occurs `min_count` to `max_count` times."""

    pattern: Pattern
    min_count: Count = 1
    max_count: Count | None = None

    @model_validator(mode="after")
    def _asks_something(self) -> Self:
        if self.min_count == 0 and self.max_count is None:
            raise ValueError("needs min_count above 0 or max_count")
        return self


def text_matches(evidence: Evidence, args: TextMatches) -> Verdict:
    """Give the share of the matches asked for; nothing when there are too many."""
    text = searchable_text(evidence)
    if not text.strip():
        return failed("there is no text", Shortcoming.NO_TEXT)
    if args.min_count and is_heap(text):
        return failed(_HEAP, Shortcoming.HEAP)
    matches = find_all(args.pattern, text)
    found = f"{len(matches)} matches of {args.pattern}"
    if args.max_count is not None and len(matches) > args.max_count:
        reason = f"{found}; at most {args.max_count} expected"
        return failed(reason, Shortcoming.TOO_MANY)
    if args.min_count == 0:
        return holds(True, f"{found}; at most {args.max_count} expected")
    return share(len(matches), args.min_count, f"{found}; at least {args.min_count} expected")


class TextLength(CheckArgs):
    """The text has this many words."""

    min_words: Count | None = None
    max_words: Count | None = None

    @model_validator(mode="after")
    def _asks_something(self) -> Self:
        if self.min_words is None and self.max_words is None:
            raise ValueError("needs min_words or max_words")
        return self


def text_length(evidence: Evidence, args: TextLength) -> Verdict:
    """Give 10 when the number of words, split at white space, is within the bounds."""
    text = searchable_text(evidence)
    if is_heap(text):
        return failed(_HEAP, Shortcoming.HEAP)
    words = len(text.split())
    least = max(1, args.min_words or 0)
    most = args.max_words
    expected = f"at least {least}" if most is None else f"{least} to {most}"
    return within(words, least, most, f"{words} words; expected {expected}")


class Headings(CheckArgs):
    """These texts occur in headings, each in one of its own.

    A heading has at most 25 words, and one that names several of the texts counts for none. With
    more than three times as many headings as are expected, and five more, the score falls in
    proportion.
    """

    expected: Names
    in_order: bool = True
    level: int | None = None
    """Only headings of this level count: 1-9, 0 for a title."""


def headings(evidence: DocumentView | HtmlView | TextView, args: Headings) -> Verdict:
    """Give the share of expected headings found, in order where that is asked."""
    found = [
        fold(p.text)
        for p in _headings(evidence)
        if p.level is not None and (args.level is None or p.level == args.level)
    ]
    return titles_found(found, args.expected, args.in_order, "headings")


def titles_found(
    found: Sequence[str], expected: Sequence[str], in_order: bool, what: str
) -> Verdict:
    """Return the share of expected phrases that have one of the folded titles each."""
    wanted = [fold(text) for text in expected]
    titles = [
        text for text in found if len(text.split()) <= _TITLE_WORDS and not _several(text, wanted)
    ]
    right = longest_common_order(wanted, titles) if in_order else one_each(wanted, titles)
    how = " in this order" if in_order else ""
    reason = f"{right} of {len(wanted)} expected {what}{how}; found: {listed(found, 6) or 'none'}"
    allowed = _TITLES_PER_EXPECTED * len(wanted) + _SPARE_TITLES
    return crowded(share(right, len(wanted), reason), len(found), allowed, what)


def _several(title: str, wanted: Sequence[str]) -> bool:
    """Return whether the title names two of the phrases beside each other."""
    fits = sorted((one for one in set(wanted) if contains_phrase(title, one)), key=len)
    if len(fits) < 2:
        return False
    rest = title.replace(fits[-1], ";")
    return any(contains_phrase(rest, one) for one in fits[:-1])


def one_each(expected: Sequence[str], found: Sequence[str]) -> int:
    """Return how many of the expected phrases can have one of the texts to themselves."""
    fits = [[i for i, text in enumerate(found) if contains_phrase(text, one)] for one in expected]
    taken: dict[int, int] = {}

    def place(wanted: int, seen: set[int]) -> bool:
        for index in fits[wanted]:
            if index not in seen:
                seen.add(index)
                if index not in taken or place(taken[index], seen):
                    taken[index] = wanted
                    return True
        return False

    return sum(place(wanted, set()) for wanted in range(len(expected)))


def longest_common_order(expected: list[str], found: list[str]) -> int:
    """Return how many of the expected phrases are found, one text each, in the same order."""
    best = [0] * (len(expected) + 1)
    for text in found:
        for index in range(len(expected), 0, -1):
            if contains_phrase(text, expected[index - 1]):
                best[index] = max(best[index], best[index - 1] + 1)
        for index in range(1, len(best)):
            best[index] = max(best[index], best[index - 1])
    return best[-1]


def _headings(evidence: DocumentView | HtmlView | TextView) -> tuple[Paragraph, ...]:
    if isinstance(evidence, DocumentView):
        return evidence.paragraphs
    return evidence.headings if isinstance(evidence, HtmlView) else _markdown(evidence.text)


def _markdown(text: str) -> tuple[Paragraph, ...]:
    """Return the headings of a Markdown text, code blocks left out."""
    found = []
    in_code, previous = False, ""
    for line in text.split("\n"):
        if re.match(r" {0,3}(```|~~~)", line):
            in_code = not in_code
        elif not in_code:
            mark = re.match(r" {0,3}(#{1,6})[ \t]+(.*)", line)
            underline = re.fullmatch(r" {0,3}(=+|-+)[ \t]*", line)
            if mark:
                title = mark[2].rstrip().rstrip("#").rstrip()
                found.append(Paragraph(text=title, level=len(mark[1])))
            elif underline and previous.strip():
                level = 1 if "=" in underline[1] else 2
                found.append(Paragraph(text=previous.strip(), level=level))
        previous = "" if in_code else line
    return tuple(found)


CHECKS = (
    CheckSpec("text_contains", TextContains, (*_TEXTS, str), text_contains, version=2),
    CheckSpec("text_matches", TextMatches, (*_TEXTS, str), text_matches, version=2),
    CheckSpec("text_length", TextLength, (*_TEXTS, str), text_length, version=2),
    CheckSpec("headings", Headings, (DocumentView, HtmlView, TextView), headings, version=3),
)
