"""Has the text in pictures read in a sandbox, and validates the reply on the host."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from environments.ports import Completed, Sandbox
from environments.renderers.lettering.formats import MAX_TEXT_CHARACTERS, NO_READER
from taskdata.errors import SandboxFailed
from taskdata.schema.task import Resources

READ_RESOURCES = Resources(
    cpu_seconds=180,
    # Far more than the CPU limit needs: on a busy host a picture must not go unread.
    wall_seconds=900,
    memory_mb=2048,
    processes=64,
    disk_mb=64,
    output_kb=2048,
)
"""Resources for the pictures of one deliverable."""
_MAX_REASON = 200


@dataclass(frozen=True)
class ReadText:
    """What is written in pictures."""

    texts: tuple[str, ...] = ()
    """Of the first pictures, in order, a line for each run of text."""
    reason: str = ""
    """Why not all of it was read."""
    needs_reader: bool = False
    """Nothing was, because the text recogniser is not installed in the sandbox."""


async def read(sandbox: Sandbox, names: Sequence[str]) -> ReadText:
    """Return the text in these files of `input/` in the sandbox's workspace.

    Raises:
        SandboxFailed: the sandbox failed, or the worker before it opened a file.
    """
    completed = await sandbox.run(
        [*sandbox.python(), "-P", "-m", "environments.renderers.lettering.worker"],
        stdin=json.dumps({"names": list(names)}).encode(),
    )
    return read_reply(completed, len(names))


def read_reply(completed: Completed, pictures: int) -> ReadText:
    """Turn the worker's output about so many pictures into texts; see `read`."""
    lines = completed.stdout.split(b"\n", 2)
    if lines[0] != b"ready":
        tail = completed.stderr[-300:].decode("utf-8", "replace").strip().replace("\n", " | ")
        raise SandboxFailed(
            f"reading pictures did not start (exit code {completed.exit_code}, "
            f"limit {completed.limit}): {tail or 'no message'}; check the sandbox's Python"
        )
    if len(lines) < 3:
        cause = completed.limit or f"exit code {completed.exit_code}"
        return ReadText(reason=f"they could not be read within the limits: {cause}")
    try:
        reply = json.loads(lines[1])
        texts, reason = tuple(map(_text, reply["texts"])), str(reply["reason"])
    except (ValueError, TypeError, KeyError, RecursionError):
        return ReadText(reason="reading them gave no valid text")
    if reason == NO_READER:
        return ReadText(reason="no text recogniser is installed", needs_reader=True)
    return ReadText(texts[:pictures], reason[:_MAX_REASON])


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(type(value).__name__)
    return value.replace("\0", "").encode("utf-8", "replace").decode()[:MAX_TEXT_CHARACTERS]
