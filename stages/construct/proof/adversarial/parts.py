"""Returns copies of a view without a part: a section, the charts, its content, or all of it."""

import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

from pydantic import TypeAdapter

from stages.construct.proof.adversarial.grids import grids_of
from taskdata.schema.views import (
    ArchiveView,
    AudioView,
    CsvView,
    DocumentView,
    HtmlView,
    ImageView,
    JsonView,
    Paragraph,
    PdfView,
    Slide,
    SlidesView,
    SvgView,
    TextView,
    VideoView,
    View,
    WorkbookView,
)

BLANK_WHAT = "it is blank: one colour, or silence"
_VIEW: TypeAdapter[View] = TypeAdapter(View)
_HEADING = re.compile(r"^(#{1,6} .*)$", re.MULTILINE)
_NO_TEXT = {"kind", "style", "formula", "number_format", "fill", "delimiter", "lang", "format"}
_TITLE_WORDS = 6
_WHITE = "FFFFFF"


def with_text_changed(view: View, change: Callable[[str], str]) -> View:
    """Return the view with every text in it changed; formulas, colours and styles stay."""

    def walk(value: Any) -> Any:
        if isinstance(value, str):
            return change(value)
        if isinstance(value, dict):
            return {k: v if k in _NO_TEXT else walk(v) for k, v in value.items()}
        if isinstance(value, list | tuple):
            return type(value)(map(walk, value))
        return value

    return _VIEW.validate_python(walk(view.model_dump()))


def sections(view: View) -> Iterator[tuple[str, View]]:
    """Yield for each part of the view a description and the view without the part."""
    match view:
        case TextView():
            for what, text in _text_sections(view.text):
                yield what, TextView(text=text)
        case DocumentView():
            for what, kept in _paragraph_sections(view.paragraphs):
                yield what, view.model_copy(update={"paragraphs": kept})
        case HtmlView():
            yield from _html_sections(view)
        case PdfView() | SlidesView() | WorkbookView():
            yield from _page_sections(view)
        case JsonView() if isinstance(view.value, dict):
            for key in view.value:
                rest = {k: v for k, v in view.value.items() if k != key}
                yield f"{key} is missing", JsonView(value=rest)
        case ArchiveView():
            for entry in view.entries:
                kept_ = tuple(one for one in view.entries if one != entry)
                yield f"{entry.name} is missing", ArchiveView(entries=kept_)
        case SvgView():
            for text in view.texts:
                left = tuple(one for one in view.texts if one != text)
                yield f"the text {text[:40]!r} is missing", view.model_copy(update={"texts": left})
        case _:
            return


def _page_sections(view: PdfView | SlidesView | WorkbookView) -> Iterator[tuple[str, View]]:
    """Yield the view without each of its pages, slides or sheets, if there are several."""
    match view:
        case PdfView():
            for number, pages in _one_less(view.pages):
                changes = {"pages": pages, "page_count": len(pages)}
                yield f"page {number + 1} is missing", view.model_copy(update=changes)
        case SlidesView():
            for number, slides in _one_less(view.slides):
                what = f"slide {number + 1}, {view.slides[number].title!r}, is missing"
                yield what, view.model_copy(update={"slides": slides})
        case WorkbookView():
            for number, sheets in _one_less(view.sheets):
                what = f"the sheet {view.sheets[number].name!r} is missing"
                yield what, view.model_copy(update={"sheets": sheets})


def _one_less(items: tuple[Any, ...]) -> Iterator[tuple[int, tuple[Any, ...]]]:
    for number in range(len(items) if len(items) > 1 else 0):
        yield number, (*items[:number], *items[number + 1 :])


def _text_sections(text: str) -> Iterator[tuple[str, str]]:
    starts = [match.start() for match in _HEADING.finditer(text)]
    if starts:
        for start, end in pairwise([*starts, len(text)]):
            yield _missing(text[start:end].splitlines()[0]), text[:start] + text[end:]
        return
    parts = re.split(r"\n\s*\n", text)
    for index, part in enumerate(parts if len(parts) > 1 else ()):
        yield _missing(part), "\n\n".join([*parts[:index], *parts[index + 1 :]])


def _paragraph_sections(
    paragraphs: tuple[Paragraph, ...],
) -> Iterator[tuple[str, tuple[Paragraph, ...]]]:
    tops = [index for index, one in enumerate(paragraphs) if one.level is not None]
    for start, end in pairwise([*tops, len(paragraphs)]):
        yield _missing(paragraphs[start].text), (*paragraphs[:start], *paragraphs[end:])


def _html_sections(view: HtmlView) -> Iterator[tuple[str, View]]:
    for index, heading in enumerate(view.headings):
        start = view.text.find(heading.text)
        following = view.headings[index + 1].text if index + 1 < len(view.headings) else None
        end = len(view.text) if following is None else view.text.find(following, start + 1)
        if heading.text and 0 <= start < end:
            headings = (*view.headings[:index], *view.headings[index + 1 :])
            text = view.text[:start] + view.text[end:]
            changes = {"headings": headings, "text": text}
            yield _missing(heading.text), view.model_copy(update=changes)


def _missing(title: str) -> str:
    return f"the part {' '.join(title.split())[:60]!r} is missing"


def without_charts(view: View) -> View | None:
    """Return the view without charts; None if it has none."""
    match view:
        case WorkbookView() if any(sheet.charts for sheet in view.sheets):
            sheets = tuple(sheet.model_copy(update={"charts": ()}) for sheet in view.sheets)
            return view.model_copy(update={"sheets": sheets})
        case SlidesView() if any(slide.charts for slide in view.slides):
            slides = tuple(slide.model_copy(update={"charts": ()}) for slide in view.slides)
            return view.model_copy(update={"slides": slides})
        case _:
            return None


def cut(view: View) -> View | None:
    """Return the first half of a recording or video; None for anything else."""
    if isinstance(view, AudioView):
        half = view.envelope[: len(view.envelope) // 2]
        return view.model_copy(update={"seconds": view.seconds / 2, "envelope": half})
    if isinstance(view, VideoView):
        return view.model_copy(update={"seconds": view.seconds / 2})
    return None


def blank(view: View) -> View | None:
    """Return a white picture or a silent recording of the same size; None for anything else."""
    if isinstance(view, ImageView):
        grid = tuple((_WHITE,) * len(row) for row in view.grid)
        changes = {"grid": grid, "colours": {_WHITE: 1.0}, "mean_luminance": 255.0, "contrast": 0.0}
        return view.model_copy(update=changes)
    if isinstance(view, AudioView):
        silence = (0.0,) * len(view.envelope)
        return view.model_copy(update={"peak": 0.0, "rms": 0.0, "envelope": silence})
    return None


def skeleton(view: View) -> View | None:
    """Return a document's headings, sheets and columns only; None for pictures and sound."""
    match view:
        case TextView():
            return TextView(text="\n\n".join(_HEADING.findall(view.text)))
        case CsvView() | WorkbookView():
            return _without_rows(view)
        case JsonView():
            return JsonView(value=_bare(view.value))
        case DocumentView():
            titles = tuple(one for one in view.paragraphs if one.level is not None)
            return _without_rows(view).model_copy(update={"paragraphs": titles})
        case HtmlView():
            text = "\n".join(one.text for one in view.headings)
            return _without_rows(view).model_copy(update={"text": text})
        case PdfView():
            pages = tuple(
                page.model_copy(update={"text": _titles(page.text)})
                for page in _pages(_without_rows(view))
            )
            return view.model_copy(update={"pages": pages})
        case SlidesView():
            slides = tuple(
                Slide(title=slide.title, runs=tuple(r for r in slide.runs if r.is_title))
                for slide in view.slides
            )
            return view.model_copy(update={"slides": slides})
        case _:
            return None


def _without_rows(view: View) -> View:
    count = len(grids_of(view))
    for _ in range(count):
        first = next(iter(grids_of(view)), None)
        if first is None:
            break
        view = first.emptied()
    return view


def _pages(view: View) -> tuple[Any, ...]:
    return view.pages if isinstance(view, PdfView) else ()


def _titles(text: str) -> str:
    lines = (line for line in text.splitlines() if not re.search(r"\d", line))
    return "\n".join(line for line in lines if len(line.split()) <= _TITLE_WORDS)


def _bare(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _bare(item) for key, item in value.items()}
    return [] if isinstance(value, list) else None
