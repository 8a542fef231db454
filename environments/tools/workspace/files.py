"""list_files, read_file and write_file: the workspace as plain files."""

import json
from itertools import islice
from pathlib import Path

from pydantic import Field

from environments.toolkit.definition import (
    MAX_TEXT_CHARS,
    Arguments,
    InputPath,
    OutputPath,
    ToolDefinition,
)
from environments.tools.workspace.paths import (
    files_below,
    input_file,
    output_file,
    workspace_path,
)
from taskdata.errors import ToolRefused
from taskdata.schema.task import Capability
from taskdata.schema.tool import ToolResult

_MAX_LISTED = 1_000
_BINARY_PROBE_BYTES = 8_192
_BETTER_READERS = {
    ".xlsx": "ReadXLSX",
    ".docx": "ReadDOCX",
    ".pptx": "ReadPPTX",
    ".pdf": "ReadPDF",
}
_WRITERS = {
    ".xlsx": "XlsxFileGenerator",
    ".docx": "DocxFileGenerator",
    ".pptx": "PptxFileGenerator",
    ".pdf": "PdfFileGenerator",
    ".png": "Plot or python_execute",
    ".jpg": "Plot or python_execute",
    ".wav": "python_execute",
}


class ListFilesArguments(Arguments):
    """Arguments of list_files."""

    path: str = Field(default=".", description="A folder, such as input or output.")


class ReadFileArguments(Arguments):
    """Arguments of read_file."""

    path: InputPath
    offset: int = Field(default=0, ge=0, description="Characters to skip.")
    limit: int = Field(default=4000, ge=1, description="Characters to show.")


class WriteFileArguments(Arguments):
    """Arguments of write_file."""

    path: OutputPath
    content: str = Field(description="The whole text; an existing file is replaced.")


def list_files(args: ListFilesArguments, workspace: Path) -> ToolResult:
    """Return the files below a folder with their sizes."""
    folder = workspace_path(workspace, args.path or ".")
    if not folder.is_dir():
        raise ToolRefused(
            f"There is no folder {args.path!r}. The workspace has input/ and output/."
        )
    root = workspace.resolve()
    below = files_below(workspace, folder.relative_to(root).as_posix())
    lines = [
        f"{path} ({(root / path).lstat().st_size} bytes)" for path in islice(below, _MAX_LISTED)
    ]
    if next(below, None) is not None:
        lines.append(f"(only the first {_MAX_LISTED} are listed; ask for a folder below)")
    return ToolResult(text="\n".join(lines) or f"No files in {args.path}.")


def read_file(args: ReadFileArguments, workspace: Path) -> ToolResult:
    """Return a piece of a text file and the offset of the next one."""
    source = input_file(workspace, args.path)
    with source.open("rb") as stream:
        is_binary = b"\0" in stream.read(_BINARY_PROBE_BYTES)
    better = _BETTER_READERS.get(source.suffix.lower())
    if is_binary or better:
        hint = f"; read it with {better}" if better else ""
        raise ToolRefused(f"{args.path} is not a text file{hint}.")
    text = source.read_text(encoding="utf-8-sig", errors="replace")
    # Leaves space for the closing line within the longest observation.
    piece = text[args.offset : args.offset + min(args.limit, MAX_TEXT_CHARS - 200)]
    end = args.offset + len(piece)
    if not text:
        return ToolResult(text=f"{args.path} is empty.")
    if args.offset >= len(text):
        raise ToolRefused(f"{args.path} has {len(text)} characters; offset {args.offset} is past.")
    if args.offset == 0 and end == len(text):
        return ToolResult(text=piece)
    rest = f"; go on with offset={end}" if end < len(text) else "; that is the end"
    return ToolResult(text=f"{piece}\n[characters {args.offset} to {end} of {len(text)}{rest}]")


def write_file(args: WriteFileArguments, workspace: Path) -> ToolResult:
    """Write a UTF-8 text file."""
    target = output_file(workspace, args.path)
    writer = _WRITERS.get(target.suffix.lower())
    if writer:
        raise ToolRefused(f"write_file writes text; for {target.suffix} files use {writer}.")
    data = args.content.encode("utf-8", "replace")
    target.write_bytes(data)
    note = _json_note(args.content) if target.suffix.lower() == ".json" else ""
    return ToolResult(text=f"Wrote {args.path}: {len(data)} bytes.{note}")


def _json_note(content: str) -> str:
    try:
        json.loads(content)
    except ValueError as exc:
        return f" Note: this is not valid JSON: {exc}."
    except RecursionError:
        return " Note: this JSON is nested too deeply for most readers."
    return ""


TOOLS = (
    ToolDefinition(
        name="list_files",
        description="List the files of the workspace, or of a folder in it, with their sizes.",
        category=Capability.PERCEPTION,
        arguments=ListFilesArguments,
        run=list_files,
        backend="the file system",
        paging="List a folder further down.",
    ),
    ToolDefinition(
        name="read_file",
        description="Read a text file (TXT, MD, JSON, CSV, HTML, ...), in pieces if it is long.",
        category=Capability.PERCEPTION,
        arguments=ReadFileArguments,
        run=read_file,
        backend="the file system",
        paging="Ask for less with limit, and for later parts with offset.",
    ),
    ToolDefinition(
        name="write_file",
        description="Write a text file (TXT, MD, JSON, CSV, HTML, ...) below output/.",
        category=Capability.OPERATION,
        arguments=WriteFileArguments,
        run=write_file,
        backend="the file system",
        paging="Write less at once.",
    ),
)
