"""DocxFileGenerator: Word documents from blocks."""

from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field

from environments.toolkit.definition import Arguments, OutputPath, ToolDefinition
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
from taskdata.schema.task import Capability
from taskdata.schema.tool import ToolResult

if TYPE_CHECKING:
    from docx.document import Document
    from docx.text.paragraph import Paragraph

_TEXT_WIDTH_CM = 15.0
_CM_PER_PIXEL = 2.54 / 96


class DocxFileGeneratorArguments(Arguments):
    """Arguments of DocxFileGenerator."""

    path: OutputPath
    title: str | None = None
    blocks: list[Block]
    header: str | None = Field(default=None, description="Text at the top of every page.")
    footer: str | None = Field(default=None, description="Text at the foot of every page.")


def write_docx(args: DocxFileGeneratorArguments, workspace: Path) -> ToolResult:
    """Write the document."""
    from docx import Document

    target = output_file(workspace, args.path, (".docx",))
    document = Document()
    document.core_properties.author = ""
    document.core_properties.comments = ""
    document.core_properties.title = args.title or ""
    if args.title:
        document.add_heading(args.title, level=0)
    for block in args.blocks:
        _add_block(document, block, workspace)
    section = document.sections[0]
    if args.header:
        section.header.paragraphs[0].text = args.header
    if args.footer:
        section.footer.paragraphs[0].text = args.footer
    document.save(str(target))
    return ToolResult(text=f"Wrote {args.path}: {blocks_summary(args.blocks)}.")


def _add_block(document: "Document", block: Block, workspace: Path) -> None:
    match block:
        case Heading():
            _write_runs(document.add_heading(level=block.level), block.text)
        case TextParagraph():
            _write_runs(document.add_paragraph(), block.text)
        case Bullets():
            for item in block.items:
                _write_runs(document.add_paragraph(style="List Bullet"), item)
        case Numbered():
            _add_numbered(document, block)
        case TableBlock():
            _add_table(document, block)
        case ImageBlock():
            _add_image(document, block, workspace)
        case PageBreak():
            document.add_page_break()  # type: ignore[no-untyped-call]


def _write_runs(paragraph: "Paragraph", text: str, *, all_bold: bool = False) -> None:
    for part, is_bold in bold_runs(text):
        run = paragraph.add_run(part)
        if is_bold or all_bold:
            run.bold = True


def _add_numbered(document: "Document", block: Numbered) -> None:
    """Add a list with its own numbering, since a style's numbering would continue to the end."""
    numbering = document.part.numbering_part.element
    style_numbering = document.styles["List Number"].element.pPr.numPr.numId.val
    abstract = numbering.num_having_numId(style_numbering).abstractNumId.val
    own = numbering.add_num(abstract)
    own.add_lvlOverride(ilvl=0).add_startOverride(1)
    for item in block.items:
        paragraph = document.add_paragraph(style="List Number")
        properties = paragraph._p.get_or_add_pPr().get_or_add_numPr()
        properties.get_or_add_numId().val = own.numId
        properties.get_or_add_ilvl().val = 0
        _write_runs(paragraph, item)


def _add_table(document: "Document", block: TableBlock) -> None:
    if not block.width:
        return
    table = document.add_table(rows=0, cols=block.width, style="Table Grid")
    for number, texts in enumerate(block.texts):
        cells = table.add_row().cells
        for cell, text in zip(cells, texts, strict=True):
            _write_runs(cell.paragraphs[0], text, all_bold=number == 0)
    document.add_paragraph()


def _add_image(document: "Document", block: ImageBlock, workspace: Path) -> None:
    from docx.shared import Cm

    source, width_px, _ = picture(workspace, block.path)
    width_cm = block.width_cm or min(width_px * _CM_PER_PIXEL, _TEXT_WIDTH_CM)
    document.add_picture(str(source), width=Cm(width_cm))


TOOLS = (
    ToolDefinition(
        name="DocxFileGenerator",
        description=(
            "Write a Word document from blocks: headings, paragraphs, bulleted and numbered "
            "lists, tables, images, page breaks; with title, page header and footer."
        ),
        category=Capability.OPERATION,
        arguments=DocxFileGeneratorArguments,
        run=write_docx,
        backend="python-docx",
        paging="Write less at once.",
    ),
)
