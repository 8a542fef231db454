"""ReadPDF: text and tables of a PDF, page by page."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field

from environments.toolkit.definition import Arguments, InputPath, ToolDefinition
from environments.tools.wording import count_of, table_lines
from environments.tools.workspace.paths import input_file
from taskdata.errors import ToolRefused
from taskdata.schema.task import Capability
from taskdata.schema.tool import ToolResult

if TYPE_CHECKING:
    from pdfplumber.page import Page
    from pdfplumber.pdf import PDF


class ReadPDFArguments(Arguments):
    """Arguments of ReadPDF."""

    path: InputPath
    first_page: int = Field(default=1, ge=1)
    last_page: int | None = Field(default=None, ge=1, description="The last one by default.")


def read_pdf(args: ReadPDFArguments, workspace: Path) -> ToolResult:
    """Return the text of the requested pages, each followed by its tables."""
    source = input_file(workspace, args.path)
    with _open(source, args.path) as pdf:
        total = len(pdf.pages)
        last = min(args.last_page or total, total)
        if args.first_page > last:
            raise ToolRefused(
                f"There are no pages {args.first_page} to {args.last_page or total}: "
                f"{args.path} has {count_of(total, 'page')}."
            )
        lines = [f"{args.path}: {count_of(total, 'page')}{_title(pdf)}"]
        for page in pdf.pages[args.first_page - 1 : last]:
            lines.extend(_page_lines(page))
            page.close()
    return ToolResult(text="\n".join(lines))


def _open(source: Path, path: str) -> "PDF":
    import pdfplumber
    from pdfminer.pdfdocument import PDFPasswordIncorrect
    from pdfplumber.utils.exceptions import PdfminerException

    if b"%PDF-" not in source.read_bytes()[:1024]:
        raise ToolRefused(f"{path} is not a PDF file.")
    try:
        pdf = pdfplumber.open(source)
        if not pdf.pages:
            raise ToolRefused(f"{path} is a damaged PDF: it has no pages.")
    except PdfminerException as exc:
        cause = exc.args[0] if exc.args else exc
        if isinstance(cause, PDFPasswordIncorrect):
            raise ToolRefused(f"{path} is encrypted; it opens with a password only.") from exc
        raise ToolRefused(f"{path} is a damaged PDF: {cause}") from exc
    return pdf


def _title(pdf: "PDF") -> str:
    title = pdf.metadata.get("Title")
    return f", titled {title!r}" if title else ""


def _page_lines(page: "Page") -> Iterator[str]:
    yield f"\n== page {page.page_number} ({page.width:.0f} x {page.height:.0f} pt)"
    text = page.extract_text()
    if text:
        yield text
    elif page.images:
        yield f"(no text; {count_of(len(page.images), 'image')}: the page may be a scan)"
    else:
        yield "(empty page)"
    for number, table in enumerate(page.extract_tables(), 1):
        yield f"-- table {number} of page {page.page_number}"
        yield from table_lines(table)


TOOLS = (
    ToolDefinition(
        name="ReadPDF",
        description=(
            "Read a PDF page by page: its text and, below it, the tables found. A page that is "
            "only a scanned image gives no text."
        ),
        category=Capability.PERCEPTION,
        arguments=ReadPDFArguments,
        run=read_pdf,
        backend="pdfplumber",
        paging="Ask for fewer pages with first_page and last_page.",
    ),
)
