"""PdfFileGenerator: PDF documents from blocks, in fonts with most letters of Unicode."""

from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal
from xml.sax.saxutils import escape

from environments.toolkit.definition import Arguments, OutputPath, ToolDefinition
from environments.tools.wording import count_of
from environments.tools.workspace.paths import output_file
from environments.tools.writing.blocks import (
    Block,
    Bullets,
    Heading,
    ImageBlock,
    Numbered,
    PageBreak,
    TableBlock,
    TextParagraph,
    blocks_summary,
    bold_runs,
)
from environments.tools.writing.images import picture
from taskdata.errors import ToolRefused
from taskdata.schema.task import Capability
from taskdata.schema.tool import ToolResult

_FONT, _BOLD_FONT = "DejaVuSans", "DejaVuSans-Bold"
_MARGIN_PT = 56.7
_BODY_PT = 10
_HEADING_PT = (18, 15, 13, 11.5, 11, 10.5, 10, 10, 10)
_POINTS_PER_CM = 72 / 2.54
_POINTS_PER_PIXEL = 72 / 96
_MAX_COLUMN_WEIGHT, _MIN_COLUMN_WEIGHT = 40, 4


class PdfFileGeneratorArguments(Arguments):
    """Arguments of PdfFileGenerator."""

    path: OutputPath
    title: str | None = None
    blocks: list[Block]
    page_size: Literal["A4", "Letter"] = "A4"
    landscape: bool = False


def write_pdf(args: PdfFileGeneratorArguments, workspace: Path) -> ToolResult:
    """Write the document; equal arguments give equal bytes."""
    from reportlab.lib.pagesizes import A4, LETTER
    from reportlab.platypus import SimpleDocTemplate
    from reportlab.platypus.doctemplate import LayoutError

    target = output_file(workspace, args.path, (".pdf",))
    _register_fonts()
    width, height = A4 if args.page_size == "A4" else LETTER
    document = SimpleDocTemplate(
        str(target),
        pagesize=(height, width) if args.landscape else (width, height),
        title=args.title or "",
        author="",
        invariant=1,
        **{f"{side}Margin": _MARGIN_PT for side in ("left", "right", "top", "bottom")},
    )
    story = [_paragraph(args.title, _style("Title", 22, bold=True))] if args.title else []
    for block in args.blocks:
        # A page frame pads its content by 6 pt on every side.
        story.extend(_flowables(block, workspace, document.width - 12, document.height - 12))
    if not story:
        raise ToolRefused("A PDF needs a title or at least one block.")
    try:
        document.build(story)
    except LayoutError as exc:
        raise ToolRefused(
            "One block is too large for a page: split long table cells, or make the image smaller."
        ) from exc
    return ToolResult(
        text=f"Wrote {args.path}: {count_of(document.page, 'page')}, {blocks_summary(args.blocks)}."
        f"{_missing_glyphs_note(args)}"
    )


def _flowables(block: Block, workspace: Path, width: float, height: float) -> Iterator[Any]:
    from reportlab.platypus import PageBreak as NewPage

    match block:
        case Heading():
            size = _HEADING_PT[block.level - 1]
            yield _paragraph(block.text, _style(f"Heading{block.level}", size, bold=True))
        case TextParagraph():
            yield _paragraph(block.text, _style("Body", _BODY_PT))
        case Bullets() | Numbered():
            yield _list(block)
        case TableBlock():
            yield from _table(block, width)
        case ImageBlock():
            yield _image(block, workspace, width, height)
        case PageBreak():
            yield NewPage()


def _style(name: str, size: float, *, bold: bool = False) -> Any:
    from reportlab.lib.styles import ParagraphStyle

    return ParagraphStyle(
        name,
        fontName=_BOLD_FONT if bold else _FONT,
        fontSize=size,
        leading=size * 1.35,
        spaceBefore=size * 0.6 if bold else 0,
        spaceAfter=size * 0.5,
        keepWithNext=bold,
    )


def _paragraph(text: str, style: Any) -> Any:
    from reportlab.platypus import Paragraph

    return Paragraph(_markup(text), style)


def _markup(text: str) -> str:
    """Return reportlab's markup for a text whose only markup is `**bold**`."""
    parts = (
        f"<b>{escape(part)}</b>" if is_bold else escape(part) for part, is_bold in bold_runs(text)
    )
    return "".join(parts).replace("\n", "<br/>")


def _list(block: Bullets | Numbered) -> Any:
    from reportlab.platypus import ListFlowable

    style = _style("Item", _BODY_PT)
    return ListFlowable(
        [_paragraph(item, style) for item in block.items],
        bulletType="bullet" if isinstance(block, Bullets) else "1",
        start="•" if isinstance(block, Bullets) else 1,
        bulletFontName=_FONT,
        bulletFontSize=_BODY_PT,
        bulletFormat=None if isinstance(block, Bullets) else "%s.",
        leftIndent=20,
    )


def _table(block: TableBlock, width: float) -> Iterator[Any]:
    from reportlab.lib import colors
    from reportlab.platypus import Spacer, Table

    if not block.width:
        return
    body, head = _style("Cell", _BODY_PT - 1), _style("Head", _BODY_PT - 1, bold=True)
    for style in (body, head):
        style.spaceBefore = style.spaceAfter = 0
    longest = (max(map(len, column)) for column in zip(*block.texts, strict=True))
    weights = [min(max(length, _MIN_COLUMN_WEIGHT), _MAX_COLUMN_WEIGHT) for length in longest]
    yield Table(
        [
            [_paragraph(text, head if number == 0 else body) for text in texts]
            for number, texts in enumerate(block.texts)
        ],
        colWidths=[width * weight / sum(weights) for weight in weights],
        repeatRows=1,
        style=[
            ("GRID", (0, 0), (-1, -1), 0.5, colors.grey),
            ("BACKGROUND", (0, 0), (-1, 0), colors.whitesmoke),
            ("VALIGN", (0, 0), (-1, -1), "TOP"),
        ],
    )
    yield Spacer(1, _BODY_PT)


def _image(block: ImageBlock, workspace: Path, width: float, height: float) -> Any:
    from reportlab.platypus import Image

    source, width_px, height_px = picture(workspace, block.path)
    wanted = block.width_cm * _POINTS_PER_CM if block.width_cm else width_px * _POINTS_PER_PIXEL
    shown = min(wanted, width, height * width_px / height_px)
    return Image(str(source), width=shown, height=shown * height_px / width_px)


@cache
def _register_fonts() -> Any:
    """Register the DejaVu fonts that matplotlib ships; returns the regular one."""
    from reportlab.pdfbase import pdfmetrics
    from reportlab.pdfbase.ttfonts import TTFont

    spec = find_spec("matplotlib")
    if spec is None or spec.origin is None:
        raise ImportError("PdfFileGenerator needs the fonts that matplotlib ships")
    folder = Path(spec.origin).parent / "mpl-data" / "fonts" / "ttf"
    faces = {name: TTFont(name, str(folder / f"{name}.ttf")) for name in (_FONT, _BOLD_FONT)}
    for face in faces.values():
        pdfmetrics.registerFont(face)
    pdfmetrics.registerFontFamily(
        _FONT, normal=_FONT, bold=_BOLD_FONT, italic=_FONT, boldItalic=_BOLD_FONT
    )
    return faces[_FONT]


def _missing_glyphs_note(args: PdfFileGeneratorArguments) -> str:
    known = _register_fonts().face.charToGlyph
    written = set(args.title or "") | set("".join(b.model_dump_json() for b in args.blocks))
    missing = sorted(c for c in written if c.isprintable() and ord(c) not in known)
    return f" Note: the font has no sign for {' '.join(missing[:20])}." if missing else ""


TOOLS = (
    ToolDefinition(
        name="PdfFileGenerator",
        description=(
            "Write a PDF from blocks: headings, paragraphs, bulleted and numbered lists, tables, "
            "images, page breaks; A4 or Letter, upright or landscape."
        ),
        category=Capability.OPERATION,
        arguments=PdfFileGeneratorArguments,
        run=write_pdf,
        backend="reportlab",
        paging="Write less at once.",
    ),
)
