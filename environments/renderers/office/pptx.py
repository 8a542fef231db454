"""PPTX presentations: texts with their effective sizes, notes, tables, charts, images."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pptx import Presentation
from pptx.enum.shapes import MSO_SHAPE_TYPE
from pptx.oxml.ns import qn
from pptx.slide import Slide as PptxSlide

from environments.renderers.limits import MAX_PAGES, Meter, refuse_beyond
from environments.renderers.office.archive import require_office_file
from environments.renderers.office.pptx_sizes import size_of_run
from taskdata.schema.views import Slide, SlidesView, Table, TextRun

_EMU_PER_POINT = 12_700
_GROUP_DEPTH = 16
_TITLES = ("title", "ctrTitle")


def read_pptx(path: Path) -> SlidesView:
    """Return the presentation's slides; hidden slides are left out."""
    require_office_file(path, "ppt/presentation.xml", "PPTX")
    presentation = Presentation(str(path))
    refuse_beyond(len(presentation.slides), MAX_PAGES, "slides")
    meter = Meter()
    return SlidesView(
        slides=tuple(
            _slide(slide, meter)
            for slide in presentation.slides
            if slide._element.get("show") not in ("0", "false")
        ),
        width_pt=(presentation.slide_width or 0) / _EMU_PER_POINT,
        height_pt=(presentation.slide_height or 0) / _EMU_PER_POINT,
    )


def _shapes(shapes: Any, depth: int = 0) -> Iterator[Any]:
    for shape in shapes:
        if shape.shape_type == MSO_SHAPE_TYPE.GROUP:
            refuse_beyond(depth, _GROUP_DEPTH, "levels of grouped shapes")
            yield from _shapes(shape.shapes, depth + 1)
        else:
            yield shape


def _slide(slide: PptxSlide, meter: Meter) -> Slide:
    shapes = list(_shapes(slide.shapes))
    title = slide.shapes.title
    notes = ""
    if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
        notes = slide.notes_slide.notes_text_frame.text
    return Slide(
        title=meter.text(title.text_frame.text.strip()) if title is not None else "",
        runs=tuple(run for shape in shapes for run in _runs(shape, slide, meter)),
        notes=meter.text(notes.strip()),
        tables=tuple(_table(shape, meter) for shape in shapes if shape.has_table),
        charts=tuple(_chart(shape) for shape in shapes if shape.has_chart),
        images=sum(1 for shape in shapes if shape._element.tag == qn("p:pic")),
    )


def _runs(shape: Any, slide: PptxSlide, meter: Meter) -> Iterator[TextRun]:
    if not shape.has_text_frame:
        return
    placeholder = shape._element.find(".//" + qn("p:nvPr") + "/" + qn("p:ph"))
    is_title = placeholder is not None and placeholder.get("type") in _TITLES
    for paragraph in shape.text_frame.paragraphs:
        for run in paragraph.runs:
            if run.text.strip():
                yield TextRun(
                    text=meter.text(run.text),
                    size_pt=size_of_run(run, paragraph, shape, slide),
                    is_title=is_title,
                )


def _table(shape: Any, meter: Meter) -> Table:
    rows = shape._element.iter(qn("a:tr"))
    return Table(
        rows=tuple(tuple(meter.cell(_cell_text(c)) for c in row.iter(qn("a:tc"))) for row in rows)
    )


def _cell_text(cell: Any) -> str:
    paragraphs = cell.iter(qn("a:p"))
    return "\n".join("".join(t.text or "" for t in p.iter(qn("a:t"))) for p in paragraphs)


def _chart(shape: Any) -> str:
    """Return the kind of the chart's first plot: bar, line, pie, ..."""
    area = shape.chart._chartSpace.find(".//" + qn("c:plotArea"))
    for element in () if area is None else area:
        kind = str(element.tag).rpartition("}")[2]
        if kind.endswith("Chart"):
            return kind.removesuffix("Chart")
    return "unknown"
