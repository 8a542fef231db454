"""The text by which a judge sees a file; it sees nothing else of it."""

import json
from collections.abc import Iterator
from itertools import groupby

from stages.score.judging.frames import Part, quoted
from stages.score.plain_text import media_text, searchable_text
from taskdata.schema.views import (
    ArchiveView,
    AudioView,
    Cell,
    CsvView,
    DocumentView,
    ImageView,
    JsonView,
    MailView,
    Paragraph,
    PdfView,
    Sheet,
    Slide,
    SlidesView,
    SvgView,
    Table,
    UnreadableView,
    VideoView,
    View,
    WorkbookView,
)


def parts_of(view: View) -> list[Part]:
    """Return the view in parts, whose headings state the structure of the file.

    Hidden text is counted and not quoted: it may have been written for the judge.
    """
    hidden = getattr(view, "hidden", None)
    left_out = [] if hidden is None else [Part(f"{hidden.words} hidden words left out", "")]
    return [*_parts(view), *left_out]


def _parts(view: View) -> Iterator[Part]:
    if isinstance(view, UnreadableView):
        yield Part("this file cannot be read", view.reason)
    elif isinstance(view, CsvView):
        yield _table(view.table)
    elif isinstance(view, JsonView):
        yield Part("", json.dumps(view.value, ensure_ascii=False, indent=1))
    elif isinstance(view, WorkbookView):
        yield from map(_sheet, view.sheets)
    elif isinstance(view, DocumentView):
        yield from _document(view)
    elif isinstance(view, PdfView):
        for number, page in enumerate(view.pages, start=1):
            yield Part(f"page {number} of {view.page_count}", page.text)
    elif isinstance(view, SlidesView):
        for number, slide in enumerate(view.slides, start=1):
            yield from _slide(number, slide)
    elif isinstance(view, MailView):
        yield from _mail(view)
    elif isinstance(view, ArchiveView):
        heading = f"list of the {len(view.entries)} files in it, with their sizes in bytes"
        lines = (f"{quoted(entry.name)}: {entry.size_bytes}" for entry in view.entries)
        yield Part(heading, "\n".join(lines))
    elif isinstance(view, SvgView):
        yield from _drawing(view)
    elif isinstance(view, ImageView | AudioView | VideoView):
        yield Part("what was measured", media_text(view))
    else:
        yield Part("", searchable_text(view))


def _table(table: Table) -> Part:
    rows = (" | ".join(_one_line(cell).replace("|", "\\|") for cell in row) for row in table.rows)
    return Part(f"table of {len(table.rows)} rows", "\n".join(rows))


def _one_line(text: str) -> str:
    """Return text on one line, so that it cannot imitate further rows or cells."""
    return "\\n".join(text.splitlines())


def _sheet(sheet: Sheet) -> Part:
    charts = f", charts: {', '.join(map(quoted, sheet.charts))}" if sheet.charts else ""
    heading = f"sheet {quoted(sheet.name)}: {sheet.rows} rows, {sheet.columns} columns{charts}"
    return Part(heading, "\n".join(_cell(a, cell) for a, cell in sheet.cells.items()))


def _cell(address: str, cell: Cell) -> str:
    """Return a cell on one line; text is quoted, so that it cannot imitate a formula."""
    value = quoted(cell.value) if isinstance(cell.value, str) else cell.value
    formula = f" {_one_line(cell.formula)}" if cell.formula else ""
    return f"{address}: {'' if value is None else value}{formula}"


def _document(view: DocumentView) -> Iterator[Part]:
    if view.header:
        yield Part("header of the pages", view.header)
    for level, paragraphs in groupby(view.paragraphs, key=_level):
        if level is None:
            yield Part("paragraphs", "\n".join(p.text for p in paragraphs))
            continue
        heading = f"heading of level {level}" if level else "title"
        yield from (Part(heading, p.text) for p in paragraphs)
    yield from map(_table, view.tables)
    if view.images:
        yield Part(f"images: {view.images}")
    if view.footer:
        yield Part("footer of the pages", view.footer)


def _level(paragraph: Paragraph) -> int | None:
    return paragraph.level


def _slide(number: int, slide: Slide) -> Iterator[Part]:
    heading = f"slide {number}, title {quoted(slide.title)}"
    yield Part(heading, "\n".join(run.text for run in slide.runs))
    yield from map(_table, slide.tables)
    if slide.charts:
        yield Part(f"charts on it: {', '.join(map(quoted, slide.charts))}")
    if slide.images:
        yield Part(f"images on it: {slide.images}")
    if slide.notes:
        yield Part("notes to it", slide.notes)


def _drawing(view: SvgView) -> Iterator[Part]:
    size = f"{view.width:g} x {view.height:g}" if view.width and view.height else "no stated size"
    yield Part(f"vector drawing, {size}, title {quoted(view.title)}")
    counts = ", ".join(f"{quoted(name)} {count}" for name, count in view.elements.items())
    yield Part("its elements by kind", counts)
    yield Part("what is written in it", "\n".join(view.texts))


def _mail(view: MailView) -> Iterator[Part]:
    headers = (f"{_one_line(name)}: {_one_line(value)}" for name, value in view.headers)
    yield Part("headers of the message", "\n".join(headers))
    yield Part("text of the message", view.text)
    for attached in view.attachments:
        kind = quoted(attached.media_type)
        yield Part(f"attachment {quoted(attached.name)}: {kind}, {attached.size_bytes:,} bytes")
