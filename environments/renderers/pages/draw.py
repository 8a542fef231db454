"""Has pages of a deliverable drawn in a sandbox and validates the pictures on the host."""

import asyncio
import base64
import binascii
import json
import struct
from dataclasses import dataclass

from environments.ports import Completed, Sandbox
from environments.renderers.asking import ask, reply_parts
from environments.renderers.pages.formats import (
    BROWSED,
    BROWSER_FLAGS,
    BROWSERS,
    DRAWN,
    MAX_DRAWN_PAGES,
    MAX_PAGE_BYTES,
    NO_CONVERTER,
    PAGE_PIXELS,
    SCREENSHOT,
    ending,
)
from taskdata.schema.task import Resources

DRAW_RESOURCES = Resources(
    cpu_seconds=60,
    # Far more than the CPU limit needs: on a busy host a file must not lose its pictures.
    wall_seconds=300,
    memory_mb=2048,
    processes=128,
    # Chromium keeps what it shares between its parts in files.
    disk_mb=1024,
    output_kb=2 * MAX_DRAWN_PAGES * MAX_PAGE_BYTES // 1024,
)
"""Resources for drawing one deliverable."""
_PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_MAX_REASON = 300
_BROWSER_SECONDS = 60.0
_NO_BROWSER = 127
_MOST_PAGES = 100_000


@dataclass(frozen=True)
class DrawnPages:
    """The first pages of a file as PNG pictures."""

    pictures: tuple[bytes, ...] = ()
    page_count: int = 0
    """Pages of the file, of which only the first are drawn."""
    reason: str = ""
    """Why there are no pictures."""
    needs_converter: bool = False
    """There are no pictures because the program that draws such files is not in the sandbox."""


async def draw(sandbox: Sandbox, name: str) -> DrawnPages:
    """Return pictures of `input/<name>` in the sandbox's workspace.

    Raises:
        SandboxFailed: the sandbox failed, or the worker before it opened the file.
    """
    if ending(name) not in DRAWN:
        return DrawnPages(reason="files of this type have no pages")
    if ending(name) in BROWSED and not await _browsed(sandbox, name):
        return DrawnPages(reason="Chromium is not installed", needs_converter=True)
    completed = await ask(sandbox, "environments.renderers.pages.worker", {"name": name})
    return read_reply(completed)


async def _browsed(sandbox: Sandbox, name: str) -> bool:
    """Have Chromium draw `input/<name>`; return whether Chromium is there."""
    flags = (
        *BROWSER_FLAGS,
        "--user-data-dir=/tmp/profile",
        f"--screenshot=/workspace/output/{SCREENSHOT}",
    )
    program = f'for b in {" ".join(BROWSERS)}; do [ -x "$b" ] && exec "$b" "$@"; done; exit 127'
    target = f"file:///workspace/input/{name}"
    browser = await sandbox.start(
        ["/bin/sh", "-c", program, "sh", *flags, target], reserves_memory=True
    )
    try:
        async with asyncio.timeout(_BROWSER_SECONDS):
            while await browser.read():
                pass
    except TimeoutError:
        pass  # what it has not drawn by then is not there, and the worker says so
    finally:
        ended = await browser.close()
    return ended.exit_code != _NO_BROWSER


def read_reply(completed: Completed) -> DrawnPages:
    """Turn the worker's output into pictures, validating it; see `draw`."""
    parts = reply_parts(completed, "the drawing of pages")
    if parts is None:
        cause = completed.limit or f"exit code {completed.exit_code}"
        return DrawnPages(reason=f"its pages could not be drawn within the limits: {cause}")
    try:
        reply = json.loads(parts[0])
        pictures, count = reply["pictures"][:MAX_DRAWN_PAGES], int(reply["page_count"])
        reason = str(reply["reason"])[:_MAX_REASON]
        drawn = tuple(_picture(picture) for picture in pictures)
    except (ValueError, TypeError, KeyError, RecursionError, binascii.Error):
        return DrawnPages(reason="the drawing of its pages gave no valid pictures")
    if reason == NO_CONVERTER:
        return DrawnPages(reason="LibreOffice is not installed", needs_converter=True)
    return DrawnPages(drawn, min(max(count, len(drawn)), _MOST_PAGES), reason)


def _picture(encoded: str) -> bytes:
    """Return the PNG; raises `ValueError` unless it is a small PNG."""
    png = base64.b64decode(encoded, validate=True)
    if len(png) > MAX_PAGE_BYTES or png[:8] != _PNG_SIGNATURE or png[12:16] != b"IHDR":
        raise ValueError("not a small PNG")
    width, height = struct.unpack(">II", png[16:24])
    if not (0 < width <= PAGE_PIXELS + 1 and 0 < height <= PAGE_PIXELS + 1):
        raise ValueError("too many pixels")
    return png
