"""PDF documents: text, tables and size of each page."""

import io
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pdfplumber
import pypdfium2
from pdfplumber.page import Page as PlumberPage

from environments.renderers.limits import (
    MAX_FILE_BYTES,
    MAX_PAGES,
    PREVIEW_PIXELS,
    Meter,
    Unreadable,
    read_bytes,
    refuse_beyond,
)
from environments.renderers.pdf_sight import PageSight
from environments.renderers.unseen import Unseen
from taskdata.schema.views import Page, PdfView, Table

_MAX_PAGE_POINTS = 14_400
"""Largest side of a page, 200 inches: the limit of PDF 1.7, annex C."""
_GAP = 0.15
"""Share of a character's size; a larger gap starts a new word."""
_UNMAPPED = re.compile(r"\(cid:\d+\)")
"""pdfminer's text for a glyph without a character, mostly the bullets of lists."""


def read_pdf(path: Path) -> PdfView:
    """Return the pages' text and ruled tables."""
    data = read_bytes(path, MAX_FILE_BYTES)
    if b"%PDF-" not in data[:1024]:
        raise Unreadable("its content is not that of a PDF file")
    meter, unseen = Meter(), Unseen()
    with pdfplumber.open(io.BytesIO(data)) as document, _drawable(data) as drawable:
        refuse_beyond(len(document.pages), MAX_PAGES, "pages")
        if not document.pages:
            raise Unreadable("it is a PDF file without pages")
        refuse_beyond(len(document.pages), len(drawable), "pages that can be drawn")
        pages = []
        for index, page in enumerate(document.pages):
            pages.append(_page(page, drawable[index], meter, unseen))
            page.close()
        title = document.metadata.get("Title")
        return PdfView(
            pages=tuple(pages),
            title=meter.text(title) if isinstance(title, str) else "",
            page_count=len(pages),
            hidden=unseen.found(),
        )


@contextmanager
def _drawable(data: bytes) -> Iterator[pypdfium2.PdfDocument]:
    """Yield the document for drawing; what cannot be drawn cannot be seen."""
    try:
        document = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as exc:
        raise Unreadable(f"it cannot be drawn: {exc}") from exc
    try:
        yield document
    finally:
        document.close()


def _page(page: PlumberPage, drawn: pypdfium2.PdfPage, meter: Meter, unseen: Unseen) -> Page:
    refuse_beyond(max(page.width, page.height), _MAX_PAGE_POINTS, "points in one page side")
    seen = _seen(page, drawn, unseen)
    tables = tuple(
        Table(rows=tuple(tuple(meter.cell(cell) for cell in row) for row in rows))
        for rows in seen.extract_tables()
    )
    return Page(
        text=meter.text(_UNMAPPED.sub("\u2022", seen.extract_text())),
        tables=tables,
        width=float(page.width),
        height=float(page.height),
        images=len(page.images),
    )


def _seen(page: PlumberPage, drawn: pypdfium2.PdfPage, unseen: Unseen) -> PlumberPage:
    """Return the page without the characters that are invisible when it is drawn."""
    if not page.chars:
        return page
    sight = PageSight(drawn, (page.bbox[0], page.bbox[1]))
    marks = {id(char): char["text"].isspace() or sight.is_seen(char) for char in page.chars}
    if all(marks.values()):
        return page
    unseen.add(_words(char for char in page.chars if not marks[id(char)]), "leaves no mark")
    return page.filter(lambda item: marks.get(id(item), True))


def _words(characters: Iterable[dict[str, Any]]) -> str:
    """Return characters as words; a gap or a new line separates words."""
    parts: list[str] = []
    before: dict[str, Any] | None = None
    for char in characters:
        if before is not None:
            gap = char["x0"] - before["x1"]
            near = abs(char["top"] - before["top"]) < 1 and gap < _GAP * char["size"]
            parts += [] if near else [" "]
        parts.append(char["text"])
        before = char
    return "".join(parts)


def preview_pdf(path: Path) -> bytes:
    """Return a PNG of the first page, its longer side `PREVIEW_PIXELS`."""
    from environments.renderers.media.image import small_png

    document = pypdfium2.PdfDocument(path)
    try:
        page = document[0]
        scale = PREVIEW_PIXELS / max(page.get_size())
        return small_png(page.render(scale=scale).to_pil())
    finally:
        document.close()
