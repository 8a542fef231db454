"""PptxFileGenerator: 16:9 presentations with text, tables, charts and images."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import Field, model_validator

from environments.toolkit.definition import (
    Arguments,
    CellValue,
    InputPath,
    OutputPath,
    ToolDefinition,
)
from environments.tools.wording import count_of
from environments.tools.workspace.paths import output_file
from environments.tools.writing.blocks import bold_runs
from environments.tools.writing.images import picture
from taskdata.schema.task import Capability
from taskdata.schema.tool import ToolResult

if TYPE_CHECKING:
    from pptx.presentation import Presentation
    from pptx.slide import Slide
    from pptx.util import Length

_TITLE_ONLY_LAYOUT, _TITLE_AND_BODY_LAYOUT = 5, 1
_ROW_HEIGHT = 0.4


@dataclass(frozen=True)
class Box:
    """A place on a slide, in inches."""

    left: float
    top: float
    width: float
    height: float

    def lengths(self) -> "tuple[Length, Length, Length, Length]":
        """Return left, top, width and height in the unit of the file format."""
        from pptx.util import Inches

        return Inches(self.left), Inches(self.top), Inches(self.width), Inches(self.height)

    def column(self, number: int, columns: int) -> "Box":
        """Return one of `columns` equal parts side by side."""
        gap = 0.3
        width = (self.width - gap * (columns - 1)) / columns
        return Box(self.left + number * (width + gap), self.top, width, self.height)


_SLIDE = Box(0, 0, 13.333, 7.5)
_TITLE = Box(0.6, 0.4, 12.1, 1.2)
_CONTENT = Box(0.6, 1.8, 12.1, 5.2)


class SlideSeries(Arguments):
    """One named series of numbers."""

    name: str
    values: list[float | None] = Field(min_length=1)


class SlideChart(Arguments):
    """A native, editable chart."""

    kind: Literal["bar", "line", "pie"]
    categories: list[str] = Field(min_length=1)
    series: list[SlideSeries] = Field(min_length=1)

    @model_validator(mode="after")
    def _lengths_agree(self) -> Self:
        for series in self.series:
            if len(series.values) != len(self.categories):
                raise ValueError(
                    f"series {series.name!r} has {len(series.values)} values for "
                    f"{len(self.categories)} categories"
                )
        return self


class SlideSpec(Arguments):
    """One slide; text stands on the left, whatever else there is beside it."""

    title: str
    bullets: list[str] = Field(default_factory=list, description="**bold** is the only markup.")
    notes: str | None = Field(default=None, description="Speaker notes.")
    table: list[list[CellValue]] | None = Field(
        default=None, description="The first row is the header."
    )
    image: InputPath | None = None
    chart: SlideChart | None = None


class PptxFileGeneratorArguments(Arguments):
    """Arguments of PptxFileGenerator."""

    path: OutputPath
    slides: list[SlideSpec] = Field(min_length=1)
    title_size_pt: float = Field(default=36, ge=8, le=96)
    body_size_pt: float = Field(default=20, ge=8, le=72, description="Bullets and tables.")


def write_pptx(args: PptxFileGeneratorArguments, workspace: Path) -> ToolResult:
    """Write the presentation."""
    from pptx import Presentation

    target = output_file(workspace, args.path, (".pptx",))
    presentation = Presentation()
    presentation.slide_width, presentation.slide_height = _SLIDE.lengths()[2:]
    presentation.core_properties.author = ""
    presentation.core_properties.title = args.slides[0].title
    for spec in args.slides:
        _add_slide(presentation, spec, args, workspace)
    presentation.save(str(target))
    return ToolResult(text=f"Wrote {args.path}: {_summary(args.slides)}.")


def _summary(slides: list[SlideSpec]) -> str:
    counted = (
        (sum(bool(slide.table) for slide in slides), "table"),
        (sum(slide.chart is not None for slide in slides), "chart"),
        (sum(slide.image is not None for slide in slides), "image"),
        (sum(bool(slide.notes) for slide in slides), "slide"),
    )
    parts = [count_of(number, noun) for number, noun in counted[:3] if number]
    if counted[3][0]:
        parts.append(f"notes on {count_of(*counted[3])}")
    return ", ".join([count_of(len(slides), "slide"), *parts])


def _add_slide(
    presentation: "Presentation", spec: SlideSpec, args: PptxFileGeneratorArguments, files: Path
) -> None:
    layout = _TITLE_AND_BODY_LAYOUT if spec.bullets else _TITLE_ONLY_LAYOUT
    slide = presentation.slides.add_slide(presentation.slide_layouts[layout])
    title = slide.shapes.title
    if title is not None:
        _place(title, _TITLE)
        _write_lines(title.text_frame, [spec.title], args.title_size_pt)
    visuals = list(_visuals(slide, spec, args, files))
    columns = len(visuals) + bool(spec.bullets)
    if spec.bullets:
        body = slide.placeholders[1]
        _place(body, _CONTENT.column(0, columns))
        _write_lines(body.text_frame, spec.bullets, args.body_size_pt)
    for number, draw in enumerate(visuals, start=int(bool(spec.bullets))):
        draw(_CONTENT.column(number, columns))
    if spec.notes and slide.notes_slide.notes_text_frame is not None:
        slide.notes_slide.notes_text_frame.text = spec.notes


def _visuals(
    slide: "Slide", spec: SlideSpec, args: PptxFileGeneratorArguments, files: Path
) -> Iterator[Callable[[Box], None]]:
    """Yield functions that draw each table, chart and image into a given box."""
    if spec.table and max(map(len, spec.table)):
        rows = spec.table
        yield lambda box: _add_table(slide, rows, args.body_size_pt, box)
    if spec.chart:
        chart = spec.chart
        yield lambda box: _add_chart(slide, chart, args.body_size_pt, box)
    if spec.image:
        path = spec.image
        yield lambda box: _add_image(slide, path, files, box)


def _place(shape: Any, box: Box) -> None:
    shape.left, shape.top, shape.width, shape.height = box.lengths()


def _write_lines(frame: Any, lines: list[str], size_pt: float) -> None:
    """Write a paragraph per line, with a size for each run, since checks and viewers read runs."""
    from pptx.util import Pt

    frame.word_wrap = True
    for number, line in enumerate(lines):
        paragraph = frame.paragraphs[0] if number == 0 else frame.add_paragraph()
        for part, is_bold in bold_runs(line):
            for position, text in enumerate(part.split("\n")):
                if position:
                    paragraph.add_line_break()
                run = paragraph.add_run()
                run.text = text
                run.font.size = Pt(size_pt)
                if is_bold:
                    run.font.bold = True


def _add_table(slide: "Slide", rows: list[list[CellValue]], size_pt: float, box: Box) -> None:
    width = max(map(len, rows))
    place = Box(box.left, box.top, box.width, min(box.height, _ROW_HEIGHT * len(rows)))
    table = slide.shapes.add_table(len(rows), width, *place.lengths()).table
    for row_number, row in enumerate(rows):
        for column, value in enumerate(row):
            frame = table.cell(row_number, column).text_frame
            _write_lines(frame, ["" if value is None else str(value)], size_pt)


def _add_chart(slide: "Slide", spec: SlideChart, size_pt: float, box: Box) -> None:
    from pptx.chart.data import CategoryChartData
    from pptx.enum.chart import XL_CHART_TYPE
    from pptx.util import Pt

    kinds = {
        "bar": XL_CHART_TYPE.COLUMN_CLUSTERED,
        "line": XL_CHART_TYPE.LINE_MARKERS,
        "pie": XL_CHART_TYPE.PIE,
    }
    data: Any = CategoryChartData()  # type: ignore[no-untyped-call]
    data.categories = spec.categories
    for series in spec.series:
        data.add_series(series.name, series.values)
    left, top, width, height = box.lengths()
    frame: Any = slide.shapes.add_chart(kinds[spec.kind], left, top, width, height, data)
    chart = frame.chart
    chart.font.size = Pt(min(size_pt, 16))
    chart.has_legend = len(spec.series) > 1 or spec.kind == "pie"


def _add_image(slide: "Slide", path: str, files: Path, box: Box) -> None:
    source, width_px, height_px = picture(files, path)
    scale = min(box.width / width_px, box.height / height_px)
    width, height = width_px * scale, height_px * scale
    place = Box(box.left + (box.width - width) / 2, box.top, width, height)
    slide.shapes.add_picture(str(source), *place.lengths())


TOOLS = (
    ToolDefinition(
        name="PptxFileGenerator",
        description=(
            "Write a PowerPoint presentation (16:9): slides with a title, bullets, speaker notes, "
            "a table, an editable chart or an image."
        ),
        category=Capability.OPERATION,
        arguments=PptxFileGeneratorArguments,
        run=write_pptx,
        backend="python-pptx",
        paging="Write less at once.",
    ),
)
