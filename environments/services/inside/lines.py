"""How a service's program and the host talk: one JSON object a line."""

import hashlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

OUTPUT = Path("/workspace/output")
INPUT = Path("/workspace/input")

STATE = "state"
"""Folder below the output that holds the final state."""

SOCKETS = Path("/run/nightshift/sockets")
"""Holds one folder for each socket, which the host has made and others see read-only."""

FAILED = "failed"
"""Key of what the host is told when something it asked for could not be done."""

LOST = "lost"
"""Key of the same when what the program runs is gone, and not through its clients."""

_MAX_LOG_LINES = 5
_MAX_NAME = 70


def settings() -> dict[str, Any]:
    """Return what the host said first."""
    given: dict[str, Any] = json.loads(sys.stdin.readline())
    return given


def orders() -> Iterator[str]:
    """Yield what the host asks for, until it closes the line."""
    for line in sys.stdin:
        yield line.strip()


def say(**facts: str) -> None:
    """Tell the host."""
    sys.stdout.write(json.dumps(facts) + "\n")
    sys.stdout.flush()


def last_lines(log: Path) -> str:
    """Return the end of a log in one line, empty if there is none."""
    if not log.is_file():
        return ""
    with log.open("rb") as stream:
        stream.seek(max(0, log.stat().st_size - 4096))
        lines = stream.read().decode("utf-8", "replace").splitlines()
    return " | ".join(line.strip() for line in lines[-_MAX_LOG_LINES:] if line.strip())


def plain(name: str) -> str:
    """Return a file name that stands for `name` alone: letters, digits, `_`, `-`, `@`, `+`.

    Anything else is written as `%` and its bytes in hexadecimal, so that no name leads elsewhere;
    the end of a long one is a hash of it all.
    """
    kept = "".join(c if c.isascii() and (c.isalnum() or c in "_-@+") else _escaped(c) for c in name)
    if len(kept) <= _MAX_NAME:
        return kept
    return f"{kept[: _MAX_NAME - 17]}-{hashlib.sha256(kept.encode()).hexdigest()[:16]}"


def _escaped(character: str) -> str:
    return "".join(f"%{byte:02x}" for byte in character.encode("utf-8", "surrogateescape"))
