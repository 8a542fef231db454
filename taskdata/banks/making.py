"""What the programs share that make the input files of a bank's tasks, each in its own folder.

Every file must have the same bytes each time it is made, because a task is known by their hashes.
Office files would not: a library writes the time into their properties, and zip one into each part.
"""

import csv
import io
import re
import zipfile
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path

from docx import Document
from docx.document import Document as OfficeDocument
from openpyxl import Workbook
from pptx.presentation import Presentation
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.platypus import Paragraph

_TIME = re.compile(rb'(?<=W3CDTF">)[^<]+')


def save_office(
    package: Workbook | OfficeDocument | Presentation,
    path: Path,
    written: datetime,
    stated: datetime | None = None,
) -> None:
    """Save a workbook or document as if it had been made at a given time.

    Args:
        package: The workbook, document or presentation.
        path: Where to.
        written: The time of each of its parts.
        stated: The time that its properties give; None: the same.
    """
    buffer = io.BytesIO()
    package.save(buffer)
    time = f"{stated or written:%Y-%m-%dT%H:%M:%SZ}".encode()
    with zipfile.ZipFile(buffer) as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            part = zipfile.ZipInfo(name, written.timetuple()[:6])
            new.writestr(part, _TIME.sub(time, old.read(name)), zipfile.ZIP_DEFLATED)


def write_csv(path: Path, rows: Iterable[Sequence[object]], delimiter: str = ",") -> None:
    """Write rows as UTF-8 text with lines that end in a line feed, header included."""
    with path.open("w", newline="", encoding="utf-8") as out:
        csv.writer(out, delimiter=delimiter, lineterminator="\n").writerows(rows)


def blocks_of(path: Path) -> list[str]:
    """Return the parts of a text that are separated by empty lines."""
    return path.read_text(encoding="utf-8").strip().split("\n\n")


def cells_of(block: str) -> list[list[str]]:
    """Return the cells of a block that is a table: each line and each cell begins with `|`."""
    return [[cell.strip() for cell in line[1:].split("|")] for line in block.splitlines()]


def add_table(document: OfficeDocument, rows: Sequence[Sequence[str]]) -> None:
    """Add a table with a grid to an Office document."""
    table = document.add_table(len(rows), len(rows[0]), style="Table Grid")
    for row, texts in zip(table.rows, rows, strict=True):
        for cell, text in zip(row.cells, texts, strict=True):
            cell.text = text


def document_of(blocks: Iterable[str]) -> OfficeDocument:
    """Return an Office document of blocks: headings after `#` marks, tables and paragraphs.

    One mark makes the title, two a heading of the first level, and so on.
    """
    document = Document()
    for block in blocks:
        marks = len(block) - len(block.lstrip("#"))
        if marks:
            document.add_heading(block[marks:].strip(), marks - 1)
        elif block.startswith("|"):
            add_table(document, cells_of(block))
        else:
            document.add_paragraph(" ".join(block.splitlines()))
    return document


def document_of_sections(path: Path) -> OfficeDocument:
    """Return an Office document of a text whose headings have one paragraph each, line by line."""
    document = Document()
    for line in path.read_text(encoding="utf-8").splitlines():
        mark, _, rest = line.partition(" ")
        if mark in ("#", "##"):
            document.add_heading(rest, len(mark) - 1)
            paragraph = document.add_paragraph()
        else:
            paragraph.add_run(f"{line} ")
    return document


def fill_in(source: Path, target: Path, **values: object) -> None:
    """Write the text of `source` to `target`, with values where it names them in braces."""
    text = source.read_text(encoding="utf-8").format(**values)
    target.write_text(text, encoding="utf-8", newline="")


def story_of(blocks: Iterable[str]) -> list[Paragraph]:
    """Return the parts of a PDF of blocks: the title after `#`, headings after `##`, paragraphs."""
    styles = getSampleStyleSheet()
    names = {"#": "Title", "##": "Heading2"}
    story = []
    for block in blocks:
        mark, _, rest = block.partition(" ")
        style = styles[names.get(mark, "BodyText")]
        story.append(Paragraph(" ".join((rest if mark in names else block).splitlines()), style))
    return story
