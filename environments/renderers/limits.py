"""Limits of what a renderer reads. A file beyond a limit is unreadable, never read in part.

Reading only the first part would let a file hide what a check must not find, and a sum over a cut
table would be a wrong fact about the agent. So the limits are generous and absolute.
"""

from pathlib import Path

MAX_FILE_BYTES = 64 * 1024 * 1024
MAX_TEXT_CHARACTERS = 1_000_000
"""Of all text in one file together."""
MAX_CELL_CHARACTERS = 32_767
"""Per cell; the limit of the XLSX format."""
MAX_CELLS = 200_000
"""Of all tables or worksheets in one file together."""
MAX_PAGES = 200
"""Pages of a PDF, slides of a presentation."""
MAX_SHEETS = 100
MAX_JSON_BYTES = 8 * 1024 * 1024
MAX_JSON_DEPTH = 64
MAX_JSON_VALUES = 200_000
MAX_HTML_BYTES = 16 * 1024 * 1024
MAX_MESSAGE_PARTS = 1_000
MAX_PIXELS = 50_000_000
MAX_SOUND_SECONDS = 1800
MAX_VIDEO_SECONDS = 3600
MAX_SAMPLES = 400_000_000
MAX_ARCHIVE_ENTRIES = 5_000
MAX_ARCHIVE_BYTES = 256 * 1024 * 1024
"""Size of an office file, unpacked."""
MAX_LISTED_ENTRIES = 5_000
"""Files in an archive, which are listed and not unpacked."""
MAX_SVG_BYTES = 8 * 1024 * 1024
MAX_SVG_ELEMENTS = 100_000

PREVIEW_PIXELS = 480
MAX_PREVIEW_BYTES = 300 * 1024
MAX_REPLY_BYTES = 24 * 1024 * 1024
"""Size of view and preview as JSON."""


class Unreadable(Exception):
    """The file cannot be viewed; the message becomes the reason in the view."""


def refuse_beyond(count: float, limit: float, what: str) -> None:
    """Raise `Unreadable` with both numbers if `count` exceeds `limit`."""
    if count > limit:
        raise Unreadable(f"it has {count:,.0f} {what}; at most {limit:,.0f} are looked at")


def read_bytes(path: Path, limit: int = MAX_FILE_BYTES) -> bytes:
    """Return the file's bytes; raise `Unreadable` if there are more than `limit`."""
    refuse_beyond(path.stat().st_size, limit, "bytes")
    return path.read_bytes()


class Meter:
    """Counts what a reader takes from a file, and stops the reader at the limits."""

    def __init__(self) -> None:
        self._characters = 0
        self._cells = 0

    def text(self, text: str | None) -> str:
        """Return `text` (None as empty) after counting its characters."""
        if not text:
            return ""
        self._characters += len(text)
        refuse_beyond(self._characters, MAX_TEXT_CHARACTERS, "characters")
        return text

    def cell(self, text: str | None) -> str:
        """Return a cell's text, white space at its ends removed, after counting it."""
        self._cells += 1
        refuse_beyond(self._cells, MAX_CELLS, "cells")
        refuse_beyond(len(text or ""), MAX_CELL_CHARACTERS, "characters in one cell")
        return self.text(text).strip()
