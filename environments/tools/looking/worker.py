"""Runs inside the sandbox: `python -m environments.tools.looking.worker`.

Files of the workspace are opened here and never on the host: pages are drawn, frames and pictures
decoded, scaled for a model and encoded again. One JSON request comes on standard input; on standard
output a line that says `ready` comes once all libraries are loaded, then one JSON reply.
"""

import json
import os
import subprocess
import sys
import traceback
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pypdfium2
from PIL import Image

from environments.renderers.limits import Unreadable
from environments.renderers.pages.formats import (
    BROWSED,
    BROWSER_FLAGS,
    CONVERTED,
    CONVERTER,
    browser,
    ending,
    has_converter,
    sampled_times,
)
from environments.renderers.pages.worker import as_pdf, page_image, screens
from environments.renderers.web.html import read_html
from environments.renderers.web.svg import read_svg
from environments.tools.images.pictures import flat, open_picture, size_text
from environments.tools.looking.forms import (
    MOVING,
    PAGES,
    Look,
    LookReply,
    LookRequest,
    Noun,
    Viewed,
)
from environments.tools.media.tracks import open_video
from environments.tools.models.media_worker import MAX_PIXELS, for_model, frame_at
from environments.tools.workspace.paths import input_file
from taskdata.errors import ToolRefused

_MAX_BYTES = 700_000
"""Of one picture."""
_MAX_WORDS = 8_000
_BROWSER_SECONDS = 60
_SCREENSHOT = Path("/tmp/screen.png")  # noqa: S108 - the sandbox's own
_PROFILE = "/tmp/profile"  # noqa: S108 - the sandbox's own
_NOUNS: dict[str, Noun] = {".pptx": "slide", ".xlsx": "sheet"}


def main() -> None:
    """Answer one request."""
    with os.fdopen(os.dup(1), "wb") as stream:
        os.dup2(2, 1)
        stream.write(b"ready\n")
        stream.flush()
        request = LookRequest.model_validate_json(sys.stdin.buffer.readline())
        reply = LookReply(viewed=tuple(_viewed(path, request) for path in request.paths))
        stream.write(json.dumps(reply.model_dump()).encode())


def _viewed(path: str, request: LookRequest) -> Viewed:
    try:
        return view(path, request, Path.cwd())
    except (ToolRefused, Unreadable) as exc:
        return Viewed(refused=str(exc)[:2_000])
    except Exception as exc:  # noqa: BLE001 - a malformed file can raise anything in a parser
        traceback.print_exception(exc)
        return Viewed(refused=f"{path} cannot be drawn: {type(exc).__name__}: {exc}"[:2_000])


def view(path: str, request: LookRequest, workspace: Path) -> Viewed:
    """Return what is seen of a file; raises `ToolRefused` or `Unreadable` if nothing can be."""
    source, kind = input_file(workspace, path), ending(path)
    if kind in MOVING:
        return _video(path, request, workspace)
    if kind not in PAGES:
        picture = open_picture(workspace, path)
        return Viewed(size=size_text(picture), looks=(_look(flat(picture), ""),))
    if kind in BROWSED:
        return _screens(path, source, request)
    return _pages(path, source, request)


def _pages(path: str, source: Path, request: LookRequest) -> Viewed:
    kind = ending(path)
    if kind in CONVERTED and not has_converter():
        raise ToolRefused(f"{path} cannot be drawn: {CONVERTER} is not installed here.")
    noun = _NOUNS.get(kind, "page")
    with closing(pypdfium2.PdfDocument(as_pdf(source))) as document:
        numbers = _chosen(path, noun, len(document), request)
        looks = [_page(document, number, noun, is_sheet=kind == ".xlsx") for number in numbers]
        return Viewed(noun=noun, total=len(document), looks=tuple(looks))


def _page(document: pypdfium2.PdfDocument, number: int, noun: Noun, *, is_sheet: bool) -> Look:
    page = document[number - 1]
    words = page.get_textpage().get_text_range().replace("\r\n", "\n")
    return _look(page_image(page, is_sheet=is_sheet), f"{noun} {number}", words)


def _screens(path: str, source: Path, request: LookRequest) -> Viewed:
    program = browser()
    if program is None:
        raise ToolRefused(f"{path} cannot be drawn: Chromium is not installed here.")
    # On a busy host Chromium sometimes ends without a picture.
    if not any(_is_browsed(program, path, source) for _ in range(2)):
        raise ToolRefused(f"{path} cannot be drawn: Chromium made no picture of it.")
    drawn = list(screens(_SCREENSHOT))
    _SCREENSHOT.unlink()
    words = "\n".join(read_svg(source).texts) if ending(path) == ".svg" else read_html(source).text
    looks = tuple(
        _look(drawn[number - 1], f"screen {number}", words if number == 1 else "")
        for number in _chosen(path, "screen", len(drawn), request)
    )
    return Viewed(noun="screen", total=len(drawn), looks=looks)


def _is_browsed(program: str, path: str, source: Path) -> bool:
    """Have Chromium draw a page; return whether it did."""
    flags = (*BROWSER_FLAGS, f"--user-data-dir={_PROFILE}", f"--screenshot={_SCREENSHOT}")
    try:
        subprocess.run(
            [program, *flags, source.as_uri()],
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=sys.stderr,
            timeout=_BROWSER_SECONDS,
        )
    except subprocess.TimeoutExpired as exc:
        raise ToolRefused(f"{path} was not drawn within {_BROWSER_SECONDS} s.") from exc
    return _SCREENSHOT.is_file()


def _video(path: str, request: LookRequest, workspace: Path) -> Viewed:
    media, track = open_video(workspace, path)
    if request.second is not None and request.second >= track.seconds:
        raise ToolRefused(f"{path} has {track.seconds:.1f} s: there is no second {request.second}.")
    times = sampled_times(track.seconds, request.count)
    if request.second is not None:
        times = [second for second in _seconds_from(request) if second < track.seconds]
    looks = [
        _look(frame, f"at {second:.1f} s")
        for second in times
        if (frame := frame_at(media.source, path, second)) is not None
    ]
    if not looks:
        raise ToolRefused(f"No picture of {path} could be decoded.")
    return Viewed(noun="frame", seconds=track.seconds, looks=tuple(looks))


def _seconds_from(request: LookRequest) -> Iterator[float]:
    """Yield the seconds of the frames: one each second."""
    for number in range(request.count):
        yield (request.second or 0.0) + number


def _chosen(path: str, noun: Noun, total: int, request: LookRequest) -> range:
    if request.page > total:
        some = "1 " + noun if total == 1 else f"{total} {noun}s"
        raise ToolRefused(f"{path} has {some}: there is no {noun} {request.page}.")
    return range(request.page, min(total, request.page + request.count - 1) + 1)


def _look(image: Image.Image, label: str, words: str = "") -> Look:
    sent = for_model(image, MAX_PIXELS, _MAX_BYTES)
    return Look(
        label=label,
        media_type=sent.media_type,
        data=sent.data,
        width=sent.sent_width,
        height=sent.sent_height,
        words=words.strip()[:_MAX_WORDS],
    )


if __name__ == "__main__":
    main()
