"""Worthless work for one task, which a good checkpoint tree gives few points.

Cheats are made as views, like mutants. Each fills all parts that a file of its kind can have.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stages.construct.proof.adversarial.facts import text_of
from stages.construct.proof.adversarial.grids import grids_of
from stages.construct.proof.adversarial.parts import blank, skeleton
from stages.score.library import kind_of_file
from taskdata.schema.checkpoint import Check
from taskdata.schema.task import Task
from taskdata.schema.views import (
    AudioView,
    Cell,
    CsvView,
    DocumentView,
    HtmlView,
    ImageView,
    JsonView,
    Page,
    Paragraph,
    PdfView,
    Sheet,
    Slide,
    SlidesView,
    Table,
    TextRun,
    TextView,
    View,
    WorkbookView,
)

_MOST_CHARACTERS, _MOST_ROWS, _MOST_COLUMNS = 60_000, 1_500, 30
_MOST_CELLS = 40_000
_MOST_CANDIDATES = 400
_MOST_SLIDES, _SLIDE_CHARACTERS = 60, 400
_NEAR = 6
"""So many numbers are tried below an expected number, and as many above it."""
_TOKEN = re.compile(r"[^\W\d_]+|\d[\d.,:]*\d|\d")
_NAME = re.compile(r"[A-Z][^\W\d_]+(?: [A-Z][^\W\d_]+)*")
_FIGURE = re.compile(r"\d[\d.,:]*\d|\d")
_TIME = re.compile(r"(\d{1,2}):(\d\d)")
_TABLE_SIDES = 4
_MOST_WORDS = 5_000
_IDLE = tuple(
    """There is much to say about this, and it has been thought over with care. On the one side it
    is clear, on the other side it is less so, as such things often are. Every point was looked
    at, some of them twice, and what was found is written down here in good order. Whoever reads
    this will see that the work was done well, and that all was kept in mind.""".split()  # noqa: SIM905 - it is prose
)
"""Sentences that fit any task and answer none."""


@dataclass(frozen=True)
class Cheat:
    """Worthless deliverables and a worthless final answer."""

    name: str
    views: Mapping[str, View]
    answer: str


@dataclass(frozen=True)
class _Heap:
    """Text and tables that a cheat puts into its files."""

    text: str
    tables: tuple[Table, ...]


def cheats_of(task: Task, inputs: Mapping[str, View], left: Mapping[str, View]) -> list[Cheat]:
    """Return the cheats for a task.

    Args:
        task: A task whose deliverables have file names, not patterns such as `*.docx`.
        inputs: Views of the task's readable files, by path.
        left: The deliverables of the task's reference, by name; empty without a reference.
    """
    everything = _everything(task, inputs)
    words = list(dict.fromkeys(_TOKEN.findall(everything.text)))
    listed = _listed(words)
    copied = {d.name: view for d in task.deliverables if (view := _copied(d.name, inputs))}
    found = [
        Cheat("everything dumped", _dumped(task, everything), everything.text),
        Cheat("all words and numbers", _dumped(task, listed), ", ".join(words)),
    ]
    if copied:
        found.append(Cheat("inputs copied", copied, task.query))
    if words_asked := _least_words(task):
        idle = _idle_talk(words_asked)
        found.append(Cheat("idle talk of the length asked for", _dumped(task, idle), idle.text))
    for name, candidates in _candidates(task, everything.text):
        answer = "Final answer: " + " or ".join(candidates)
        found.append(Cheat(name, _dumped(task, _listed(candidates)), answer))
    if bare := {name: view for name, old in left.items() if (view := skeleton(old) or blank(old))}:
        found.append(Cheat("skeletons without content", bare, ""))
    return found


def _everything(task: Task, inputs: Mapping[str, View]) -> _Heap:
    texts = [task.query, *map(text_of, inputs.values())]
    tables, left = list[Table](), _MOST_CELLS
    for grid in (grid for view in inputs.values() for grid in grids_of(view)):
        rows = tuple(_as_texts(row) for row in [grid.header, *grid.rows][:_MOST_ROWS])
        left -= sum(map(len, rows))
        if left < 0:
            break
        tables.append(Table(rows=rows))
    return _Heap("\n".join(texts)[:_MOST_CHARACTERS], tuple(tables))


def _as_texts(row: Sequence[object]) -> tuple[str, ...]:
    return tuple("" if value is None else str(value) for value in row[:_MOST_COLUMNS])


def _listed(items: Sequence[str]) -> _Heap:
    some = items[:_MOST_ROWS]
    text = "\n".join(f"- {item}" for item in items)[:_MOST_CHARACTERS]
    rows = [tuple(some[n : n + _TABLE_SIDES]) for n in range(0, len(some), _TABLE_SIDES)]
    return _Heap(text, (Table(rows=tuple(rows)),) if rows else ())


def _copied(name: str, inputs: Mapping[str, View]) -> View | None:
    """Return the largest input of the same kind as the deliverable, None without one."""
    kind = kind_of_file(name)
    same = [view for view in inputs.values() if type(view) is kind]
    return max(same, key=lambda view: len(view.model_dump_json()), default=None)


def _candidates(task: Task, text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield lists of candidates: those in the inputs, and numbers around the expected ones."""
    checks = [n.verifier for n in task.checkpoints.leaves() if isinstance(n.verifier, Check)]
    said = (one for c in checks if c.name.startswith(("answer", "text")) for one in _expected(c))
    near = [one for right in said for one in _around(right)]
    found = [*_FIGURE.findall(text), *_NAME.findall(text)]
    for name, items in (("candidates enumerated", found), ("near candidates enumerated", near)):
        if listed := list(dict.fromkeys(items))[:_MOST_CANDIDATES]:
            yield name, listed


def _least_words(task: Task) -> int:
    """Return the most words that a check of length wants at least; 0 without such a check."""
    checks = [n.verifier for n in task.checkpoints.leaves() if isinstance(n.verifier, Check)]
    least = [c.args.get("min_words") for c in checks if c.name == "text_length"]
    return min(max((n for n in least if isinstance(n, int)), default=0), _MOST_WORDS)


def _idle_talk(words: int) -> _Heap:
    """Return prose of that many words that says nothing about anything."""
    said = (_IDLE * (words // len(_IDLE) + 1))[:words]
    return _Heap(" ".join(said), ())


def _flat(value: Any) -> Iterator[Any]:
    for item in value if isinstance(value, list | tuple) else [value]:
        yield from _flat(item) if isinstance(item, list | tuple) else [item]


def _expected(check: Check) -> Iterator[str]:
    if "expected" in check.args:
        yield from (str(one) for one in _flat(check.args["expected"]))
    for group in check.args.get("all", ()):
        yield str(group[0] if isinstance(group, list | tuple) and group else group)


def _around(candidate: str) -> list[str]:
    """Return a number or time together with close ones; empty for any other text."""
    if time := _TIME.fullmatch(candidate):
        minutes = int(time[1]) * 60 + int(time[2])
        near = (minutes + 5 * step for step in range(-_NEAR, _NEAR + 1))
        return [f"{m // 60}:{m % 60:02}" for m in near]
    digits = candidate.replace(",", "")
    if not re.fullmatch(r"\d{1,15}(\.\d{1,6})?", digits):
        return []
    places = len(digits.partition(".")[2])
    step = max(10**-places, float(digits) / 50 if not places else 0.0)
    return [f"{float(digits) + n * step:.{places}f}" for n in range(-_NEAR, _NEAR + 1)]


def _dumped(task: Task, heap: _Heap) -> dict[str, View]:
    made = ((d.name, _MADE.get(kind_of_file(d.name))) for d in task.deliverables)
    return {name: make(heap) for name, make in made if make is not None}


def _lines(heap: _Heap) -> list[str]:
    return [line for line in heap.text.splitlines() if line.strip()][:_MOST_ROWS]


def _headings(heap: _Heap) -> tuple[Paragraph, ...]:
    return tuple(Paragraph(text=line, level=1) for line in _lines(heap))


def _csv(heap: _Heap) -> View:
    largest = max(heap.tables, key=lambda t: len(t.rows), default=None)
    rows = largest.rows if largest else tuple((line,) for line in _lines(heap))
    return CsvView(table=Table(rows=rows))


def _json(heap: _Heap) -> View:
    value: dict[str, Any] = {"text": heap.text}
    for number, table in enumerate(heap.tables, start=1):
        header, *rows = table.rows or ((),)
        value[f"table{number}"] = [dict(zip(header, row, strict=False)) for row in rows]
    return JsonView(value=value)


def _docx(heap: _Heap) -> View:
    text = heap.text[:_MOST_CHARACTERS]
    return DocumentView(
        paragraphs=_headings(heap), tables=heap.tables, images=1, header=text, footer=text
    )


def _html(heap: _Heap) -> View:
    return HtmlView(
        title=heap.text[:200],
        headings=_headings(heap),
        text=heap.text,
        tables=heap.tables,
        links=tuple(f"#{line}" for line in _lines(heap)),
    )


def _pdf(heap: _Heap) -> View:
    page = Page(text=heap.text, tables=heap.tables, width=595, height=842, images=1)
    return PdfView(pages=(page,), page_count=1)


def _slides(heap: _Heap) -> View:
    texts = [line[:_SLIDE_CHARACTERS] for line in _lines(heap)][:_MOST_SLIDES]
    slides = [Slide(title=t, runs=(TextRun(text=t, size_pt=20, is_title=True),)) for t in texts]
    if slides and heap.tables:
        slides[0] = slides[0].model_copy(update={"tables": heap.tables, "notes": heap.text})
    return SlidesView(slides=tuple(slides), width_pt=720, height_pt=540)


def _workbook(heap: _Heap) -> View:
    rows = [tuple((line,) for line in _lines(heap)), *(table.rows for table in heap.tables)]
    sheets = tuple(_sheet(f"Sheet{n}", one) for n, one in enumerate(rows, start=1))
    return WorkbookView(sheets=sheets)


def _sheet(name: str, rows: Sequence[Sequence[str]]) -> Sheet:
    from openpyxl.utils.cell import get_column_letter

    cells = {
        f"{get_column_letter(column)}{number}": Cell(value=value)
        for number, row in enumerate(rows, start=1)
        for column, value in enumerate(row, start=1)
        if value
    }
    return Sheet(name=name, cells=cells, rows=len(rows), columns=_MOST_COLUMNS)


def _noise(_: _Heap) -> View:
    shades = [
        f"{r:02X}{g:02X}{b:02X}"
        for r in range(0, 256, 64)
        for g in range(0, 256, 64)
        for b in range(0, 256, 64)
    ]
    return ImageView(
        format="PNG",
        width=1024,
        height=1024,
        mode="RGB",
        grid=(("808080",) * 32,) * 32,
        colours=dict.fromkeys(shades, 1 / len(shades)),
        mean_luminance=128,
        contrast=74,
    )


def _hum(_: _Heap) -> View:
    return AudioView(
        seconds=60, sample_rate=44_100, channels=1, peak=0.5, rms=0.3, envelope=(0.3,) * 600
    )


_MADE: dict[type | None, Callable[[_Heap], View]] = {
    TextView: lambda heap: TextView(text=heap.text),
    CsvView: _csv,
    JsonView: _json,
    DocumentView: _docx,
    HtmlView: _html,
    PdfView: _pdf,
    SlidesView: _slides,
    WorkbookView: _workbook,
    ImageView: _noise,
    AudioView: _hum,
}
