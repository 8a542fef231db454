"""Asks a worker of this room about files, in the sandbox, and takes its reply apart.

A worker writes `ready` in a line of its own before it opens a file, and then its reply, one part a
line. So a worker that never started is told from one that a file, or a limit, has stopped.
"""

import json
from collections.abc import Mapping
from typing import Any

from environments.ports import Completed, Sandbox
from taskdata.errors import SandboxFailed


async def ask(sandbox: Sandbox, module: str, question: Mapping[str, Any]) -> Completed:
    """Return how the worker of that module ended that was asked this."""
    return await sandbox.run(
        [*sandbox.python(), "-P", "-m", module], stdin=json.dumps(question).encode()
    )


def reply_parts(completed: Completed, doing: str, most: int = 1) -> tuple[bytes, ...] | None:
    """Return the parts of a worker's reply; None: it was stopped before its reply was whole.

    Args:
        completed: How the worker ended.
        doing: What it was to do, for the message.
        most: How many parts a reply has at most; it has at least one, which ends with its line.

    Raises:
        SandboxFailed: the worker did not come to the point where it opens files.
    """
    ready, *parts = completed.stdout.split(b"\n", most + 1)
    if ready != b"ready":
        tail = completed.stderr[-300:].decode("utf-8", "replace").strip().replace("\n", " | ")
        raise SandboxFailed(
            f"{doing} did not start (exit code {completed.exit_code}, "
            f"limit {completed.limit}): {tail or 'no message'}; check the sandbox's Python"
        )
    return tuple(parts) if len(parts) >= 2 else None
