"""Has what is said in a file written down in a sandbox, and validates the reply on the host."""

import base64
import binascii
import json
from dataclasses import dataclass

from environments.ports import Completed, Sandbox
from environments.renderers.asking import ask, reply_parts
from environments.renderers.sound.formats import (
    MAX_CLIP_BYTES,
    MAX_TRANSCRIPT_CHARACTERS,
    NO_RECOGNISER,
)
from taskdata.schema.task import Resources

HEAR_RESOURCES = Resources(
    cpu_seconds=240,
    # Far more than the CPU limit needs: on a busy host a file must not lose its transcript.
    wall_seconds=1200,
    memory_mb=3072,
    processes=128,
    disk_mb=64,
    output_kb=(2 * MAX_CLIP_BYTES + 4 * MAX_TRANSCRIPT_CHARACTERS) // 1024 + 1,
)
"""Resources for listening to one deliverable."""
_MAX_REASON = 300


@dataclass(frozen=True)
class HeardSound:
    """What a file sounds like."""

    text: str = ""
    """Transcript, a line for each segment."""
    clip: bytes | None = None
    """A WAV recording of its beginning."""
    reason: str = ""
    """Why there is no transcript."""
    needs_recogniser: bool = False
    """There is none because the speech recogniser is not installed in the sandbox."""


async def hear(sandbox: Sandbox, name: str) -> HeardSound:
    """Return what is said in `input/<name>` in the sandbox's workspace.

    Raises:
        SandboxFailed: the sandbox failed, or the worker before it opened the file.
    """
    completed = await ask(sandbox, "environments.renderers.sound.worker", {"name": name})
    return read_reply(completed)


def read_reply(completed: Completed) -> HeardSound:
    """Turn the worker's output into a transcript, validating it; see `hear`."""
    parts = reply_parts(completed, "listening")
    if parts is None:
        cause = completed.limit or f"exit code {completed.exit_code}"
        return HeardSound(reason=f"it could not be listened to within the limits: {cause}")
    try:
        reply = json.loads(parts[0])
        text, reason = str(reply["text"]), str(reply["reason"])
        clip = None if reply["clip"] is None else _wav(reply["clip"])
    except (ValueError, TypeError, KeyError, RecursionError, binascii.Error):
        return HeardSound(reason="listening to it gave no valid transcript")
    text = text.replace("\0", "").encode("utf-8", "replace").decode("utf-8")
    if reason == NO_RECOGNISER:
        told = "no speech recogniser is installed"
        return HeardSound(clip=clip, reason=told, needs_recogniser=True)
    return HeardSound(text[:MAX_TRANSCRIPT_CHARACTERS], clip, reason[:_MAX_REASON])


def _wav(encoded: str) -> bytes:
    """Return the recording; raises `ValueError` unless it is a WAV file of a bounded size."""
    data = base64.b64decode(encoded, validate=True)
    if len(data) > MAX_CLIP_BYTES or data[:4] != b"RIFF" or data[8:12] != b"WAVE":
        raise ValueError("not a short WAV recording")
    return data
