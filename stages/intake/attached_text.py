"""The text of an attachment, office and PDF files included.

Plain text is decoded here. Other files are parsed by the readers of deliverables in a process of
their own, with limits on memory and time and without this process's environment: a file of a
stranger may make a parser do anything.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

TEXTS = frozenset({".csv", ".ics", ".json", ".jsonl", ".md", ".tsv", ".txt", ".xml", ".yaml"})
"""Endings of files that are decoded."""
PARSED = frozenset({".docx", ".eml", ".htm", ".html", ".pdf", ".pptx", ".xlsx"})
"""Endings of files that are parsed."""
MAX_TEXT_BYTES = 1 << 20
MAX_PARSED_BYTES = 20 << 20

_SECONDS = 60
_MEMORY_BYTES = 2 << 30
_UNREADABLE = "unreadable"
_NO_TEXT = frozenset({"kind", "name", "sha256"})


def may_have_text(path: str, size_bytes: int) -> bool:
    """Return whether a file of that name and size is read at all."""
    ending = PurePosixPath(path).suffix.lower()
    most = MAX_TEXT_BYTES if ending in TEXTS else MAX_PARSED_BYTES if ending in PARSED else -1
    return size_bytes <= most


def attached_text(path: str, data: bytes) -> str | None:
    """Return the text of a file; None where it has none, is too large, or cannot be read."""
    if not may_have_text(path, len(data)):
        return None
    ending = PurePosixPath(path).suffix.lower()
    return data.decode("utf-8", "replace") if ending in TEXTS else _parsed(ending, data)


def _parsed(ending: str, data: bytes) -> str | None:
    with tempfile.TemporaryDirectory(prefix="nightshift-attachment-") as folder:
        name = f"attachment{ending}"
        inputs = Path(folder, "input")
        inputs.mkdir()
        (inputs / name).write_bytes(data)
        lines = _read(Path(folder), name)
    if len(lines) < 2:
        return None
    view = json.loads(lines[1])
    return None if view.get("kind") == _UNREADABLE else "\n".join(_texts(view))


def _read(folder: Path, name: str) -> list[bytes]:
    """Return what the reader's process writes: `ready`, the view, a preview."""
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "environments.renderers.worker"],
        cwd=folder,
        env={"PATH": os.defpath, "HOME": str(folder), "LANG": "C.UTF-8"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    with process:
        # It waits for the name of the file, so the limit holds before it opens the file.
        resource.prlimit(process.pid, resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
        try:
            written, _ = process.communicate(json.dumps({"name": name}).encode(), _SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            return []
    return written.splitlines()


def _texts(value: Any) -> Iterator[str]:
    """Yield the texts and numbers of a view; the cells of a row stay on one line."""
    if isinstance(value, dict):
        for key, part in value.items():
            if key not in _NO_TEXT:
                yield from _texts(part)
    elif isinstance(value, list):
        if value and not any(isinstance(part, dict | list) for part in value):
            yield "\t".join(str(part) for part in value if part is not None)
        else:
            for part in value:
                yield from _texts(part)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield str(value)
