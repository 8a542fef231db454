"""Has files of the workspace drawn in the sandbox, and validates what comes back on the host."""

import asyncio
import base64
import binascii
from collections.abc import Sequence

from pydantic import ValidationError

from environments.ports import Completed, Process, Sandbox
from environments.renderers.pages.formats import BROWSED, ending
from environments.sandbox.endings import why_stopped
from environments.tools.looking.forms import Look, LookReply, LookRequest, Viewed
from taskdata.errors import SandboxFailed
from taskdata.schema.tool import ToolPicture

LOOK_SECONDS = 120.0
"""Longest look: converting an office document takes seconds, on a busy host many."""

_WORKER = "environments.tools.looking.worker"
_READY = b"ready"
_MAX_REPLY_BYTES = 24_000_000
_MAX_TRIES = 4
_SIGNATURES = {"image/png": b"\x89PNG\r\n\x1a\n", "image/jpeg": b"\xff\xd8\xff"}


async def look_at(sandbox: Sandbox, request: LookRequest) -> tuple[Viewed, ...]:
    """Return what is seen of each file, in the order of the request's paths.

    Raises:
        SandboxFailed: the sandbox failed, or its Python cannot draw.
    """
    # Chromium passes open files between its processes. A sandbox that finds many of them on their
    # way takes that for hidden disk space, and ends the program.
    is_browsed = any(ending(path) in BROWSED for path in request.paths)
    for _ in range(_MAX_TRIES if is_browsed else 1):
        received, completed, cause = await _run(sandbox, request)
        if completed.limit != "disk":
            break
    return _parsed(received, completed, cause, len(request.paths))


async def _run(sandbox: Sandbox, request: LookRequest) -> tuple[bytes, Completed, str]:
    """Return the worker's output, how it ended, and why it was given up if it was."""
    # Chromium reserves more memory than it uses; and what is read here is not the captured output
    # of a call, which is too small for pictures.
    process = await sandbox.start([*sandbox.python(), "-P", "-m", _WORKER], reserves_memory=True)
    received, cause = bytearray(), ""
    try:
        async with asyncio.timeout(LOOK_SECONDS):
            await process.write(request.model_dump_json().encode() + b"\n")
            cause = await _read(process, received)
    except TimeoutError:
        cause = f"it took longer than {LOOK_SECONDS:.0f} s"
    except BrokenPipeError:
        cause = ""  # how it ended says why
    finally:
        completed = await process.close()
    return bytes(received), completed, cause


async def _read(process: Process, received: bytearray) -> str:
    """Read the reply; return why it was not read to its end, if it was not."""
    while chunk := await process.read():
        received += chunk
        if len(received) > _MAX_REPLY_BYTES:
            return "it answered too much"
    return ""


def _parsed(received: bytes, completed: Completed, cause: str, count: int) -> tuple[Viewed, ...]:
    ready, _, reply = received.partition(b"\n")
    cause = cause or why_stopped(completed) or ""
    if ready != _READY and not cause:
        said = completed.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2][:300]
        raise SandboxFailed(
            f"the drawing of files did not start (exit code {completed.exit_code}): "
            f"{said or 'no message'}; check the sandbox's Python"
        )
    try:
        viewed = LookReply.model_validate_json(reply).viewed
    except ValidationError:
        viewed = ()
    if len(viewed) != count:
        stopped = Viewed(refused=f"It could not be drawn: {cause or 'there was no answer'}.")
        return (stopped,) * count
    return viewed


def pictures_of(path: str, viewed: Viewed) -> tuple[ToolPicture, ...]:
    """Return what is seen of a file as pictures of a tool's result; forged data is left out."""
    return tuple(_pictures(path, viewed.looks))


def _pictures(path: str, looks: Sequence[Look]) -> list[ToolPicture]:
    found = []
    for look in looks:
        try:
            data = base64.b64decode(look.data, validate=True)
        except binascii.Error:
            continue
        if data.startswith(_SIGNATURES[look.media_type]):
            found.append(
                ToolPicture(
                    name=f"{path}, {look.label}" if look.label else path,
                    media_type=look.media_type,
                    data=data,
                    width=look.width,
                    height=look.height,
                    words=look.words,
                )
            )
    return found
