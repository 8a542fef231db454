"""Has a deliverable rendered in a sandbox and validates the reply on the host.

The reply is as untrusted as the file: a file that exploits its parser could write anything there.
"""

import base64
import binascii
import json
import logging
import struct
from dataclasses import dataclass
from pathlib import PurePosixPath

from pydantic import TypeAdapter, ValidationError

from environments.ports import Completed, Sandbox
from environments.renderers.asking import ask, reply_parts
from environments.renderers.limits import MAX_PREVIEW_BYTES, MAX_REPLY_BYTES, PREVIEW_PIXELS
from environments.renderers.worker import READERS
from taskdata.schema.task import Resources
from taskdata.schema.views import UnreadableView, View

_logger = logging.getLogger(__name__)

RENDER_RESOURCES = Resources(
    cpu_seconds=60,
    # Far more than the CPU limit needs: a busy host must not cause a score of 0.
    wall_seconds=300,
    memory_mb=2048,
    processes=128,
    disk_mb=64,
    output_kb=(MAX_REPLY_BYTES + 2 * MAX_PREVIEW_BYTES) // 1024 + 1,
)
"""Resources for reading one deliverable."""

_VIEW: TypeAdapter[View] = TypeAdapter(View)
_PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_MAX_REASON = 500


@dataclass(frozen=True)
class Rendered:
    """A deliverable's view, and a small picture if one could be drawn."""

    view: View
    preview_png: bytes | None = None
    reply_bytes: int = 0
    """Size of the worker's reply, about the memory that this object takes."""


async def render(sandbox: Sandbox, name: str) -> Rendered:
    """Return the view of `input/<name>` in the sandbox's workspace.

    A file that cannot be read within the limits gives an `UnreadableView`.

    Raises:
        SandboxFailed: the sandbox failed, or the renderer before it opened the file.
    """
    if PurePosixPath(name).suffix.lower() not in READERS:
        return Rendered(UnreadableView(reason=f"nothing reads files of this type: {name}"[:200]))
    completed = await ask(sandbox, "environments.renderers.worker", {"name": name})
    return read_reply(completed)


def read_reply(completed: Completed) -> Rendered:
    """Turn the worker's output into a view, validating it; see `render`."""
    parts = reply_parts(completed, "the renderer", most=2)
    if parts is None:
        return Rendered(UnreadableView(reason=_why_stopped(completed)))
    try:
        view = _VIEW.validate_json(parts[0])
    except ValidationError as exc:
        _logger.warning("a renderer replied with %d faults in its view", exc.error_count())
        return Rendered(UnreadableView(reason="its renderer gave no valid view"))
    if isinstance(view, UnreadableView):
        return Rendered(UnreadableView(reason=view.reason[:_MAX_REASON]))
    return Rendered(view, _preview(parts[1]), len(completed.stdout))


def _why_stopped(completed: Completed) -> str:
    if completed.limit is not None:
        return f"could not be opened within the limits: {completed.limit}"
    if completed.exit_code < 0:
        return f"could not be opened within the limits: killed by signal {-completed.exit_code}"
    return f"could not be opened: its parser broke off (exit code {completed.exit_code})"


def _preview(line: bytes) -> bytes | None:
    """Return the PNG in the reply's third line, None unless it is a small PNG."""
    if len(line) > 2 * MAX_PREVIEW_BYTES:
        return None
    try:
        encoded = json.loads(line)
        png = base64.b64decode(encoded, validate=True) if isinstance(encoded, str) else b""
    except (ValueError, RecursionError, binascii.Error):
        return None
    if len(png) > MAX_PREVIEW_BYTES or png[:8] != _PNG_SIGNATURE or png[12:16] != b"IHDR":
        return None
    width, height = struct.unpack(">II", png[16:24])
    return png if 0 < width <= PREVIEW_PIXELS and 0 < height <= PREVIEW_PIXELS else None
