"""ReadDOCX: the text of a Word document, including its tables in order."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from zipfile import BadZipFile

from environments.toolkit.definition import Arguments, InputPath, ToolDefinition
from environments.tools.wording import count_of, table_lines
from environments.tools.workspace.paths import input_file
from taskdata.errors import ToolRefused
from taskdata.schema.task import Capability
from taskdata.schema.tool import ToolResult

if TYPE_CHECKING:
    from docx.document import Document
    from docx.text.paragraph import Paragraph


class ReadDOCXArguments(Arguments):
    """Arguments of ReadDOCX."""

    path: InputPath


def read_docx(args: ReadDOCXArguments, workspace: Path) -> ToolResult:
    """Return paragraphs with headings and list items marked, tables, header and footer."""
    document = _open(input_file(workspace, args.path), args.path)
    body = list(_body(document))
    facts = [
        count_of(len(document.paragraphs), "paragraph"),
        count_of(len(document.tables), "table"),
        count_of(len(document.inline_shapes), "image"),
    ]
    lines = [f"{args.path}: {', '.join(facts)}", *_margins(document), "", *body]
    return ToolResult(text="\n".join(lines))


def _open(source: Path, path: str) -> "Document":
    from docx import Document
    from docx.opc.exceptions import PackageNotFoundError

    try:
        return Document(str(source))
    except (PackageNotFoundError, BadZipFile, KeyError, ValueError, SyntaxError) as exc:
        raise ToolRefused(
            f"{path} cannot be read as a DOCX document (damaged, or another format): {exc}"
        ) from exc


def _margins(document: "Document") -> Iterator[str]:
    """Yield the page header and footer of each section that has its own."""
    for number, section in enumerate(document.sections, 1):
        for place, part in (("header", section.header), ("footer", section.footer)):
            text = " / ".join(p.text for p in part.paragraphs if p.text.strip())
            if text and not part.is_linked_to_previous:
                yield f"page {place} of section {number}: {text}"


def _body(document: "Document") -> Iterator[str]:
    from docx.table import Table

    for block in document.iter_inner_content():
        if isinstance(block, Table):
            yield from table_lines([cell.text for cell in row.cells] for row in block.rows)
            yield ""
        else:
            yield _paragraph_text(block)


def _paragraph_text(paragraph: "Paragraph") -> str:
    style = (paragraph.style.name if paragraph.style else "") or ""
    if style == "Title":
        return f"# {paragraph.text}"
    if style.startswith("Heading ") and style[8:].isdigit():
        return f"{'#' * int(style[8:])} {paragraph.text}"
    if style.startswith("List Bullet"):
        return f"- {paragraph.text}"
    if style.startswith("List Number"):
        return f"1. {paragraph.text}"
    return paragraph.text


TOOLS = (
    ToolDefinition(
        name="ReadDOCX",
        description=(
            "Read a Word document: text in order, headings marked with #, list items, tables, "
            "page header and footer."
        ),
        category=Capability.PERCEPTION,
        arguments=ReadDOCXArguments,
        run=read_docx,
        backend="python-docx",
        paging="Read the rest with python_execute, if the task has it.",
    ),
)
