"""The part of host tools in the sandbox: `python -m environments.tools.models.media_worker`.

Files of the workspace are opened here and never on the host: pictures are decoded, cropped, scaled
for a model and encoded again; what a model made is decoded and written to the workspace. One JSON
request comes on standard input, one JSON reply goes to standard output.
"""

import base64
import binascii
import json
import os
import re
import sys
import traceback
from collections.abc import Iterator, Mapping
from io import BytesIO
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from environments.tools.images.boxes import Box, read_box
from environments.tools.images.pictures import flat, open_picture, write_picture
from environments.tools.media.ffmpeg import media_input, reading
from environments.tools.media.tracks import open_video
from environments.tools.workspace.paths import output_file
from taskdata.errors import ToolRefused

if TYPE_CHECKING:
    from PIL.Image import Image

FRAMES = 8
"""Frames taken from a video."""

MAX_REPLY_BYTES = 480_000
"""Of all pictures in one reply: as base64 they fit into the output that a sandbox captures."""

Kind = Literal["picture", "clip"]
ENDINGS: Mapping[Kind, tuple[str, ...]] = {"picture": (".png", ".jpg", ".jpeg"), "clip": (".mp4",)}
"""What models make, and the endings of such files."""

_MAX_SIDE = 1_568
MAX_PIXELS = 1_150_000
"""Of a picture that is sent."""
# Providers scale larger pictures down themselves, and coordinates would not match.
_FRAME_PIXELS = 400_000
_LEAST_SIDE = 64
_QUALITIES = (90, 80, 70, 60)
_MAX_FRAME_BYTES = 64_000_000
_NOT_IN_NAMES = re.compile(r"[^\w]+")
_MAX_STEM_CHARS = 40


class _Form(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class PictureRequest(_Form):
    """Return a picture, or a box of it."""

    do: Literal["picture"] = "picture"
    path: str
    box: str | None = None


class FramesRequest(_Form):
    """Return a few frames of a video, evenly spaced."""

    do: Literal["frames"] = "frames"
    path: str


class KeepRequest(_Form):
    """Write what a model made below output/."""

    do: Literal["keep"] = "keep"
    kind: Kind
    data: str
    """Base64."""
    path: str | None
    words: str
    """Words for the file name if there is no path."""


class Shown(_Form):
    """A picture for a model."""

    media_type: Literal["image/png", "image/jpeg"]
    data: str = Field(max_length=2_000_000)
    """Base64."""
    width: int = Field(ge=1, le=100_000)
    """Size of the picture in pixels of the file; the sent picture may be smaller."""
    height: int = Field(ge=1, le=100_000)
    sent_width: int = Field(ge=1, le=100_000)
    sent_height: int = Field(ge=1, le=100_000)
    second: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    """Time of the frame in a video."""


class Reply(_Form):
    """The result of a request."""

    refused: str | None = Field(default=None, max_length=2_000)
    shown: tuple[Shown, ...] = Field(default=(), max_length=FRAMES)
    seconds: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    """Length of the video."""
    path: str = Field(default="", max_length=240)
    """Path of the file that was written."""
    note: str = Field(default="", max_length=200)
    """Size of the file's content."""


Request = Annotated[PictureRequest | FramesRequest | KeepRequest, Field(discriminator="do")]
_REQUEST: TypeAdapter[PictureRequest | FramesRequest | KeepRequest] = TypeAdapter(Request)


def main() -> int:
    """Answer one request; returns the exit code."""
    reply_descriptor = os.dup(1)
    os.dup2(2, 1)
    request = _REQUEST.validate_json(sys.stdin.buffer.read())
    try:
        reply = answer(request, Path.cwd())
    except ToolRefused as exc:
        reply = Reply(refused=str(exc)[:2_000])
    except ImportError:
        raise
    except Exception as exc:  # noqa: BLE001 parsers of broken files raise anything
        traceback.print_exception(exc)
        reply = Reply(refused=f"This could not be done: {type(exc).__name__}: {exc}"[:2_000])
    with os.fdopen(reply_descriptor, "wb") as stream:
        stream.write(json.dumps(reply.model_dump()).encode())
    return 0


def answer(request: PictureRequest | FramesRequest | KeepRequest, workspace: Path) -> Reply:
    """Return the result of `request`; raises `ToolRefused` to refuse the agent's request."""
    if isinstance(request, PictureRequest):
        return _picture(request, workspace)
    if isinstance(request, FramesRequest):
        return _frames(request, workspace)
    return _keep(request, workspace)


def _picture(request: PictureRequest, workspace: Path) -> Reply:
    picture = flat(open_picture(workspace, request.path))
    if request.box is not None:
        picture = picture.crop(read_box(request.box, picture.size))
    return Reply(shown=(for_model(picture, MAX_PIXELS, MAX_REPLY_BYTES),))


def _frames(request: FramesRequest, workspace: Path) -> Reply:
    media, track = open_video(workspace, request.path)
    shown = []
    for number in range(FRAMES):
        # The middle of each eighth: the ends of a video are often black.
        second = track.seconds * (number + 0.5) / FRAMES
        frame = frame_at(media.source, request.path, second)
        if frame is not None:
            made = for_model(frame, _FRAME_PIXELS, MAX_REPLY_BYTES // FRAMES)
            shown.append(made.model_copy(update={"second": round(second, 2)}))
    if not shown:
        raise ToolRefused(f"No picture of {request.path} could be decoded.")
    return Reply(shown=tuple(shown), seconds=media.seconds)


def frame_at(source: Path, path: str, second: float) -> "Image | None":
    """Return the frame at a time, None if the video has none there."""
    from PIL import Image

    options = ("-frames:v", "1", "-an", "-c:v", "png", "-f", "image2pipe")
    with reading([*media_input(source, "-ss", f"{second:.3f}"), *options], path) as stream:
        data = stream.read(_MAX_FRAME_BYTES)
    if not data:
        return None
    with Image.open(BytesIO(data), formats=("PNG",)) as image:
        return image.convert("RGB")


def for_model(picture: "Image", max_pixels: int, max_bytes: int) -> Shown:
    """Return the picture encoded within the limits, scaled down, or up if it is tiny."""
    width, height = picture.size
    scale = min(1.0, _MAX_SIDE / max(picture.size), (max_pixels / (width * height)) ** 0.5)
    if min(picture.size) < _LEAST_SIDE:
        scale = min(_LEAST_SIDE / min(picture.size), _MAX_SIDE / max(picture.size))
    while True:
        sent = _resized(picture, scale)
        for kind, data in _encodings(sent):
            if len(data) <= max_bytes:
                return Shown(
                    media_type=kind,
                    data=base64.b64encode(data).decode(),
                    width=width,
                    height=height,
                    sent_width=sent.width,
                    sent_height=sent.height,
                )
        scale *= 0.7


def _resized(picture: "Image", scale: float) -> "Image":
    from PIL import Image

    if scale == 1.0:
        return picture
    size = (max(1, round(picture.width * scale)), max(1, round(picture.height * scale)))
    return picture.resize(size, Image.Resampling.LANCZOS)


def _encodings(picture: "Image") -> Iterator[tuple[Literal["image/png", "image/jpeg"], bytes]]:
    """Yield encodings of the picture, lossless first, then smaller and smaller."""
    target = BytesIO()
    picture.save(target, format="PNG")
    yield "image/png", target.getvalue()
    for quality in _QUALITIES:
        target = BytesIO()
        picture.save(target, format="JPEG", quality=quality)
        yield "image/jpeg", target.getvalue()


def _keep(request: KeepRequest, workspace: Path) -> Reply:
    try:
        data = base64.b64decode(request.data, validate=True)
    except binascii.Error as exc:
        raise ToolRefused("What the model made did not arrive whole.") from exc
    endings = ENDINGS[request.kind]
    target, path = _place(workspace, request, endings)
    staged = target.with_name(f".{os.getpid()}.made{endings[0]}")
    staged.write_bytes(data)
    inside = staged.relative_to(workspace.resolve()).as_posix()
    try:
        if request.kind == "picture":
            picture = open_picture(workspace, inside)
            write_picture(picture, target)
            return Reply(path=path, note=f"{picture.width} x {picture.height} pixels")
        media, track = open_video(workspace, inside)
        staged.replace(target)
    except ToolRefused as exc:
        raise ToolRefused(f"What the model made is no {request.kind} that can be read.") from exc
    finally:
        staged.unlink(missing_ok=True)
    note = f"{track.width} x {track.height} pixels, {media.seconds:.1f} s"
    return Reply(path=path, note=note, seconds=media.seconds)


def _place(workspace: Path, request: KeepRequest, endings: tuple[str, ...]) -> tuple[Path, str]:
    if request.path is not None:
        return output_file(workspace, request.path, endings), request.path
    stem = _NOT_IN_NAMES.sub("_", request.words)[:_MAX_STEM_CHARS].strip("_") or request.kind
    for number in count(1):
        path = f"output/{stem}{'' if number == 1 else f'_{number}'}{endings[0]}"
        target = output_file(workspace, path)
        if not target.exists():
            return target, path
    raise AssertionError("counting never ends")


def scaled_box(box: tuple[int, int, int, int], shown: Shown) -> Box:
    """Convert a box from pixels of the sent picture to pixels of the file."""
    across, down = shown.width / shown.sent_width, shown.height / shown.sent_height
    left, top, right, bottom = box
    return Box(round(left * across), round(top * down), round(right * across), round(bottom * down))


if __name__ == "__main__":
    sys.exit(main())
