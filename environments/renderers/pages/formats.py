"""Which files have pages that can be drawn, and what draws them; imports nothing heavy."""

import shutil
from pathlib import PurePosixPath

CONVERTER = "soffice"
"""LibreOffice's command."""
CONVERTED = {
    ".docx": "pdf:writer_pdf_Export",
    ".pptx": "pdf:impress_pdf_Export",
    # One page per sheet: cut at the width of paper, few tables could be read.
    ".xlsx": 'pdf:calc_pdf_Export:{"SinglePageSheets":{"type":"boolean","value":"true"}}',
}
"""File endings that LibreOffice turns into PDF first, with the filter that does."""
DRAWN = frozenset({".pdf", *CONVERTED})
NO_CONVERTER = "no converter"
"""What the worker gives as its reason where LibreOffice is missing."""
MAX_DRAWN_PAGES = 6
PAGE_PIXELS = 1200
"""Longer side of a picture."""
MAX_PAGE_BYTES = 400 * 1024
"""Of one picture, as PNG."""


def ending(name: str) -> str:
    """Return the ending by which a file's format is told."""
    return PurePosixPath(name).suffix.lower()


def has_converter() -> bool:
    """Return whether LibreOffice is installed here."""
    return shutil.which(CONVERTER) is not None
