"""The blocks of documents, for both DOCX and PDF, and their inline markup."""

import re
from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from environments.toolkit.definition import Arguments, CellValue, InputPath

_BOLD = re.compile(r"\*\*(\S(?:.*?\S)?)\*\*", re.DOTALL)

TEXT_NOTE = "**bold** is the only markup."


class Heading(Arguments):
    """A heading."""

    type: Literal["heading"]
    text: str
    level: int = Field(default=1, ge=1, le=9)


class TextParagraph(Arguments):
    """A paragraph."""

    type: Literal["paragraph"]
    text: str = Field(description=TEXT_NOTE)


class Bullets(Arguments):
    """A bulleted list."""

    type: Literal["bullets"]
    items: list[str]


class Numbered(Arguments):
    """A numbered list; each starts at 1."""

    type: Literal["numbered"]
    items: list[str]


class TableBlock(Arguments):
    """A table; the first row is the header."""

    type: Literal["table"]
    rows: list[list[CellValue]] = Field(min_length=1, description="The first row is the header.")

    @property
    def width(self) -> int:
        """Number of columns of the widest row."""
        return max(map(len, self.rows))

    @property
    def texts(self) -> list[list[str]]:
        """The cells as texts, rows padded to the same width."""
        return [
            ["" if cell is None else str(cell) for cell in row] + [""] * (self.width - len(row))
            for row in self.rows
        ]


class ImageBlock(Arguments):
    """An image from the workspace."""

    type: Literal["image"]
    path: InputPath
    width_cm: float | None = Field(default=None, gt=0, le=100)


class PageBreak(Arguments):
    """The rest starts on a new page."""

    type: Literal["page_break"]


Block = Annotated[
    Heading | TextParagraph | Bullets | Numbered | TableBlock | ImageBlock | PageBreak,
    Field(discriminator="type"),
]


def bold_runs(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the parts of `text` and whether each is bold."""
    end = 0
    for match in _BOLD.finditer(text):
        if match.start() > end:
            yield text[end : match.start()], False
        yield match.group(1), True
        end = match.end()
    if end < len(text):
        yield text[end:], False


def blocks_summary(blocks: list[Block]) -> str:
    """Return a summary of the blocks, such as `2 headings, 5 paragraphs, 1 table`."""
    names = {"heading": "heading", "paragraph": "paragraph", "table": "table", "image": "image"}
    names |= {"bullets": "bulleted list", "numbered": "numbered list", "page_break": "page break"}
    kinds = [block.type for block in blocks]
    counted = ((names[kind], kinds.count(kind)) for kind in dict.fromkeys(kinds))
    return ", ".join(f"{n} {name}{'' if n == 1 else 's'}" for name, n in counted) or "no blocks"
