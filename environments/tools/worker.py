"""The inside half of a tool call: `python -m environments.tools.worker` in the sandbox.

One JSON request on standard input (`{"tool", "arguments"}`), one JSON `ToolResult` on standard
output. Whatever the tool's code or its libraries print goes to standard error, so that it cannot
mix with the result. A missing library ends the worker with exit code 1 and no result: that is
our fault, not the agent's, and the host reports it as such.
"""

import errno
import json
import os
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from environments.tools.registry import definition
from environments.tools.toolkit import ToolDefinition, cut_text, explain_bad_arguments
from taskdata.errors import ToolRefused
from taskdata.schema.tool import ToolErrorKind, ToolResult

MAX_FILES_REPORTED = 100

_MAX_FILES_COMPARED = 10_000
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
    result = answer(request["tool"], request["arguments"], Path.cwd())
    payload = json.dumps(result.model_dump(), ensure_ascii=False)
    with os.fdopen(result_descriptor, "wb") as stream:
        # File names of an agent need not be valid text.
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
    except ImportError as exc:
        raise ImportError(f"{tool.name} needs {tool.backend}: {exc}") from exc
    except Exception as exc:  # noqa: BLE001 parsers of broken files raise anything
        return _failure(tool.name, exc)
    return result.model_copy(update={"text": cut_text(result.text, tool.paging)})


def _failure(tool: str, error: Exception) -> ToolResult:
    number = error.errno if isinstance(error, OSError) else None
    if number in _LIMIT_ERRORS:
        text = f"{tool} stopped: {_LIMIT_ERRORS[number]}."
        return ToolResult(text=text, error=ToolErrorKind.LIMIT)
    traceback.print_exception(error)
    text = f"{tool} could not do this: {type(error).__name__}: {str(error)[:500]}"
    return ToolResult(text=text, error=ToolErrorKind.REFUSED)


def _output_files(workspace: Path) -> Iterator[tuple[str, Stamp]]:
    seen = 0
    for here, folders, names in os.walk(workspace / "output"):
        folders.sort()
        for name in names:
            seen += 1
            if seen > _MAX_FILES_COMPARED:
                return
            path = Path(here) / name
            at = path.lstat()
            stamp = (at.st_mtime_ns, at.st_ctime_ns, at.st_size, at.st_ino)
            yield path.relative_to(workspace).as_posix(), stamp


if __name__ == "__main__":
    sys.exit(main())
