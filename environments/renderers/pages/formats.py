"""Which files have pages that can be drawn, and how; imports nothing heavy."""

import os
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
BROWSED = frozenset({".html", ".htm", ".svg"})
"""File endings that a browser draws."""
PICTURES = frozenset({".png", ".jpg", ".jpeg", ".gif", ".webp"})
VIDEOS = frozenset({".mp4", ".webm"})
PAGED = frozenset({".pdf", *CONVERTED})
DRAWN = PAGED | BROWSED | PICTURES | VIDEOS
NO_CONVERTER = "no converter"
"""The worker's reason if LibreOffice is missing."""
BROWSERS = (
    "/usr/lib/chromium/chromium",
    "/usr/lib64/chromium-browser/chromium-browser",
    "/opt/google/chrome/chrome",
    "/usr/lib/chromium-browser/chromium-browser",
)
"""Chromium's program; what is on the PATH may be a script that needs more of the system."""
SCREENSHOT = "screen.png"
"""Name below `output/` of what a browser has drawn."""
SCREEN = (1200, 3600)
"""Size of the window in which a page is drawn, in pixels; it is cut into pictures."""
BROWSER_FLAGS = (
    *("--headless", "--no-sandbox", "--in-process-gpu", "--disable-gpu", "--no-first-run"),
    *("--disable-dev-shm-usage", "--hide-scrollbars", "--virtual-time-budget=3000"),
    f"--window-size={SCREEN[0]},{SCREEN[1]}",
)
"""How a browser draws: in a sandbox without network, so that it needs none of its own, which could
not start there."""
MAX_DRAWN_PAGES = 6
PAGE_PIXELS = 1200
"""Longer side of a picture."""
MAX_PAGE_BYTES = 700 * 1024
"""Size of one picture as PNG."""


def sampled_times(seconds: float, count: int) -> list[float]:
    """Return the middles of `count` equal parts of so many seconds."""
    return [seconds * (number + 0.5) / count for number in range(count)]


def ending(name: str) -> str:
    """Return the file name's ending, which determines the format."""
    return PurePosixPath(name).suffix.lower()


def browser() -> str | None:
    """Return where Chromium is installed here, None if it is not."""
    return next((path for path in BROWSERS if os.access(path, os.X_OK)), None)


def has_converter() -> bool:
    """Return whether LibreOffice is installed here."""
    return shutil.which(CONVERTER) is not None
