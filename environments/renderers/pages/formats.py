"""Which files have pages that can be drawn, and how; imports nothing heavy."""

import shutil
from pathlib import PurePosixPath

CONVERTER = "soffice"
"""Command of LibreOffice."""
CONVERTED = {
    ".docx": "pdf:writer_pdf_Export",
    ".pptx": "pdf:impress_pdf_Export",
    # One page per sheet: cut at the width of paper, few tables would be readable.
    ".xlsx": 'pdf:calc_pdf_Export:{"SinglePageSheets":{"type":"boolean","value":"true"}}',
}
"""File endings that LibreOffice converts to PDF first, with the export filter."""
DRAWN = frozenset({".pdf", *CONVERTED})
NO_CONVERTER = "no converter"
"""The worker's reason if LibreOffice is missing."""
MAX_DRAWN_PAGES = 6
PAGE_PIXELS = 1200
"""Longer side of a picture."""
MAX_PAGE_BYTES = 400 * 1024
"""Size of one picture as PNG."""


def ending(name: str) -> str:
    """Return the file name's ending, which determines the format."""
    return PurePosixPath(name).suffix.lower()


def has_converter() -> bool:
    """Return whether LibreOffice is installed here."""
    return shutil.which(CONVERTER) is not None
