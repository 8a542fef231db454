"""Runs inside the sandbox: draws the first pages of one deliverable.

`python -m environments.renderers.pages.worker` reads `{"name": ...}` from stdin, opens that file in
`input/`, and writes two lines to stdout: `ready` once all imports are done, and `{"page_count":
..., "pictures": [...], "reason": ...}`, the pictures as PNG in base64. Other output of libraries
goes to stderr.
"""

import base64
import io
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pypdfium2
from PIL import Image, ImageChops

from environments.renderers.media.image import on_white, open_image
from environments.renderers.pages.formats import (
    BROWSED,
    CONVERTED,
    CONVERTER,
    MAX_DRAWN_PAGES,
    MAX_PAGE_BYTES,
    NO_CONVERTER,
    PAGE_PIXELS,
    PICTURES,
    SCREENSHOT,
    VIDEOS,
    ending,
    has_converter,
)

_SCRATCH = Path("/tmp/pages")  # noqa: S108 - the sandbox's own
_COLOURS = 128
_MARGIN = 24
"""Pixels that are kept below the last content of a screen."""
_LONGEST_SHEET = 1.5
"""Of a sheet longer than this many times its width, only the top is drawn."""
_SHEET_POINTS = (800, 1_600)
"""Least drawn height of a narrow sheet, and most width of a wide one, for readable text."""
_MOST_ENLARGED = 2.0
"""Most pixels per point."""


def main() -> None:
    """Serve one request."""
    with os.fdopen(os.dup(1), "wb") as reply:
        os.dup2(2, 1)
        path = Path("input") / json.load(sys.stdin)["name"]
        reply.write(b"ready\n")
        reply.flush()
        reply.write(json.dumps(_drawn(path)).encode() + b"\n")


def _drawn(path: Path) -> dict[str, Any]:
    if ending(path.name) in CONVERTED and not has_converter():
        return _nothing(NO_CONVERTER)
    try:
        if ending(path.name) in PICTURES:
            return _of([_picture(path)])
        if ending(path.name) in BROWSED:
            return _of(screens(Path("output") / SCREENSHOT))
        if ending(path.name) in VIDEOS:
            return _of(_moments(path))
        document = pypdfium2.PdfDocument(as_pdf(path))
        pictures = list(_pictures(document, is_sheet=ending(path.name) == ".xlsx"))
        return {"page_count": len(document), "pictures": pictures, "reason": ""}
    except Exception as exc:  # noqa: BLE001 - a malformed file can raise anything in a parser
        return _nothing(f"its pages cannot be drawn: {type(exc).__name__}: {exc}"[:300])


def _of(images: Iterable[Image.Image]) -> dict[str, Any]:
    pictures = [base64.b64encode(_png(image)).decode() for image in images]
    return {"page_count": len(pictures), "pictures": pictures, "reason": ""}


def _picture(path: Path) -> Image.Image:
    with open_image(path) as image:
        image.load()
        flat = on_white(image)
    flat.thumbnail((PAGE_PIXELS, PAGE_PIXELS))
    return flat


def _moments(path: Path) -> Iterator[Image.Image]:
    from environments.renderers.media.video import frames

    for image in frames(path, MAX_DRAWN_PAGES):
        image.thumbnail((PAGE_PIXELS, PAGE_PIXELS))
        yield image


def screens(path: Path) -> Iterator[Image.Image]:
    """Yield what a browser has drawn, cut into pieces, without the blank space below it."""
    with open_image(path) as image:
        whole = on_white(image)
    ground = Image.new("RGB", whole.size, whole.getpixel((0, whole.height - 1)))
    box = ImageChops.difference(whole, ground).getbbox()
    bottom = min(whole.height, (box[3] if box else 0) + _MARGIN)
    for top in range(0, bottom, PAGE_PIXELS):
        yield whole.crop((0, top, whole.width, min(top + PAGE_PIXELS, bottom)))


def _nothing(reason: str) -> dict[str, Any]:
    return {"page_count": 0, "pictures": [], "reason": reason}


def as_pdf(path: Path) -> Path:
    """Return a PDF of the document: itself, or what LibreOffice made of it.

    Raises:
        ValueError: LibreOffice could not convert it; `CalledProcessError` if it failed.
    """
    if ending(path.name) not in CONVERTED:
        return path
    subprocess.run(
        [
            CONVERTER,
            "--headless",
            "--norestore",
            "--nolockcheck",
            f"-env:UserInstallation={(_SCRATCH / 'profile').as_uri()}",
            "--convert-to",
            CONVERTED[ending(path.name)],
            "--outdir",
            str(_SCRATCH),
            str(path),
        ],
        check=True,
        stdin=subprocess.DEVNULL,
        stdout=sys.stderr,
    )
    made = _SCRATCH / f"{path.stem}.pdf"
    if not made.exists():  # LibreOffice ends with 0 where it could not read a file, too
        raise ValueError("LibreOffice could not convert it")
    return made


def _pictures(document: pypdfium2.PdfDocument, *, is_sheet: bool) -> Iterator[str]:
    for number in range(min(len(document), MAX_DRAWN_PAGES)):
        page = document[number]
        image = page_image(page, is_sheet=is_sheet)
        yield base64.b64encode(_png(image, dither=False)).decode()
        page.close()


def page_image(page: pypdfium2.PdfPage, *, is_sheet: bool) -> Image.Image:
    """Return a page as it looks; of the page of a long or wide sheet, its top left part."""
    width, height = page.get_size()
    right, bottom = 0.0, 0.0
    if is_sheet:
        tall, wide = _SHEET_POINTS
        right = max(0.0, width - wide)
        bottom = max(0.0, height - max(tall, _LONGEST_SHEET * (width - right)))
    scale = min(_MOST_ENLARGED, PAGE_PIXELS / max(width - right, height - bottom, 1))
    drawn: Image.Image = page.render(scale=scale, crop=(0, bottom, right, 0)).to_pil()
    return drawn.convert("RGB")


def _png(image: Image.Image, *, dither: bool = True) -> bytes:
    """Return the picture as a PNG of at most `MAX_PAGE_BYTES`, scaled down if needed.

    Few colours make drawn pages small; pictures and photographs keep more, dithered.
    """
    colours = _COLOURS * 2 if dither else _COLOURS
    method = Image.Dither.FLOYDSTEINBERG if dither else Image.Dither.NONE
    while True:
        data = io.BytesIO()
        image.quantize(colours, dither=method).save(data, "PNG", optimize=True)
        if data.tell() <= MAX_PAGE_BYTES:
            return data.getvalue()
        image = image.resize((max(1, image.width * 3 // 4), max(1, image.height * 3 // 4)))


if __name__ == "__main__":
    main()
