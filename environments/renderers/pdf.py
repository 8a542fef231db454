"""PDF documents: text, tables and size of every page."""

import io
import re
from pathlib import Path

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
from taskdata.schema.views import Page, PdfView, Table

_MAX_PAGE_POINTS = 14_400
"""Largest side of a page, 200 inches: the limit of PDF 1.7, annex C."""
_UNMAPPED = re.compile(r"\(cid:\d+\)")
"""How pdfminer writes a glyph without a character, in practice the bullets of lists."""


def read_pdf(path: Path) -> PdfView:
    """Return the pages' text and ruled tables."""
    data = read_bytes(path, MAX_FILE_BYTES)
    if b"%PDF-" not in data[:1024]:
        raise Unreadable("its content is not that of a PDF file")
    meter = Meter()
    with pdfplumber.open(io.BytesIO(data)) as document:
        refuse_beyond(len(document.pages), MAX_PAGES, "pages")
        if not document.pages:
            raise Unreadable("it is a PDF file without pages")
        pages = []
        for page in document.pages:
            pages.append(_page(page, meter))
            page.close()
        title = document.metadata.get("Title")
        return PdfView(
            pages=tuple(pages),
            title=meter.text(title) if isinstance(title, str) else "",
            page_count=len(pages),
        )


def _page(page: PlumberPage, meter: Meter) -> Page:
    refuse_beyond(max(page.width, page.height), _MAX_PAGE_POINTS, "points in one page side")
    tables = tuple(
        Table(rows=tuple(tuple(meter.cell(cell) for cell in row) for row in rows))
        for rows in page.extract_tables()
    )
    return Page(
        text=meter.text(_UNMAPPED.sub("\u2022", page.extract_text())),
        tables=tables,
        width=float(page.width),
        height=float(page.height),
        images=len(page.images),
    )


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
