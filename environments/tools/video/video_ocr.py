"""VideoOCR: the texts in a video, each once with the times at which it is visible."""

import difflib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field

from environments.toolkit.definition import Arguments, ToolDefinition
from environments.tools.images.boxes import Box
from environments.tools.images.recognition.text_lines import TextLine, read_lines
from environments.tools.media.parts import EndTime, Seconds, StartTime, VideoPath, part_of
from environments.tools.media.tracks import open_video
from environments.tools.video.frames import Frame, sampled_frames
from environments.tools.wording import cell_text, count_of
from taskdata.errors import ToolRefused
from taskdata.schema.task import Capability
from taskdata.schema.tool import ToolResult

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Pixels = NDArray[np.uint8]

_LONGEST_SIDE = 960
_DETECTED_SIDE = 480
"""Enough for texts 9 pixels high, in half the time that a page takes."""
_MAX_FRAMES = 300
_MAX_READ = 20
"""Frames per call on which the recogniser runs, about a second each."""
_BLOCK_PX = 8
_CHANGED = 12
_SAME_TEXT = 0.7
_SAME_PLACE = 0.3


class VideoOCRArguments(Arguments):
    """Arguments of VideoOCR."""

    video: VideoPath
    interval: Seconds = Field(
        default=1.0, ge=0.1, description="Seconds from one frame that is read to the next."
    )
    start_time: StartTime = 0.0
    end_time: EndTime = None


@dataclass
class SeenText:
    """A text that stays in its place over several frames."""

    line: TextLine
    """Its most confident reading."""
    first: float
    last: float
    """Times in seconds of the first and last frame that showed it."""


@dataclass
class _Reader:
    """Reads frames one after another; a frame like the previous one is not read again."""

    seen: list[SeenText] = field(default_factory=list)
    frames: int = 0
    read: int = 0
    lines: list[TextLine] = field(default_factory=list)
    before: "Pixels | None" = None
    latest: float | None = None
    """Time of the previous frame."""
    stopped: float | None = None
    """Time of the first frame that was not read, because the limit was reached."""

    def take(self, frame: Frame) -> bool:
        """Read `frame`; return whether another frame may be read."""
        blocks = _blocks(frame.pixels)
        if self.before is None or _differ(self.before, blocks):
            if self.read == _MAX_READ:
                self.stopped = frame.time
                return False
            self.lines, self.before = _read(frame.pixels), blocks
            self.read += 1
        self._follow(frame.time)
        self.latest = frame.time
        self.frames += 1
        return True

    def _follow(self, time: float) -> None:
        open_texts = [text for text in self.seen if text.last == self.latest]
        for line in self.lines:
            known = next((text for text in open_texts if _is_same(text.line, line)), None)
            if known is None:
                self.seen.append(SeenText(line, time, time))
                continue
            open_texts.remove(known)
            known.last = time
            known.line = max(known.line, line, key=lambda each: each.confidence)


def read_video(args: VideoOCRArguments, workspace: Path) -> ToolResult:
    """Return one line per text: its times, its box in pixels of the video, and its content."""
    media, track = open_video(workspace, args.video)
    part = part_of(args.video, track.seconds, args.start_time, args.end_time)
    if part.seconds / args.interval > _MAX_FRAMES:
        raise ToolRefused(
            f"{part} every {args.interval:g} s are {part.seconds / args.interval:.0f} frames: at "
            f"most {_MAX_FRAMES} are looked at in one call. Use a longer interval or a shorter "
            "part."
        )
    reader = _Reader()
    scale = 1.0
    for frame in sampled_frames(media, track, part, args.interval, _LONGEST_SIDE):
        scale = max(track.width, track.height) / max(frame.pixels.shape[:2])
        if not reader.take(frame):
            break
    head = (
        f"{args.video}, {part}: {count_of(reader.frames, 'frame')}, one every "
        f"{args.interval:g} s, {count_of(len(reader.seen), 'text')}"
    )
    lines = [head, *_text_lines(reader.seen, scale)]
    if reader.stopped is not None:
        lines.append(
            f"(stopped after {_MAX_READ} different frames; go on with "
            f"start_time={reader.stopped:.2f})"
        )
    return ToolResult(text="\n".join(lines))


def _text_lines(seen: list[SeenText], scale: float) -> Iterator[str]:
    for text in seen:
        box = Box(*(round(side * scale) for side in text.line.box))
        when = f"at {text.first:.2f} s"
        if text.last > text.first:
            when = f"{text.first:.2f} to {text.last:.2f} s"
        yield f"{when}: {box} {cell_text(text.line.text)}"


def _read(pixels: "Pixels") -> list[TextLine]:
    from PIL import Image

    return read_lines(Image.fromarray(pixels), _DETECTED_SIDE)


def _blocks(pixels: "Pixels") -> "Pixels":
    """Return the mean grey of each block of 8 x 8 pixels."""
    import cv2
    import numpy as np

    height, width = pixels.shape[:2]
    size = (max(1, width // _BLOCK_PX), max(1, height // _BLOCK_PX))
    grey = cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY)
    return np.asarray(cv2.resize(grey, size, interpolation=cv2.INTER_AREA), dtype=np.uint8)


def _differ(before: "Pixels", now: "Pixels") -> bool:
    import numpy as np

    return bool(np.abs(before.astype(np.int16) - now).max() > _CHANGED)


def _is_same(known: TextLine, line: TextLine) -> bool:
    if overlap(known.box, line.box) < _SAME_PLACE:
        return False
    likeness = difflib.SequenceMatcher(None, known.text.casefold(), line.text.casefold())
    return likeness.ratio() >= _SAME_TEXT


def overlap(one: Box, other: Box) -> float:
    """Return the area that two boxes share over the area that they cover, 0 to 1."""
    width = min(one.right, other.right) - max(one.left, other.left)
    height = min(one.bottom, other.bottom) - max(one.top, other.top)
    if width <= 0 or height <= 0:
        return 0.0
    shared = width * height
    return shared / (one.width * one.height + other.width * other.height - shared)


TOOLS = (
    ToolDefinition(
        name="VideoOCR",
        description=(
            "Read the printed text that a video shows, at one frame every interval seconds: each "
            "text once, with the times at which it is seen and its box in pixels. English and "
            "Chinese; a long or restless video is read in parts."
        ),
        category=Capability.PERCEPTION,
        arguments=VideoOCRArguments,
        run=read_video,
        backend="RapidOCR and ffmpeg",
        paging="Read a shorter part with start_time and end_time, or use a longer interval.",
        modules=("imageio_ffmpeg", "rapidocr_onnxruntime", "cv2"),
        extra="tools-vision",
    ),
)
