"""Makes mutants: copies of the reference with one fault each, as in mutation testing.

The faults are made in the views that renderers have read out of the reference's files: checks look
at views only, so no file is opened.
"""

import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Any, TypeVar

from stages.construct.proof.adversarial.facts import (
    Fact,
    facts_of,
    said_by,
    scalars,
    text_of,
)
from stages.construct.proof.adversarial.grids import Grid, grids_of
from stages.construct.proof.adversarial.parts import (
    BLANK_WHAT,
    blank,
    cut,
    sections,
    skeleton,
    with_text_changed,
    without_charts,
)
from stages.score.matching import Found, quote
from stages.score.numbers import plain, read_number
from taskdata.schema.checkpoint import Checkpoint
from taskdata.schema.views import (
    CsvView,
    HtmlView,
    JsonView,
    UnreadableView,
    View,
    WorkbookView,
)

_TRIED = 12
"""The most places at which a kind of fault is tried in one deliverable."""
_OTHER = "something else"
_MOST_LETTERS = 60
"""The longest number or name that is changed, in characters."""
FIGURE = re.compile(r"(?<![\w.,:])(?<!\d[-/'])\d(?:[\d.,:/'-]*\d)?(?![\w])")
"""Numbers, times and dates in a text."""
_NAME = re.compile(r"\b[A-Z][\w-]+(?: [A-Z][\w-]+){0,4}")
_DIGIT = re.compile(r"\d")

T = TypeVar("T")


class Fault(StrEnum):
    """The kinds of faults."""

    DELETED = "deleted"
    RENAMED = "renamed"
    EMPTIED = "emptied"
    SKELETON = "skeleton"
    BLANKED = "blanked"
    """A picture of one colour, a silent recording."""
    CUT = "cut"
    VALUE = "value swapped"
    ROW_DROPPED = "row dropped"
    ROW_ADDED = "row added"
    COLUMN = "column renamed"
    SHEET = "sheet renamed"
    FIGURE = "figure changed"
    NAME = "name changed"
    SECTION = "section dropped"
    CHART = "chart removed"
    LINK = "link changed"


MOST = {
    Fault.VALUE: 4,
    Fault.FIGURE: 4,
    Fault.NAME: 3,
    Fault.ROW_DROPPED: 2,
    Fault.ROW_ADDED: 2,
    Fault.COLUMN: 2,
    Fault.SECTION: 2,
}
"""The most mutants of each kind for one deliverable; of a kind that is not listed, one."""


@dataclass(frozen=True)
class Mutant:
    """A reference with one fault in one deliverable, or in its final answer."""

    fault: Fault
    deliverable: str | None
    """None: the final answer."""
    what: str
    """A description of the fault."""
    left: View | str | None
    """The deliverable or answer with the fault; None: it is missing."""


@dataclass(frozen=True)
class Mutants:
    """Mutants of one deliverable, and the number of faults that remove no named fact."""

    asked_for: tuple[Mutant, ...]
    not_asked_for: int


@dataclass(frozen=True)
class _Site:
    what: str
    change: Callable[[], View | str]


def mutants_of(
    name: str | None, left: View | str, leaves: Sequence[Checkpoint], seed: str, *, is_file: bool
) -> Mutants:
    """Return the mutants of one deliverable; equal arguments give equal mutants.

    Args:
        name: Name of the deliverable; None: the final answer.
        left: The reference's deliverable or answer.
        leaves: The leaves with a check that looks at it.
        seed: Random seed for the places of the faults.
        is_file: Whether an agent could leave the file out or misname it.
    """
    facts = facts_of(leaves, left)
    rng = random.Random(f"{seed}/{name}")  # noqa: S311 - nothing secret depends on it
    found: list[Mutant] = []
    if is_file and name is not None and not isinstance(left, str):
        found += (
            Mutant(fault, name, what, after) for fault, what, after in _as_a_whole(name, left)
        )
    idle = 0
    for fault, sites in _sites(left, rng).items():
        kept = 0
        for site in sites:
            if kept == MOST.get(fault, 1):
                break
            after = site.change()
            if after == left:
                continue
            if _removes(facts, after):
                found.append(Mutant(fault, name, site.what, after))
                kept += 1
            else:
                idle += 1
    return Mutants(tuple(found), idle)


def _removes(facts: Sequence[Fact], after: View | str) -> bool:
    said = said_by(after)
    return not all(fact.holds(said) for fact in facts)


def _as_a_whole(name: str, view: View) -> Iterator[tuple[Fault, str, View | None]]:
    yield Fault.DELETED, "it is missing", None
    yield Fault.RENAMED, f"it has the name renamed-{name.rpartition('/')[2]}", None
    yield Fault.EMPTIED, "it has no bytes", UnreadableView(reason="it is empty")
    bare = skeleton(view)
    if bare is not None and bare != view:
        yield Fault.SKELETON, "only its headings, sheets and columns are left", bare
    if (nothing := blank(view)) is not None and nothing != view:
        yield Fault.BLANKED, BLANK_WHAT, nothing


def _sites(left: View | str, rng: random.Random) -> Mapping[Fault, Sequence[_Site]]:
    """Return some places for each kind of fault, in random order."""
    if isinstance(left, str):
        return {Fault.FIGURE: _figures(left, left, rng), Fault.NAME: _names(left, left, rng)}
    grids = grids_of(left)
    text = "" if isinstance(left, WorkbookView | JsonView | CsvView) else text_of(left)
    found = {
        Fault.VALUE: _some([*_values(grids, rng), *_json_values(left, rng)], rng),
        Fault.ROW_DROPPED: _rows(grids, rng),
        Fault.ROW_ADDED: _some(_more_rows(grids), rng),
        Fault.COLUMN: _some(_columns(grids), rng),
        Fault.SHEET: _some(_sheets(left), rng),
        # The values of tables and data are swapped one by one instead.
        Fault.FIGURE: _figures(left, text, rng),
        Fault.NAME: _names(left, text, rng),
        Fault.SECTION: _some([_made(what, view) for what, view in sections(left)], rng),
        Fault.LINK: _some(_links(left), rng),
    }
    for fault, what, changed in (
        (Fault.CHART, "its charts are gone", without_charts(left)),
        (Fault.CUT, "its second half is missing", cut(left)),
    ):
        if changed is not None:
            found[fault] = [_made(what, changed)]
    return found


def _some(items: Iterable[T], rng: random.Random) -> list[T]:
    """Return at most `_TRIED` of the items, drawn at random."""
    known = list(items)
    return rng.sample(known, min(_TRIED, len(known)))


def _made(what: str, changed: View) -> _Site:
    return _Site(what, lambda: changed)


def _first(row: Sequence[Found]) -> str:
    return quote(row[0] if row else None)


def _values(grids: Sequence[Grid], rng: random.Random) -> Iterator[_Site]:
    places = (
        (grid, number, column)
        for grid in grids
        for number, row in enumerate(grid.rows)
        for column, value in enumerate(row)
        if value is not None and value != ""
    )
    for grid, number, column in _some(places, rng):
        row = grid.rows[number]
        value, others = row[column], [r[column] for r in grid.rows if column < len(r)]
        new = other_value(value, others)
        name = grid.header[column] if column < len(grid.header) else None
        what = (
            f"{grid.where}, row {_first(row)}, column {quote(name)}: {quote(value)} is {quote(new)}"
        )
        yield _Site(what, partial(grid.with_value, number, column, new))


def other_value(value: Found, others: Sequence[Found]) -> Found:
    """Return a wrong value for this place: another value of the column, or another number."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return float(other_figure(plain(float(value))))
    text = str(value)
    if read_number(text) is not None or (_DIGIT.match(text) and FIGURE.fullmatch(text)):
        return other_figure(text)
    different = sorted({o for o in others if isinstance(o, str) and o and o != text})
    return different[0] if different else _OTHER


def other_figure(text: str) -> str:
    """Return the number or time with another first digit, so that it is at least 10 % off."""
    return _DIGIT.sub(lambda d: "1" if d[0] == "9" else str(int(d[0]) + 1), text, count=1)


def _json_values(view: View, rng: random.Random) -> Iterator[_Site]:
    """Yield changes of values in a JSON document that are not in a list of objects."""
    if not isinstance(view, JsonView):
        return
    listed = bool(grids_of(view))
    found = ((path, value) for path, value in scalars(view.value) if not (listed and "[" in path))
    for path, value in _some(found, rng):
        new = other_value(value, ())
        what = f"{path}: {quote(value)} is {quote(new)}"
        yield _Site(what, partial(_with_scalar, view, path, new))


def _with_scalar(view: JsonView, path: str, new: Found) -> JsonView:
    def changed(value: Any, at: str) -> Any:
        if at == path:
            return new
        if isinstance(value, dict):
            return {k: changed(v, f"{at}.{k}" if at else str(k)) for k, v in value.items()}
        if isinstance(value, list):
            return [changed(item, f"{at}[{index}]") for index, item in enumerate(value)]
        return value

    return JsonView(value=changed(view.value, ""))


def _rows(grids: Sequence[Grid], rng: random.Random) -> list[_Site]:
    places = ((grid, number) for grid in grids for number in range(len(grid.rows)))
    return [
        _Site(
            f"{grid.where}: the row {_first(grid.rows[number])} is missing",
            partial(grid.without_row, number),
        )
        for grid, number in _some(places, rng)
    ]


def _more_rows(grids: Sequence[Grid]) -> Iterator[_Site]:
    for grid in grids:
        new = tuple(_extra(value, index) for index, value in enumerate(grid.rows[-1]))
        what = f"{grid.where}: there is one more row, {_first(new)}"
        yield _Site(what, partial(grid.with_row, new))


def _extra(value: Found, index: int) -> Found:
    """Return the value of an added row, derived from the same column's value in the last row."""
    if isinstance(value, str) and index == 0:
        return f"{value} extra"
    return other_value(value, ()) if isinstance(value, float) else value


def _columns(grids: Sequence[Grid]) -> Iterator[_Site]:
    for grid in grids:
        for column, name in enumerate(grid.header):
            if isinstance(name, str) and name:
                what = f"{grid.where}: the column {quote(name)} is called {_OTHER!r}"
                yield _Site(what, partial(grid.with_header, column, _OTHER))


def _sheets(view: View) -> Iterator[_Site]:
    if not isinstance(view, WorkbookView):
        return
    for index, sheet in enumerate(view.sheets):

        def renamed(index: int = index) -> View:
            new = view.sheets[index].model_copy(update={"name": _OTHER})
            sheets = (*view.sheets[:index], new, *view.sheets[index + 1 :])
            return view.model_copy(update={"sheets": sheets})

        yield _Site(f"the sheet {sheet.name!r} is called {_OTHER!r}", renamed)


def _figures(left: View | str, text: str, rng: random.Random) -> list[_Site]:
    """Return changes of a number, time or date at all its places in a text."""
    return [
        _everywhere(
            left,
            re.compile(rf"(?<![\w.,:]){re.escape(figure)}(?![\w]|[.,:]\d)"),
            figure,
            other_figure(figure),
        )
        for figure in _some(_short(FIGURE.findall(text)), rng)
    ]


def _names(left: View | str, text: str, rng: random.Random) -> list[_Site]:
    """Return changes of a name at all its places in a text."""
    return [
        _everywhere(left, re.compile(rf"\b{re.escape(name)}\b"), name, _OTHER.title())
        for name in _some(_short(_NAME.findall(text)), rng)
    ]


def _short(found: Iterable[str]) -> list[str]:
    return sorted({one for one in found if len(one) <= _MOST_LETTERS})


def _everywhere(left: View | str, pattern: re.Pattern[str], old: str, new: str) -> _Site:
    def changed(text: str) -> str:
        return pattern.sub(new, text)

    def change() -> View | str:
        return changed(left) if isinstance(left, str) else with_text_changed(left, changed)

    return _Site(f"{quote(old)} is {quote(new)} wherever it stands", change)


def _links(view: View) -> Iterator[_Site]:
    if isinstance(view, HtmlView):
        for index, link in enumerate(view.links):

            def changed(index: int = index) -> View:
                links = (*view.links[:index], "#", *view.links[index + 1 :])
                return view.model_copy(update={"links": links})

            yield _Site(f"the link {quote(link)} leads nowhere", changed)
