"""The protocol between a service's program and the host: one JSON object a line."""

import hashlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

OUTPUT = Path("/workspace/output")
INPUT = Path("/workspace/input")

STATE = "state"
"""Order to write the final state to files, and the folder below the output that holds them."""

KEEP = "keep"
"""Order to stop and to pack what the server holds, so that it can be started again from it."""

KEPT = "kept"
"""Answer to `KEEP`; a folder of this name below the output holds one file of this name."""

RENEW = "renew"
"""Order to give the next of a task's programs the state that the service was started with."""

ALIVE = "alive"
"""Order to say whether the server still answers, and the key of the answer."""

SOCKETS = Path("/run/nightshift/sockets")
"""Holds one folder for each socket, made by the host; other sandboxes see it read-only."""

FAILED = "failed"
"""Key of the answer when an order could not be carried out."""

LOST = "lost"
"""Key of the answer when the server is gone for a reason that its clients did not cause."""

_MAX_LOG_LINES = 5
_MAX_NAME = 70


def settings() -> dict[str, Any]:
    """Return the settings, the first line that the host sends."""
    given: dict[str, Any] = json.loads(sys.stdin.readline())
    return given


def orders() -> Iterator[str]:
    """Yield the orders of the host until it closes the connection."""
    for line in sys.stdin:
        yield line.strip()


def say(**facts: str) -> None:
    """Send facts to the host."""
    sys.stdout.write(json.dumps(facts) + "\n")
    sys.stdout.flush()


def last_lines(log: Path) -> str:
    """Return the end of a log on one line, empty if there is no log."""
    if not log.is_file():
        return ""
    with log.open("rb") as stream:
        stream.seek(max(0, log.stat().st_size - 4096))
        lines = stream.read().decode("utf-8", "replace").splitlines()
    return " | ".join(line.strip() for line in lines[-_MAX_LOG_LINES:] if line.strip())


def plain(name: str) -> str:
    """Return a file name for `name`: letters, digits, `_`, `-`, `@`, `+`.

    Other characters are written as `%` and their bytes in hexadecimal, so that no name leads out of
    its folder; a long name is cut and ends with a hash of the whole.
    """
    kept = "".join(c if c.isascii() and (c.isalnum() or c in "_-@+") else _escaped(c) for c in name)
    if len(kept) <= _MAX_NAME:
        return kept
    return f"{kept[: _MAX_NAME - 17]}-{hashlib.sha256(kept.encode()).hexdigest()[:16]}"


def _escaped(character: str) -> str:
    return "".join(f"%{byte:02x}" for byte in character.encode("utf-8", "surrogateescape"))
