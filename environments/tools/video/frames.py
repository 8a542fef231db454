"""Frames of a video as pixels, and encoding of videos."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import IO, TYPE_CHECKING, NamedTuple

from environments.tools.media.ffmpeg import MAX_FRAME_PIXELS, media_input, reading
from environments.tools.media.parts import Part
from environments.tools.media.tracks import Media, Track
from taskdata.errors import ToolRefused

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Pixels = NDArray[np.uint8]

_MAX_PIXELS_ENCODED = 2_000_000_000
"""What one CPU encodes in a call in the worst case: 32 s of 1080p at 30 Hz."""
_MAX_PIXELS_SAMPLED = 5_000_000_000
"""What one CPU decodes twice in a call: 80 s of 1080p at 30 Hz."""

_X264 = (
    *("-c:v", "libx264", "-preset", "superfast", "-crf", "20", "-pix_fmt", "yuv420p"),
    *("-threads", "1", "-x264-params", "threads=1:lookahead-threads=1"),
    *("-c:a", "aac", "-b:a", "160k"),
)
ENCODERS: Mapping[str, Sequence[str]] = {
    ".mp4": (*_X264, "-movflags", "+faststart"),
    ".mov": (*_X264, "-movflags", "+faststart"),
    ".mkv": _X264,
    ".webm": (
        *("-c:v", "libvpx", "-deadline", "realtime", "-cpu-used", "8", "-threads", "1"),
        *("-crf", "10", "-b:v", "4M", "-pix_fmt", "yuv420p", "-c:a", "libopus", "-b:a", "128k"),
    ),
}
"""How ffmpeg writes a video file of each ending."""

EVEN_SIDES = "crop=trunc(iw/2)*2:trunc(ih/2)*2"
"""Filter that crops the last row or column, because encoders need even sides."""


class Frame(NamedTuple):
    """A frame shown at `time`, in seconds from the beginning of the video."""

    time: float
    pixels: "Pixels"
    """RGB, upright."""


def frame_between(media: Media, part: Part) -> Frame:
    """Return the first frame of a part, in the size in which the video is shown."""
    return next(_decoded(media, part, ["-frames:v", "1"], 1.0))


def frame_at_start(media: Media) -> Frame:
    """Return the first frame, in the size in which the video is shown."""
    return frame_between(media, Part(0.0, media.seconds))


def sampled_frames(
    media: Media, track: Track, part: Part, interval: float, longest_side: int
) -> Iterator[Frame]:
    """Yield the frames at the start of `part` and every `interval` seconds of it.

    They are scaled down if a side is longer than `longest_side` pixels. Raises `ToolRefused` for a
    part with more pixels than can be decoded in the time of a call.
    """
    _refuse_heavy(media.path, track, part, _MAX_PIXELS_SAMPLED)
    steps = [f"fps=fps={1 / interval:.9f}:round=up:start_time=0"]
    if max(track.width, track.height) > longest_side:
        steps.append(f"scale={longest_side}:{longest_side}:force_original_aspect_ratio=decrease")
    count = max(1, math.ceil(part.seconds / interval - 1e-6))
    options = ["-vf", ",".join(steps), "-frames:v", str(count)]
    yield from _decoded(media, part, options, interval)


def _decoded(media: Media, part: Part, options: Sequence[str], interval: float) -> Iterator[Frame]:
    span = ("-ss", f"{part.start:.6f}", "-t", f"{part.seconds:.6f}")
    form = ("-c:v", "ppm", "-pix_fmt", "rgb24", "-f", "image2pipe")
    command = [*media_input(media.source, *span), "-map", "0:V:0", *options, *form]
    number = 0
    with reading(command, media.path) as stream:
        while (pixels := _read_ppm(stream)) is not None:
            yield Frame(part.start + number * interval, pixels)
            number += 1
    if not number:
        raise ToolRefused(f"{media.path} has no frame that can be decoded in {part}.")


def _read_ppm(stream: IO[bytes]) -> "Pixels | None":
    import numpy as np

    if stream.readline(8) != b"P6\n":
        return None
    width, height = (int(number) for number in stream.readline(32).split())
    stream.readline(8)
    size = width * height * 3
    if not 0 < size <= MAX_FRAME_PIXELS * 3:
        return None
    data = stream.read(size)
    if len(data) < size:
        return None
    return np.frombuffer(data, dtype=np.uint8).reshape(height, width, 3)


def refuse_long(media: Media, track: Track, part: Part) -> None:
    """Raise `ToolRefused` for a part with more pixels than can be encoded in the time of a call."""
    _refuse_heavy(media.path, track, part, _MAX_PIXELS_ENCODED)


def _refuse_heavy(path: str, track: Track, part: Part, most: int) -> None:
    a_second = track.width * track.height * track.frames_per_second
    if a_second * part.seconds > most:
        raise ToolRefused(
            f"{part} of {path} is too much for one call ({track.width} x {track.height} pixels at "
            f"{track.frames_per_second:.0f} frames a second): at most {most / a_second:.0f} s."
        )


def video_text(track: Track) -> str:
    """Return the form of a video as `640 x 360 pixels, 25.0 frames per second`."""
    return f"{track.width} x {track.height} pixels, {track.frames_per_second:.1f} frames per second"
