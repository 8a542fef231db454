"""AddTextVideoTool: captions burned into a video, drawn by Pillow and overlaid by ffmpeg."""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from pydantic import Field

from environments.toolkit.definition import Arguments, ToolDefinition
from environments.tools.images.lettering import read_color, text_size, write_on
from environments.tools.media.ffmpeg import media_input, picture_input, write
from environments.tools.media.parts import (
    VIDEO_ENDINGS,
    EndTime,
    Part,
    Seconds,
    VideoPath,
    VideoResultPath,
    part_of,
    result_file,
)
from environments.tools.media.tracks import open_video
from environments.tools.video.frames import ENCODERS, EVEN_SIDES, frame_at_start, refuse_long
from environments.tools.wording import count_of
from taskdata.errors import ToolRefused
from taskdata.schema.task import Capability
from taskdata.schema.tool import ToolResult

if TYPE_CHECKING:
    from PIL.Image import Image

_MAX_CAPTIONS = 40
_MAX_CHARS = 500
_LETTERS_PER_HEIGHT = 1 / 16
_LEAST_LETTER_PX = 10
_WIDTH_SHARE = 0.9
_HEIGHT_SHARE = 0.9
_MARGIN = 1 / 25
_SHADE = (0, 0, 0, 150)
_PADDING = 0.3


class Caption(Arguments):
    """A text and when it is shown."""

    text: str = Field(min_length=1, max_length=_MAX_CHARS)
    start_time: Seconds = Field(default=0.0, description="When it appears, in seconds.")
    end_time: EndTime = None
    position: Literal["top", "middle", "bottom"] = "bottom"


class AddTextVideoToolArguments(Arguments):
    """Arguments of AddTextVideoTool."""

    video: VideoPath
    captions: list[Caption] = Field(min_length=1, max_length=_MAX_CAPTIONS)
    color: str = Field(
        default="white", max_length=40, description='A name or hex value, such as "#1e90ff".'
    )
    path: VideoResultPath = None


class _Lettering(NamedTuple):
    picture: "Image"
    left: int
    top: int
    shown: Part


def add_text(args: AddTextVideoToolArguments, workspace: Path) -> ToolResult:
    """Write the video with the captions in its frames; its sound stays."""
    media, track = open_video(workspace, args.video)
    refuse_long(media, track, Part(0.0, track.seconds))
    color = read_color(args.color)
    height, width = frame_at_start(media).pixels.shape[:2]
    letterings = [
        _lettering(
            caption,
            part_of(args.video, track.seconds, caption.start_time, caption.end_time),
            (width, height),
            color,
        )
        for caption in args.captions
    ]
    target, path = result_file(workspace, args.path, args.video, "captioned", VIDEO_ENDINGS)
    with tempfile.TemporaryDirectory() as folder:
        inputs = media_input(media.source)
        for number, lettering in enumerate(letterings):
            drawn = Path(folder) / f"{number}.png"
            lettering.picture.save(drawn)
            inputs += picture_input(drawn)
        laid = ("-filter_complex", _overlays(letterings), "-map", "[shown]", "-map", "0:a:0?")
        encoder = ENCODERS[target.suffix.lower()]
        write([*inputs, *laid, "-map_metadata", "-1", *encoder], target, args.video)
    lines = [f"Wrote {path}: {args.video} with {count_of(len(letterings), 'caption')}."]
    for caption, lettering in zip(args.captions, letterings, strict=True):
        lines.append(f"{lettering.shown}, {caption.position}: {caption.text!r}")
    return ToolResult(text="\n".join(lines))


def _lettering(
    caption: Caption, shown: Part, size: tuple[int, int], color: tuple[int, ...]
) -> _Lettering:
    from PIL import Image, ImageDraw

    width, height = size
    lines, letter_px = _fitted(caption.text, size)
    line_sizes = [text_size(line, letter_px) for line in lines]
    padding = round(letter_px * _PADDING)
    box_width = max(line[0] for line in line_sizes) + 2 * padding
    line_height = line_sizes[0][1]
    box_height = line_height * len(lines) + 2 * padding
    picture = Image.new("RGBA", (box_width, box_height))
    ImageDraw.Draw(picture).rectangle((0, 0, box_width, box_height), fill=_SHADE)
    for number, (line, (line_width, _)) in enumerate(zip(lines, line_sizes, strict=True)):
        corner = ((box_width - line_width) // 2, padding + number * line_height)
        write_on(picture, line, corner, color, letter_px)
    margin = round(height * _MARGIN)
    tops = {"top": margin, "middle": (height - box_height) // 2}
    top = tops.get(caption.position, height - box_height - margin)
    return _Lettering(picture, (width - box_width) // 2, max(0, top), shown)


def _fitted(text: str, size: tuple[int, int]) -> tuple[list[str], int]:
    """Return the lines and the letter size with which `text` fits a frame of `size`."""
    width, height = size
    letter_px = max(_LEAST_LETTER_PX, round(height * _LETTERS_PER_HEIGHT))
    while letter_px >= _LEAST_LETTER_PX:
        room = round(width * _WIDTH_SHARE) - 2 * round(letter_px * _PADDING)
        lines = _wrapped(text, letter_px, room)
        sizes = [text_size(line, letter_px) for line in lines]
        if all(line <= room for line, _ in sizes) and (
            sum(line for _, line in sizes) <= height * _HEIGHT_SHARE
        ):
            return lines, letter_px
        letter_px = min(letter_px - 1, round(letter_px * 0.9))
    raise ToolRefused(
        f"The caption {text[:60]!r} does not fit frames of {width} x {height} pixels: shorten it "
        "or make several captions of it."
    )


def _wrapped(text: str, letter_px: int, room: int) -> list[str]:
    lines: list[str] = []
    for paragraph in text.splitlines():
        line = ""
        for word in paragraph.split():
            longer = f"{line} {word}" if line else word
            if line and text_size(longer, letter_px)[0] > room:
                lines.append(line)
                longer = word
            line = longer
        if line:
            lines.append(line)
    if not lines:
        raise ToolRefused("A caption is blank: give it a text.")
    return lines


def _overlays(letterings: Sequence[_Lettering]) -> str:
    """Return the filter graph; it contains only numbers, since the texts are in pictures."""
    steps = [f"[0:V:0]{EVEN_SIDES}[v0]"]
    for number, (_, left, top, (start, end)) in enumerate(letterings):
        when = f"gte(t,{start:.3f})*lt(t,{end:.3f})"
        steps.append(
            f"[v{number}][{number + 1}:v]overlay=x={left}:y={top}:enable='{when}'[v{number + 1}]"
        )
    return ";".join([*steps, f"[v{len(letterings)}]null[shown]"])


TOOLS = (
    ToolDefinition(
        name="AddTextVideoTool",
        description=(
            "Burn captions into a video: each with its text, the seconds from which and until "
            "which it is shown, and its position. Long texts are broken into lines."
        ),
        category=Capability.OPERATION,
        arguments=AddTextVideoToolArguments,
        run=add_text,
        backend="Pillow and ffmpeg",
        paging="Cut a shorter video with VideoClip first.",
        modules=("imageio_ffmpeg",),
        extra="tools-vision",
    ),
)
