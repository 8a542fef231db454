"""The facts that the requirements of a deliverable name, and whether a view still states them.

A mutation counts only if it removes a fact that a requirement names, because a tree need not notice
any other. Facts come from the arguments of checks (rows, texts, sheets, columns, numbers of rows,
sums) and from the words of their requirements (numbers and names). Only facts that the reference
states are used.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stages.construct.proof.adversarial.grids import Grid, grids_of, lists_of_objects
from stages.score.matching import Found, contains_phrase, fold, key_of, same, without_dates
from stages.score.numbers import close, read_number
from stages.score.plain_text import searchable_text
from taskdata.schema.checkpoint import Check, Checkpoint
from taskdata.schema.views import (
    AudioView,
    CsvView,
    DocumentView,
    HtmlView,
    JsonView,
    PdfView,
    SlidesView,
    UnreadableView,
    VideoView,
    View,
    WorkbookView,
)

_FIGURE = re.compile(r"[-\u2212]?\d[\d.,:/-]*\d|\d\d+")
_NAME = re.compile(r"(?<=[a-z0-9,;:(] )[A-Z][\w-]+(?: [A-Z][\w-]+)*")
_COUNT = re.compile(r"[a-z]+|\d{1,4}")
_CURRENCIES = {"EUR", "USD", "GBP", "CHF", "JPY"}
"""Currency codes are no facts, because a deliverable may have the currency's sign instead."""
_ROWS, _SLIDES, _PAGES = "rows", "slides", "pages"
_COUNTED = {"csv_rows": _ROWS, "pptx_slides": _SLIDES, "pdf_pages": _PAGES}
"""Checks that count something without a name."""
_NUMBERS = (
    *("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty"),
)
_COUNT_WORDS = {word: number for number, word in enumerate(_NUMBERS, start=2)}


@dataclass(frozen=True)
class Said:
    """The content of a view in a form that can be compared with facts."""

    rows: frozenset[frozenset[str]]
    """Sets of values that are together in one row, object, cell or path."""
    names: frozenset[str]
    """Names of sheets and columns."""
    text: str
    counts: frozenset[tuple[str, int]]
    """Numbers of rows by the name of a column, of items by path, and of slides and pages."""
    sums: tuple[tuple[str, float], ...]
    """Sums of columns, by the names of the columns."""
    charts: int
    seconds: float | None


@dataclass(frozen=True)
class Fact:
    """A fact that a requirement names; exactly one of the fields is set."""

    row: frozenset[str] = frozenset()
    phrases: tuple[str, ...] = ()
    """Alternatives: each of them states the fact."""
    name: str = ""
    count: tuple[str, int] | None = None
    sum: tuple[str, float, float] | None = None
    """Column, sum, tolerance."""
    charts: int = 0
    seconds: tuple[float, float] | None = None
    """Length and tolerance."""

    def holds(self, said: Said) -> bool:
        """Return whether a view with this content states the fact."""
        if self.row:
            return any(self.row <= row for row in said.rows)
        if self.phrases:
            return any(contains_phrase(said.text, phrase) for phrase in self.phrases)
        if self.name:
            return self.name in said.names
        if self.count is not None:
            return self.count in said.counts
        if self.sum is not None:
            column, expected, tolerance = self.sum
            return any(n == column and close(s, expected, tolerance) for n, s in said.sums)
        if self.seconds is not None:
            length, tolerance = self.seconds
            return said.seconds is not None and abs(said.seconds - length) <= tolerance
        return said.charts >= self.charts


def said_by(view: View | str) -> Said:
    """Return the comparable content of a view or of the final answer."""
    if isinstance(view, str):
        return Said(frozenset(), frozenset(), fold(view), frozenset(), (), 0, None)
    grids = () if isinstance(view, UnreadableView) else grids_of(view)
    rows = {frozenset(map(key_of, filter(_is_said, row))) for grid in grids for row in grid.rows}
    rows |= {frozenset(pair) for pair in _pairs(view)}
    return Said(
        rows=frozenset(rows),
        names=frozenset(_names(view, grids)),
        text=fold(text_of(view)),
        counts=frozenset(_counts(view, grids)),
        sums=tuple(_sums(grids)),
        charts=_charts(view),
        seconds=view.seconds if isinstance(view, AudioView | VideoView) else None,
    )


def facts_of(leaves: Sequence[Checkpoint], view: View | str) -> tuple[Fact, ...]:
    """Return the facts that these leaves name and that the view states.

    Args:
        leaves: The leaves with a check of this deliverable, or of the final answer.
        view: What the reference left.
    """
    said = said_by(view)
    grids = () if isinstance(view, str | UnreadableView) else grids_of(view)
    found: dict[Fact, None] = {}
    for leaf in leaves:
        if isinstance(leaf.verifier, Check):
            of_check = [*_of_check(leaf.verifier, grids), *_stated(leaf.verifier, said.text)]
            found |= dict.fromkeys(of_check)
            # If the check accepts an alias, the requirement's own word is not required.
            aliases = {alias for fact in of_check for alias in fact.phrases}
            words = _of_words(leaf.requirement, _counted(leaf.verifier))
            found |= dict.fromkeys(fact for fact in words if aliases.isdisjoint(fact.phrases))
    return tuple(fact for fact in found if fact.holds(said))


def figures_of(leaves: Sequence[Checkpoint], view: View | str) -> dict[str, float]:
    """Return the number of rows and the sum of each column that the leaves' checks name.

    The keys say in words what was measured; columns of one name are measured together.
    """
    said = said_by(view)
    checks = [leaf.verifier for leaf in leaves if isinstance(leaf.verifier, Check)]
    named = {fold(str(name)) for check in checks for name in _named(check.args)}
    found: dict[str, float] = {}
    for name, rows in said.counts:
        if name in named:
            found[f"rows with a {name}"] = found.get(f"rows with a {name}", 0.0) + rows
    for name, total in said.sums:
        if name in named:
            found[f"sum of {name}"] = found.get(f"sum of {name}", 0.0) + total
    return found


def text_of(view: View) -> str:
    """Return the whole text of a view."""
    parts = [searchable_text(view)]
    for grid in grids_of(view):
        parts += ["\n".join(str(value) for value in row if value is not None) for row in grid.rows]
        parts.append("\n".join(str(value) for value in grid.header if value is not None))
    match view:
        case HtmlView():
            parts += [view.title, *view.links, *view.ids]
        case DocumentView():
            parts += [view.header, view.footer]
        case SlidesView():
            parts += [text for slide in view.slides for text in (slide.title, slide.notes)]
        case WorkbookView():
            parts += [sheet.name for sheet in view.sheets]
        case _:
            pass
    return "\n".join(parts)


def _is_said(value: Found) -> bool:
    return value is not None and value != ""


def _pairs(view: View) -> Iterator[tuple[str, str]]:
    """Yield each address or path with its value."""
    if isinstance(view, WorkbookView):
        for sheet in view.sheets:
            for address, cell in sheet.cells.items():
                if _is_said(cell.value):
                    yield f"{fold(sheet.name)}!{address}", key_of(cell.value)
    elif isinstance(view, JsonView):
        for path, value in scalars(view.value):
            yield f"at {path}", key_of(value)


def scalars(value: Any, path: str = "") -> Iterator[tuple[str, Found]]:
    """Yield the path and the value of every scalar in a JSON document."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from scalars(item, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from scalars(item, f"{path}[{index}]")
    elif _is_said(value):
        yield path, value


def _names(view: View, grids: Sequence[Grid]) -> Iterator[str]:
    if isinstance(view, WorkbookView):
        yield from (fold(sheet.name) for sheet in view.sheets)
    for grid in grids:
        yield from (fold(value) for value in grid.header if isinstance(value, str))


def _counts(view: View, grids: Sequence[Grid]) -> Iterator[tuple[str, int]]:
    for grid in grids:
        rows = len(grid.rows)
        yield from ((fold(name), rows) for name in grid.header if isinstance(name, str))
        if isinstance(view, CsvView):
            yield _ROWS, rows
    if isinstance(view, JsonView):
        yield from ((f"at {path}", len(items)) for path, items in lists_of_objects(view.value))
    elif isinstance(view, SlidesView):
        yield _SLIDES, len(view.slides)
    elif isinstance(view, PdfView):
        yield _PAGES, view.page_count


def _sums(grids: Sequence[Grid]) -> Iterator[tuple[str, float]]:
    for grid in grids:
        for column, name in enumerate(grid.header):
            if isinstance(name, str):
                values = (row[column] for row in grid.rows if column < len(row))
                yield fold(name), sum(filter(None, map(_number, values)))


def _number(value: Found) -> float | None:
    if isinstance(value, bool):
        return None
    return read_number(value) if isinstance(value, str) else value


def _charts(view: View) -> int:
    if isinstance(view, WorkbookView):
        return sum(len(sheet.charts) for sheet in view.sheets)
    if isinstance(view, SlidesView):
        return sum(len(slide.charts) for slide in view.slides)
    return 0


def _of_check(check: Check, grids: Sequence[Grid]) -> Iterator[Fact]:
    args = without_dates(check.args)
    tolerance = float(args.get("tolerance") or 0.0)
    yield from _of_rows(args.get("rows") or (), grids, tolerance)
    yield from (Fact(name=fold(str(name))) for name in _named(args))
    for path, value in _expected_at_paths(args):
        yield Fact(row=frozenset((path, key_of(value))))
    least, most = args.get("min", args.get("min_rows")), args.get("max", args.get("max_rows"))
    counted = _counted(check)
    if counted is not None and isinstance(least, int) and least == most:
        yield Fact(count=(counted, least))
    if "column" in args and isinstance(args.get("expected"), int | float):
        total = (fold(str(args["column"])), float(args["expected"]), tolerance)
        yield Fact(sum=total)
    elif "seconds" in args:
        yield Fact(seconds=(float(args["seconds"]), tolerance))
    elif "expected" in args or "all" in args or "ids" in args:
        for group in _groups(args.get("all", args.get("expected", args.get("ids")))):
            yield Fact(phrases=tuple(fold(alias) for alias in group))
    if check.name.endswith("_charts"):
        yield Fact(charts=int(args.get("min", 1)))


def _named(args: Mapping[str, Any]) -> Iterator[Any]:
    """Yield the names of sheets and columns, and of the fields of expected objects."""
    yield from (args[name] for name in ("sheet", "column", "key") if args.get(name) is not None)
    yield from (*(args.get("columns") or ()), *(args.get("names") or ()))
    for row in args.get("rows") or ():
        yield from row if isinstance(row, Mapping) else ()


def _of_rows(rows: Sequence[Any], grids: Sequence[Grid], tolerance: float) -> Iterator[Fact]:
    """Yield each expected row with the values that the reference has for it."""
    if not rows:
        return
    holding: defaultdict[str, list[Sequence[Found]]] = defaultdict(list)
    for grid in grids:
        for row in grid.rows:
            for key in {key_of(value) for value in row if _is_said(value)}:
                holding[key].append(row)
    for expected in rows:
        values = list(expected.values() if isinstance(expected, Mapping) else expected)
        plain = [v for v in values if _is_said(v) and not isinstance(v, dict | list)]
        near = next((holding[k] for v in plain if (k := key_of(v)) in holding), [])
        for found in near:
            keys = [_key_in(found, _as_found(value), tolerance) for value in plain]
            if all(keys):
                yield Fact(row=frozenset(filter(None, keys)))
                break


def _key_in(row: Sequence[Found], expected: Found, tolerance: float) -> str | None:
    found = (v for v in row if _is_said(v) and same(v, expected, tolerance))
    return next((key_of(value) for value in found), None)


def _as_found(value: Any) -> Found:
    if isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    found: Found = value
    return found


def _expected_at_paths(args: Mapping[str, Any]) -> Iterator[tuple[str, Found]]:
    values = args.get("values")
    if isinstance(values, Mapping):
        for path, expected in values.items():
            top = str(path).removeprefix("$").removeprefix(".")
            for below, value in scalars(expected):
                joined = f"{top}{below}" if below.startswith("[") or not top else f"{top}.{below}"
                yield f"at {joined if below else top}", value
    cells = args.get("cells")
    if isinstance(cells, Mapping):
        for address, value in cells.items():
            if _is_said(value):
                yield f"{fold(str(args['sheet']))}!{str(address).upper()}", value


def _stated(check: Check, text: str) -> Iterator[Fact]:
    """Yield the number that the answer has to state, in the spelling of the answer."""
    expected = check.args.get("expected")
    if check.name == "answer_number" and isinstance(expected, int | float):
        tolerance = float(check.args.get("tolerance") or 0.0)
        written = dict.fromkeys(re.findall(r"(?<![\w.,:])\d[\d.,]*", text))
        said = ((one.rstrip(".,"), read_number(one.rstrip(".,"))) for one in written)
        right = (one for one, n in said if n is not None and close(n, abs(expected), tolerance))
        if phrases := tuple(right):
            yield Fact(phrases=phrases)


def _groups(named: Any) -> Iterator[tuple[str, ...]]:
    for group in named if isinstance(named, list | tuple) else [named]:
        yield tuple(map(str, group)) if isinstance(group, list | tuple) else (str(group),)


def _counted(check: Check) -> str | None:
    """Return what a number in the check's requirement may count, None if it counts nothing."""
    if check.name in _COUNTED:
        return _COUNTED[check.name]
    if check.name.startswith("json_"):
        return f"at {check.args.get('path', '')}"
    column = check.args.get("key") or next(iter(check.args.get("columns") or ()), None)
    return None if column is None else fold(str(column))


def _of_words(requirement: str, counted: str | None) -> Iterator[Fact]:
    """Yield the figures and names in a requirement, and the numbers of things that it names."""
    words = requirement.rstrip(".")
    for figure in _FIGURE.findall(words):
        yield Fact(phrases=(fold(figure),))
    for name in _NAME.findall(words):
        if name not in _CURRENCIES:
            yield Fact(phrases=(fold(name),))
    for word in _COUNT.findall(words.lower()) if counted is not None else ():
        count = _COUNT_WORDS.get(word) or (int(word) if word.isdecimal() else 0)
        if count > 1 and counted is not None:
            yield Fact(count=(counted, count))
