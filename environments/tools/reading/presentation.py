"""ReadPPTX: the texts of a presentation, slide by slide."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

from environments.toolkit.definition import Arguments, InputPath, ToolDefinition
from environments.tools.wording import cell_text, count_of, table_lines
from environments.tools.workspace.paths import input_file
from taskdata.errors import ToolRefused
from taskdata.schema.task import Capability
from taskdata.schema.tool import ToolResult

if TYPE_CHECKING:
    from pptx.presentation import Presentation
    from pptx.slide import Slide


class ReadPPTXArguments(Arguments):
    """Arguments of ReadPPTX."""

    path: InputPath


def read_pptx(args: ReadPPTXArguments, workspace: Path) -> ToolResult:
    """Return titles, texts, tables, chart data and notes of every slide."""
    presentation = _open(input_file(workspace, args.path), args.path)
    slides = list(presentation.slides)
    lines = [f"{args.path}: {count_of(len(slides), 'slide')}"]
    for number, slide in enumerate(slides, 1):
        lines.extend(_slide_lines(number, slide))
    return ToolResult(text="\n".join(lines))


def _open(source: Path, path: str) -> "Presentation":
    from pptx import Presentation
    from pptx.exc import PackageNotFoundError

    try:
        return Presentation(str(source))
    except (PackageNotFoundError, BadZipFile, KeyError, ValueError, SyntaxError) as exc:
        raise ToolRefused(
            f"{path} cannot be read as a PPTX presentation (damaged, or another format): {exc}"
        ) from exc


def _slide_lines(number: int, slide: "Slide") -> Iterator[str]:
    title = slide.shapes.title
    shown = cell_text(title.text_frame.text) if title is not None else "(no title)"
    yield f"\n== slide {number}: {shown}"
    for shape in slide.shapes:
        if title is None or shape.shape_id != title.shape_id:
            yield from _shape_lines(shape)
    if slide.has_notes_slide:
        frame = slide.notes_slide.notes_text_frame
        if frame is not None and frame.text.strip():
            yield f"notes: {frame.text}"


def _shape_lines(shape: Any) -> Iterator[str]:
    from pptx.enum.shapes import MSO_SHAPE_TYPE

    if shape.shape_type == MSO_SHAPE_TYPE.GROUP:
        for part in shape.shapes:
            yield from _shape_lines(part)
    elif shape.has_text_frame:
        for paragraph in shape.text_frame.paragraphs:
            if paragraph.text.strip():
                yield f"{'  ' * paragraph.level}- {cell_text(paragraph.text)}"
    elif getattr(shape, "has_table", False) and shape.has_table:
        yield from table_lines([cell.text for cell in row.cells] for row in shape.table.rows)
    elif getattr(shape, "has_chart", False) and shape.has_chart:
        yield from _chart_lines(shape.chart)
    elif shape.shape_type == MSO_SHAPE_TYPE.PICTURE:
        yield f"(image: {cell_text(shape.name)})"


def _chart_lines(chart: Any) -> Iterator[str]:
    yield f"(chart: {chart.chart_type.name.lower()})"
    for plot in chart.plots:
        yield from table_lines([["", *plot.categories]])
        yield from table_lines([series.name, *series.values] for series in plot.series)


TOOLS = (
    ToolDefinition(
        name="ReadPPTX",
        description=(
            "Read a PowerPoint presentation slide by slide: titles, texts, tables, chart data, "
            "images by name and speaker notes."
        ),
        category=Capability.PERCEPTION,
        arguments=ReadPPTXArguments,
        run=read_pptx,
        backend="python-pptx",
        paging="Read the rest with python_execute, if the task has it.",
    ),
)
