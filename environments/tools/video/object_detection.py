"""VideoObjectDetection: objects that can be found in a video without a trained model."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from pydantic import Field

from environments.toolkit.definition import Arguments, ToolDefinition
from environments.tools.images.boxes import Box
from environments.tools.media.parts import EndTime, Part, StartTime, VideoPath, part_of
from environments.tools.media.tracks import Media, Track, open_video
from environments.tools.video.frames import sampled_frames
from environments.tools.video.moving_objects import Moving, moving_objects
from environments.tools.wording import cell_text, count_of
from taskdata.errors import ToolRefused
from taskdata.schema.task import Capability
from taskdata.schema.tool import ToolResult

MOVING = "moving object"
QR_CODE = "QR code"

_NAMES: Mapping[str, str] = {
    **dict.fromkeys(("moving object", "moving objects", "motion", "movement"), MOVING),
    **dict.fromkeys(("qr code", "qr codes", "qr", "qrcode"), QR_CODE),
}
_MAX_CLASSES = 20
_MOTION_SIDE = 320
_MOTION_INTERVAL = 0.1
_MAX_MOTION_FRAMES = 300
_LEAST_MOTION_FRAMES = 5
_CODE_SIDE = 960
_CODE_INTERVAL = 0.5
_MAX_CODE_FRAMES = 60
_MAX_SHOWN = 50
_STILL_SHARE = 0.05
_MAX_CODE_CHARS = 300


class VideoObjectDetectionArguments(Arguments):
    """Arguments of VideoObjectDetection."""

    video: VideoPath
    objects: list[str] = Field(
        default=[MOVING, QR_CODE],
        min_length=1,
        max_length=_MAX_CLASSES,
        description=f"What to look for: {MOVING}, {QR_CODE}.",
    )
    start_time: StartTime = 0.0
    end_time: EndTime = None


def detect_objects(args: VideoObjectDetectionArguments, workspace: Path) -> ToolResult:
    """Return one line per object: time, place, and its direction or content."""
    wanted = {_known(name) for name in args.objects}
    media, track = open_video(workspace, args.video)
    part = part_of(args.video, track.seconds, args.start_time, args.end_time)
    lines = [f"{args.video}, {part}, boxes as (x1, y1, x2, y2) in pixels:"]
    if MOVING in wanted:
        lines += _moving_lines(media, track, part)
    if QR_CODE in wanted:
        lines += _code_lines(media, track, part)
    return ToolResult(text="\n".join(lines))


def _known(name: str) -> str:
    known = _NAMES.get(" ".join(name.lower().split()))
    if known is None:
        raise ToolRefused(
            f"{name[:60]!r} cannot be detected: without a trained model this tool finds only "
            f"{MOVING} (anything that moves before a still camera) and {QR_CODE}."
        )
    return known


def _moving_lines(media: Media, track: Track, part: Part) -> Iterator[str]:
    interval = max(_MOTION_INTERVAL, part.seconds / _MAX_MOTION_FRAMES)
    frames = list(sampled_frames(media, track, part, interval, _MOTION_SIDE))
    if len(frames) < _LEAST_MOTION_FRAMES:
        yield f"{MOVING}: cannot be told from {count_of(len(frames), 'frame')}; use a longer part"
        return
    found = moving_objects(frames)
    if found is None:
        yield f"{MOVING}: cannot be told, since most of the picture changes (the camera may move)"
        return
    yield f"{MOVING}: {len(found)} found"
    height, width = frames[0].pixels.shape[:2]
    scale = max(track.width, track.height) / max(height, width)
    for number, moving in enumerate(found[:_MAX_SHOWN], 1):
        first, last = (_scaled(box, scale) for box in (moving.boxes[0], moving.boxes[-1]))
        yield (
            f"{MOVING} {number}: {moving.times[0]:.2f} to {moving.times[-1]:.2f} s, from {first} "
            f"to {last}, {_direction(moving, (width, height))}"
        )
    yield from _more(len(found))


def _direction(moving: Moving, size: tuple[int, int]) -> str:
    words = [
        word
        for distance, side, (back, forth) in zip(
            moving.way, size, (("left", "right"), ("up", "down")), strict=True
        )
        if abs(distance) > _STILL_SHARE * side
        for word in [forth if distance > 0 else back]
    ]
    return f"goes {' and '.join(words)}" if words else "ends about where it began"


def _code_lines(media: Media, track: Track, part: Part) -> Iterator[str]:
    import cv2
    import numpy as np

    cv2.setNumThreads(1)
    detector = cv2.QRCodeDetector()
    interval = max(_CODE_INTERVAL, part.seconds / _MAX_CODE_FRAMES)
    seen: dict[str, tuple[float, float, Box]] = {}
    for frame in sampled_frames(media, track, part, interval, _CODE_SIDE):
        found, texts, corners, _ = detector.detectAndDecodeMulti(np.ascontiguousarray(frame.pixels))
        scale = max(track.width, track.height) / max(frame.pixels.shape[:2])
        for text, quad in zip(texts, corners, strict=True) if found else ():
            box = Box(*(int(side) for side in (*quad.min(axis=0), *quad.max(axis=0))))
            first, _, place = seen.get(text, (frame.time, 0.0, _scaled(box, scale)))
            seen[text] = (first, frame.time, place)
    yield f"{QR_CODE}: {len(seen)} found"
    for text, (first, last, box) in list(seen.items())[:_MAX_SHOWN]:
        says = f"says {cell_text(text[:_MAX_CODE_CHARS])!r}" if text else "cannot be decoded"
        yield f"{QR_CODE}: {first:.2f} to {last:.2f} s, {box}, {says}"
    yield from _more(len(seen))


def _more(found: int) -> Iterator[str]:
    if found > _MAX_SHOWN:
        yield f"(and {found - _MAX_SHOWN} more: look at a shorter part)"


def _scaled(box: Box, scale: float) -> Box:
    return Box(*(round(side * scale) for side in box))


TOOLS = (
    ToolDefinition(
        name="VideoObjectDetection",
        description=(
            f"Find objects in a video without a trained model. It knows only two kinds: {MOVING} "
            "(whatever moves before a still camera, by background subtraction: with times, boxes "
            f"and direction, but not what it is) and {QR_CODE} (with what it says). It cannot tell "
            "people, cars or animals."
        ),
        category=Capability.PERCEPTION,
        arguments=VideoObjectDetectionArguments,
        run=detect_objects,
        backend="OpenCV and ffmpeg",
        paging="Look at a shorter part with start_time and end_time.",
        modules=("imageio_ffmpeg", "cv2"),
        extra="tools-vision",
    ),
)
