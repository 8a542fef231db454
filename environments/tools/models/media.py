"""Files of the workspace as media for a model, and back: the part that runs on the host.

Replies from the sandbox may be forged by code that an agent wrote: they are parsed strictly.
"""

import base64
import binascii
from dataclasses import dataclass
from pathlib import PurePosixPath

from pydantic import ValidationError

from environments.ports import Media
from environments.sandbox.endings import why_stopped
from environments.toolkit.host_tool import HostCall
from environments.tools.images.boxes import Box
from environments.tools.models.media_worker import (
    ENDINGS,
    FramesRequest,
    KeepRequest,
    Kind,
    PictureRequest,
    Reply,
    Shown,
    scaled_box,
)
from taskdata.errors import SandboxFailed, ToolRefused
from taskdata.schema.tool import ToolResult

_WORKER = "environments.tools.models.media_worker"


@dataclass(frozen=True)
class Picture:
    """A picture of the workspace in the form in which a model gets it."""

    media: Media
    shown: Shown

    @property
    def sent_size(self) -> tuple[int, int]:
        """Width and height in pixels of the picture that is sent."""
        return self.shown.sent_width, self.shown.sent_height

    def in_file(self, box: tuple[int, int, int, int]) -> Box:
        """Convert a box from pixels of the sent picture to pixels of the file."""
        return scaled_box(box, self.shown)


@dataclass(frozen=True)
class Video:
    """A video of the workspace in the form in which a model gets it: a few of its frames."""

    frames: tuple[Picture, ...]
    seconds: float


async def picture(call: HostCall, path: str, box: str | None = None) -> Picture:
    """Return the picture at `path`, or its part in `box`; raises `ToolRefused`."""
    reply = await _inside(call, PictureRequest(path=path, box=box))
    if len(reply.shown) != 1:
        raise ToolRefused(f"{path} could not be read.")
    return _picture(reply.shown[0], path)


async def video(call: HostCall, path: str) -> Video:
    """Return a few frames of the video at `path`; raises `ToolRefused`."""
    reply = await _inside(call, FramesRequest(path=path))
    if not reply.shown:
        raise ToolRefused(f"{path} could not be read.")
    return Video(tuple(_picture(shown, path) for shown in reply.shown), reply.seconds)


def require_place(kind: Kind, path: str | None) -> None:
    """Raise `ToolRefused` for a path that cannot be written, before the result is paid for."""
    if path is None:
        return
    endings = ENDINGS[kind]
    below_output = path.removeprefix("/workspace/").startswith("output/")
    if not below_output or not path.lower().endswith(endings):
        raise ToolRefused(
            f"{path[:200]!r} cannot be written: give a path below output/ that ends in "
            f"{' or '.join(endings)}."
        )


async def keep(call: HostCall, kind: Kind, data: bytes, path: str | None, words: str) -> ToolResult:
    """Write what a model made to the workspace, and report the path; raises `ToolRefused`."""
    request = KeepRequest(
        kind=kind, data=base64.b64encode(data).decode(), path=path, words=words[:200]
    )
    reply = await _inside(call, request)
    if not (reply.path.startswith("output/") and reply.path.isprintable()):
        raise ToolRefused(f"{call.tool} could not write its result.")
    return ToolResult(text=f"Wrote {reply.path}: {reply.note}.", files=(reply.path,))


async def _inside(call: HostCall, request: PictureRequest | FramesRequest | KeepRequest) -> Reply:
    argv = [*call.sandbox.python(), "-P", "-m", _WORKER]
    completed = await call.sandbox.run(argv, stdin=request.model_dump_json().encode())
    stopped = why_stopped(completed)
    if stopped:
        raise ToolRefused(f"{call.tool} was stopped after {completed.seconds:.0f} s: {stopped}.")
    if completed.exit_code > 0:
        said = completed.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2][:300]
        raise SandboxFailed(
            f"{call.tool}: its part in the sandbox ended with code {completed.exit_code}: "
            f"{said or 'no message'}"
        )
    try:
        reply = Reply.model_validate_json(completed.stdout)
    except ValidationError as exc:
        raise ToolRefused(f"{call.tool} got no readable answer from the sandbox.") from exc
    if reply.refused is not None:
        raise ToolRefused(reply.refused)
    return reply


def _picture(shown: Shown, path: str) -> Picture:
    try:
        data = base64.b64decode(shown.data, validate=True)
    except binascii.Error as exc:
        raise ToolRefused(f"{path} could not be read.") from exc
    return Picture(Media(shown.media_type, data, PurePosixPath(path).name), shown)
