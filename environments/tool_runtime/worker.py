"""A tool call seen from the sandbox: `python -m environments.tool_runtime.worker`.

It reads one JSON request (`{"tool", "arguments"}`) from standard input. On standard output it
writes a line that says `ready` once all libraries are loaded, then one JSON `ToolResult`. Whatever
the tool's code or its libraries print goes to standard error, so that it cannot mix with the
result. A failure before the `ready` line, such as a missing library, is our fault, and the host
reports it as such; a later failure comes from the agent's request or files.
"""

import contextlib
import errno
import json
import os
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from environments.sandbox.walking import TooManyEntries, walk
from environments.tool_runtime.registry import definition
from environments.tool_runtime.warm.libraries import LIBRARIES, load
from environments.toolkit.definition import (
    MAX_RESULT_CHARS,
    ToolDefinition,
    cut_text,
    explain_bad_arguments,
)
from taskdata.errors import ToolRefused
from taskdata.schema.tool import ToolErrorKind, ToolResult

READY = b"ready"
"""First line of the output."""

MAX_FILES_REPORTED = 100

_MAX_PIPED_BYTES = 800_000
"""Size of a result's text as JSON: the sandbox captures 1 MB of output at most."""

_LIMIT_ERRORS = {
    errno.ENOSPC: "the disk space of the sandbox is used up",
    errno.EDQUOT: "the disk space of the sandbox is used up",
    errno.EFBIG: "the file got larger than the sandbox allows",
    errno.ENOMEM: "the memory of the sandbox is used up",
    errno.EAGAIN: "the sandbox allows no more processes",
}

Stamp = tuple[int, int, int, int]


def main() -> int:
    """Answer one request; returns the exit code."""
    result_descriptor = os.dup(1)
    os.dup2(2, 1)
    request = json.loads(sys.stdin.buffer.read())
    tool = definition(request["tool"])
    load(LIBRARIES.get(tool.name, ()))
    with os.fdopen(result_descriptor, "wb") as stream:
        stream.write(READY + b"\n")
        stream.flush()
        result = answer(tool.name, request["arguments"], Path.cwd())
        payload = json.dumps(result.model_dump(), ensure_ascii=False)
        # File names made by an agent need not be valid text.
        stream.write(payload.encode("utf-8", "replace"))
    return 0


def answer(tool: str, arguments: dict[str, Any], workspace: Path) -> ToolResult:
    """Run `tool` and return its result, with the output files it created or changed."""
    before = dict(_output_files(workspace))
    result = _run(definition(tool), arguments, workspace)
    changed = sorted(p for p, stamp in _output_files(workspace) if before.get(p) != stamp)
    return result.model_copy(update={"files": tuple(changed[:MAX_FILES_REPORTED])})


def _run(tool: ToolDefinition[Any], arguments: dict[str, Any], workspace: Path) -> ToolResult:
    try:
        parsed = tool.arguments.model_validate(arguments)
    except ValidationError as exc:
        text = explain_bad_arguments(tool.name, tool.arguments, arguments, exc)
        return ToolResult(text=text, error=ToolErrorKind.BAD_ARGUMENTS)
    try:
        result = tool.run(parsed, workspace)
    except ToolRefused as exc:
        return ToolResult(text=str(exc), error=ToolErrorKind.REFUSED)
    except MemoryError:
        return ToolResult(
            text=f"{tool.name} ran out of memory. {tool.paging}", error=ToolErrorKind.LIMIT
        )
    except Exception as exc:  # noqa: BLE001 parsers of broken files raise anything
        return _failure(tool.name, exc)
    text = cut_text(result.text, tool.paging, MAX_RESULT_CHARS)
    return result.model_copy(update={"text": _piped(text, tool.paging)})


def _piped(text: str, paging: str) -> str:
    """Return `text`, cut to what fits through the pipe, but never below one observation."""
    size = len(json.dumps(text, ensure_ascii=False).encode("utf-8", "replace"))
    if size <= _MAX_PIPED_BYTES:
        return text
    shorter = cut_text(text, paging, len(text) * _MAX_PIPED_BYTES // size)
    again = len(json.dumps(shorter, ensure_ascii=False).encode("utf-8", "replace"))
    return shorter if again <= _MAX_PIPED_BYTES else cut_text(text, paging)


def _failure(tool: str, error: Exception) -> ToolResult:
    number = error.errno if isinstance(error, OSError) else None
    if number in _LIMIT_ERRORS:
        text = f"{tool} stopped: {_LIMIT_ERRORS[number]}."
        return ToolResult(text=text, error=ToolErrorKind.LIMIT)
    traceback.print_exception(error)
    text = f"{tool} could not do this: {type(error).__name__}: {str(error)[:500]}"
    return ToolResult(text=text, error=ToolErrorKind.REFUSED)


def _output_files(workspace: Path) -> Iterator[tuple[str, Stamp]]:
    """Yield the files of the output folder; the first ones if the folder is made to be endless."""
    # The agent may have closed the folder itself.
    with contextlib.suppress(TooManyEntries, OSError):
        for found in walk(workspace / "output"):
            at = found.status
            if at is not None:
                stamp = (at.st_mtime_ns, at.st_ctime_ns, at.st_size, at.st_ino)
                yield f"output/{found.path}", stamp


if __name__ == "__main__":
    sys.exit(main())
