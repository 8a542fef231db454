"""Has the text in pictures read in a sandbox, and validates the reply on the host."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from environments.ports import Completed, Sandbox
from environments.renderers.asking import ask, reply_parts
from environments.renderers.lettering.formats import MAX_TEXT_CHARACTERS, NO_READER
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
    question = {"names": list(names)}
    completed = await ask(sandbox, "environments.renderers.lettering.worker", question)
    return read_reply(completed, len(names))


def read_reply(completed: Completed, pictures: int) -> ReadText:
    """Turn the worker's output about so many pictures into texts; see `read`."""
    parts = reply_parts(completed, "reading pictures")
    if parts is None:
        cause = completed.limit or f"exit code {completed.exit_code}"
        return ReadText(reason=f"they could not be read within the limits: {cause}")
    try:
        reply = json.loads(parts[0])
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
