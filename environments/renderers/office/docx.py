"""DOCX documents: paragraphs with heading levels, tables, header and footer."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from docx import Document
from docx.document import Document as DocumentObject
from docx.oxml.ns import qn
from docx.text.paragraph import Paragraph as DocxParagraph

from environments.renderers.limits import Meter
from environments.renderers.office.archive import require_office_file
from taskdata.schema.views import DocumentView, Paragraph, Table

_HEADING = re.compile(r"heading ([1-9])", re.IGNORECASE)
_BASE_STYLES = 10
"""How far a style's ancestors are followed; a file may claim a circle of them."""


def read_docx(path: Path) -> DocumentView:
    """Return the document's visible text; hidden text is not part of the view."""
    require_office_file(path, "word/document.xml", "DOCX")
    document = Document(str(path))
    body = document.element.body
    meter = Meter()
    paragraphs = tuple(
        _paragraph(element, document, meter)
        for element in body.iter(qn("w:p"))
        if not any(True for _ in element.iterancestors(qn("w:tbl")))
    )
    return DocumentView(
        paragraphs=tuple(p for p in paragraphs if p.text),
        tables=tuple(_table(element, meter) for element in body.iter(qn("w:tbl"))),
        images=sum(1 for _ in body.iter(qn("a:blip"))),
        header=_edge(document, "header", meter),
        footer=_edge(document, "footer", meter),
    )


def _visible_text(element: Any) -> str:
    """Return the text of a paragraph element: also inside links and insertions, never hidden."""
    parts: list[str] = []
    for node in element.iter(qn("w:t"), qn("w:tab"), qn("w:br")):
        run = node.getparent()
        properties = run.find(qn("w:rPr"))
        if properties is not None and properties.find(qn("w:vanish")) is not None:
            continue
        if run.tag == qn("w:r"):
            parts.append(node.text or "" if node.tag == qn("w:t") else " ")
    return "".join(parts).strip()


def _paragraph(element: Any, document: DocumentObject, meter: Meter) -> Paragraph:
    style = DocxParagraph(element, document._body).style
    level = None
    ancestor = style
    for _ in range(_BASE_STYLES):
        if ancestor is None or level is not None:
            break
        level = _level(ancestor.name or "")
        ancestor = getattr(ancestor, "base_style", None)
    name = "" if style is None else style.name or ""
    return Paragraph(text=meter.text(_visible_text(element)), style=name, level=level)


def _level(style_name: str) -> int | None:
    match = _HEADING.fullmatch(style_name.strip())
    if match:
        return int(match[1])
    return 0 if style_name.strip().lower() == "title" else None


def _table(element: Any, meter: Meter) -> Table:
    rows = []
    for row in element.iterchildren(qn("w:tr")):
        cells: list[str] = []
        for cell in row.iter(qn("w:tc")):
            if next(cell.iterancestors(qn("w:tbl"))) is not element:
                continue
            text = "\n".join(_visible_text(p) for p in cell.iterchildren(qn("w:p")))
            cells.append(meter.cell(text))
            # A cell over several columns keeps what follows it in its own column.
            cells.extend(meter.cell(text) for _ in range(min(cell.grid_span, 64) - 1))
        rows.append(tuple(cells))
    return Table(rows=tuple(rows))


def _edge(document: DocumentObject, which: str, meter: Meter) -> str:
    """Return the distinct texts of the sections' headers or footers, one a line."""
    return "\n".join(dict.fromkeys(_edge_texts(document, which, meter)))


def _edge_texts(document: DocumentObject, which: str, meter: Meter) -> Iterable[str]:
    for section in document.sections:
        edge = getattr(section, which)
        if edge.is_linked_to_previous:
            continue
        for element in edge._element.iter(qn("w:p")):
            text = meter.text(_visible_text(element))
            if text:
                yield text
