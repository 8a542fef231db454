"""Videos: length, size, and frames at equal distances."""

from collections.abc import Iterator
from pathlib import Path

# Imported here and not where it is used: where it is missing, that is no fault of the file.
import imageio_ffmpeg  # noqa: F401
from PIL import Image

from environments.renderers.limits import (
    MAX_FILE_BYTES,
    MAX_VIDEO_SECONDS,
    Unreadable,
    refuse_beyond,
)
from environments.renderers.media.image import small_png
from environments.renderers.pages.formats import sampled_times
from environments.tools.media.parts import Part
from environments.tools.media.tracks import Media, Track, open_video
from environments.tools.video.frames import frame_between
from taskdata.errors import ToolRefused
from taskdata.schema.views import VideoView

_SIGNATURES = {
    ".mp4": (4, b"ftyp"),
    ".webm": (0, b"\x1a\x45\xdf\xa3"),
}
"""Where a file of this ending has which bytes."""


def read_video(path: Path) -> VideoView:
    """Return length and form of the video's tracks, counted from its packets."""
    media, track = _opened(path)
    return VideoView(
        seconds=track.seconds,
        width=track.width,
        height=track.height,
        frames_per_second=track.frames_per_second,
        has_sound=media.audio is not None,
    )


def preview_video(path: Path) -> bytes:
    """Return a small picture of the middle of the video as PNG."""
    media, track = _opened(path)
    return small_png(_frame(media, track, track.seconds / 2))


def frames(path: Path, count: int) -> Iterator[Image.Image]:
    """Yield `count` frames at equal distances."""
    media, track = _opened(path)
    for time in sampled_times(track.seconds, count):
        yield _frame(media, track, time)


def _frame(media: Media, track: Track, time: float) -> Image.Image:
    try:
        pixels = frame_between(media, Part(time, track.seconds)).pixels
    except ToolRefused as exc:
        raise Unreadable(str(exc)) from exc
    return Image.fromarray(pixels)


def _opened(path: Path) -> tuple[Media, Track]:
    refuse_beyond(path.stat().st_size, MAX_FILE_BYTES, "bytes")
    place, signature = _SIGNATURES[path.suffix.lower()]
    with path.open("rb") as file:
        if file.read(place + len(signature))[place:] != signature:
            raise Unreadable(f"its content is not that of a {path.suffix[1:].upper()} file")
    try:
        media, track = open_video(path.parent, path.name)
    except ToolRefused as exc:
        raise Unreadable(str(exc)) from exc
    refuse_beyond(track.seconds, MAX_VIDEO_SECONDS, "seconds")
    return media, track
