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
from environments.renderers.office.docx_sight import BASE_STYLES, Sight
from environments.renderers.unseen import Unseen
from taskdata.schema.views import DocumentView, Paragraph, Table

_HEADING = re.compile(r"heading ([1-9])", re.IGNORECASE)


class _Reader:
    """Reads one document: visible text goes into the view, hidden text is counted."""

    def __init__(self, document: DocumentObject) -> None:
        self.document = document
        self.meter = Meter()
        self.unseen = Unseen()
        self._sight = Sight(document)

    def text(self, element: Any) -> str:
        """Return the visible text of a paragraph, including links and insertions."""
        parts: list[str] = []
        for node in element.iter(qn("w:t"), qn("w:tab"), qn("w:br")):
            run = node.getparent()
            if run.tag != qn("w:r"):
                continue
            text = node.text or "" if node.tag == qn("w:t") else " "
            why = self._sight.why_unseen(run) if text.strip() else None
            if why is None:
                parts.append(text)
            else:
                self.unseen.add(text, why)
        return "".join(parts).strip()


def read_docx(path: Path) -> DocumentView:
    """Return the document's visible text; hidden text is counted separately."""
    require_office_file(path, "word/document.xml", "DOCX")
    document = Document(str(path))
    body = document.element.body
    reader = _Reader(document)
    paragraphs = tuple(
        _paragraph(element, reader)
        for element in body.iter(qn("w:p"))
        if not any(True for _ in element.iterancestors(qn("w:tbl")))
    )
    view = DocumentView(
        paragraphs=tuple(p for p in paragraphs if p.text),
        tables=tuple(_table(element, reader) for element in body.iter(qn("w:tbl"))),
        images=sum(1 for _ in body.iter(qn("a:blip"))),
        header=_edge(reader, "header"),
        footer=_edge(reader, "footer"),
    )
    return view.model_copy(update={"hidden": reader.unseen.found()})


def _paragraph(element: Any, reader: _Reader) -> Paragraph:
    style = DocxParagraph(element, reader.document._body).style
    level = None
    ancestor = style
    for _ in range(BASE_STYLES):
        if ancestor is None or level is not None:
            break
        level = _level(ancestor.name or "")
        ancestor = getattr(ancestor, "base_style", None)
    name = "" if style is None else style.name or ""
    return Paragraph(text=reader.meter.text(reader.text(element)), style=name, level=level)


def _level(style_name: str) -> int | None:
    match = _HEADING.fullmatch(style_name.strip())
    if match:
        return int(match[1])
    return 0 if style_name.strip().lower() == "title" else None


def _table(element: Any, reader: _Reader) -> Table:
    meter = reader.meter
    rows = []
    for row in element.iterchildren(qn("w:tr")):
        cells: list[str] = []
        for cell in row.iter(qn("w:tc")):
            if next(cell.iterancestors(qn("w:tbl"))) is not element:
                continue
            text = "\n".join(reader.text(p) for p in cell.iterchildren(qn("w:p")))
            cells.append(meter.cell(text))
            # A cell that spans several columns is repeated, so that later cells stay in their
            # columns.
            cells.extend(meter.cell(text) for _ in range(min(cell.grid_span, 64) - 1))
        rows.append(tuple(cells))
    return Table(rows=tuple(rows))


def _edge(reader: _Reader, which: str) -> str:
    """Return the distinct texts of the sections' headers or footers, one a line."""
    return "\n".join(dict.fromkeys(_edge_texts(reader, which)))


def _edge_texts(reader: _Reader, which: str) -> Iterable[str]:
    for section in reader.document.sections:
        edge = getattr(section, which)
        if edge.is_linked_to_previous:
            continue
        for element in edge._element.iter(qn("w:p")):
            text = reader.meter.text(reader.text(element))
            if text:
                yield text
