"""PPTX presentations: texts with their effective sizes, notes, tables, charts, images."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pptx import Presentation
from pptx.oxml.ns import qn
from pptx.slide import Slide as PptxSlide

from environments.renderers.limits import MAX_PAGES, Meter, refuse_beyond
from environments.renderers.office.archive import require_office_file
from environments.renderers.office.pptx_fit import overflows
from environments.renderers.office.pptx_places import Box, Placed, placed_shapes
from environments.renderers.office.pptx_sight import SlideSight
from environments.renderers.office.pptx_sizes import size_of_run
from environments.renderers.unseen import Unseen
from taskdata.schema.views import Slide, SlidesView, Table, TextRun

_EMU_PER_POINT = 12_700
_TITLES = ("title", "ctrTitle")
_SHOWN_CHARS = 60


def read_pptx(path: Path) -> SlidesView:
    """Return the presentation's slides; invisible text is left out and counted."""
    require_office_file(path, "ppt/presentation.xml", "PPTX")
    presentation = Presentation(str(path))
    refuse_beyond(len(presentation.slides), MAX_PAGES, "slides")
    width, height = presentation.slide_width or 0, presentation.slide_height or 0
    reader = _Reader(Box(0, 0, width, height))
    slides = tuple(reader.slide(slide) for slide in presentation.slides if reader.is_shown(slide))
    return SlidesView(
        slides=slides,
        width_pt=width / _EMU_PER_POINT,
        height_pt=height / _EMU_PER_POINT,
        hidden=reader.unseen.found(),
    )


class _Reader:
    """Reads one presentation: visible text goes into the view, the rest is counted."""

    def __init__(self, page: Box) -> None:
        self._page = page
        self._meter = Meter()
        self.unseen = Unseen()

    def is_shown(self, slide: PptxSlide) -> bool:
        if slide._element.get("show") not in ("0", "false"):
            return True
        for placed in placed_shapes(slide.shapes):
            self.unseen.add(_whole_text(placed.shape), "on a hidden slide")
        return False

    def slide(self, slide: PptxSlide) -> Slide:
        placed = list(placed_shapes(slide.shapes))
        sight = SlideSight(slide, placed, self._page)
        seen = []
        for one in placed:
            why = sight.why_unseen(one)
            if why is None:
                seen.append(one)
            else:
                self.unseen.add(_whole_text(one.shape), why)
        shapes, meter = [one.shape for one in seen], self._meter
        runs = [(one.shape, tuple(self._runs(one, slide, sight))) for one in seen]
        title = slide.shapes.title
        notes = ""
        if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
            notes = slide.notes_slide.notes_text_frame.text
        return Slide(
            title=meter.text(_title(title, runs)),
            runs=tuple(run for _, own in runs for run in own),
            notes=meter.text(notes.strip()),
            tables=tuple(_table(shape, meter) for shape in shapes if shape.has_table),
            charts=tuple(_chart(shape) for shape in shapes if shape.has_chart),
            images=sum(1 for shape in shapes if shape._element.tag == qn("p:pic")),
            overflowing=tuple(
                meter.text(_whole_text(one.shape)[:_SHOWN_CHARS])
                for one in seen
                if self._overflows(one, slide)
            ),
        )

    def _overflows(self, placed: Placed, slide: PptxSlide) -> bool:
        shape = placed.shape
        if placed.box is None or not _whole_text(shape).strip():
            return False
        return overflows(
            shape, placed.box, self._page, lambda run, own: size_of_run(run, own, shape, slide)
        )

    def _runs(self, placed: Placed, slide: PptxSlide, sight: SlideSight) -> Iterator[TextRun]:
        shape = placed.shape
        if not shape.has_text_frame:
            return
        placeholder = shape._element.find(".//" + qn("p:nvPr") + "/" + qn("p:ph"))
        is_title = placeholder is not None and placeholder.get("type") in _TITLES
        for paragraph in shape.text_frame.paragraphs:
            for run in paragraph.runs:
                if not run.text.strip():
                    continue
                size = size_of_run(run, paragraph, shape, slide)
                why = sight.why_run_unseen(placed, run, size)
                if why is not None:
                    self.unseen.add(run.text, why)
                    continue
                yield TextRun(text=self._meter.text(run.text), size_pt=size, is_title=is_title)


def _title(title: Any, runs: Sequence[tuple[Any, Sequence[TextRun]]]) -> str:
    """Return the visible text of a title."""
    # Ids may repeat in a file, so elements are compared.
    seen = [own for shape, own in runs if title is not None and shape._element is title._element]
    if not seen:
        return ""
    whole = title.text_frame.text.strip()
    parts = [run.text.strip() for run in seen[0]]
    is_whole = "".join("".join(parts).split()) == "".join(whole.split())
    return whole if is_whole else " ".join(parts)


def _whole_text(shape: Any) -> str:
    return shape.text_frame.text if shape.has_text_frame else ""


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
