"""Paths in tool arguments: resolved below the workspace, or refused with an explanation.

The sandbox confines the program; these checks make for clear observations.
"""

import difflib
import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from taskdata.errors import ToolRefused

_MAX_LISTED = 30


def workspace_path(workspace: Path, path: str) -> Path:
    """Return the absolute path; raises `ToolRefused` if it lies outside the workspace.

    `/workspace/input/a.csv` is read as `input/a.csv`.
    """
    relative = path.removeprefix("/workspace").lstrip("/") if _is_rooted(path) else path
    if "\0" in relative:
        raise ToolRefused("The path holds a NUL character.")
    root = workspace.resolve()
    target = (root / relative).resolve()
    if PurePosixPath(relative).is_absolute() or not target.is_relative_to(root):
        raise ToolRefused(
            f"{path!r} is outside the workspace: use a path such as input/data.csv "
            "or output/report.docx."
        )
    return target


def _is_rooted(path: str) -> bool:
    return path == "/workspace" or path.startswith("/workspace/")


def input_file(workspace: Path, path: str) -> Path:
    """Return the existing file at `path`; raises `ToolRefused` that lists the existing files."""
    target = workspace_path(workspace, path)
    if target.is_file():
        return target
    if target.is_dir():
        raise ToolRefused(f"{path!r} is a folder: give the path of a file in it.")
    there = list(files_below(workspace))
    close = difflib.get_close_matches(path, there, n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    listed = ", ".join(there[:_MAX_LISTED]) or "none"
    more = f" and {len(there) - _MAX_LISTED} more" if len(there) > _MAX_LISTED else ""
    raise ToolRefused(f"There is no file {path!r}.{hint} Files: {listed}{more}.")


def output_file(workspace: Path, path: str, suffixes: tuple[str, ...] = ()) -> Path:
    """Return where to write `path`, after making its folder; it must lie below `output/`.

    Raises `ToolRefused` for other locations, and for endings that are not in `suffixes`.
    """
    target = workspace_path(workspace, path)
    output = workspace.resolve() / "output"
    if target == output or not target.is_relative_to(output):
        raise ToolRefused(
            f"{path!r} cannot be written: only files below output/ can, "
            f"such as output/{PurePosixPath(path).name or 'report.docx'}."
        )
    if suffixes and target.suffix.lower() not in suffixes:
        raise ToolRefused(f"{path!r} must end in {' or '.join(suffixes)}.")
    if target.is_dir():
        raise ToolRefused(f"{path!r} is a folder: give the path of a file in it.")
    target.parent.mkdir(parents=True, exist_ok=True)
    return target


def files_below(workspace: Path, folder: str = ".") -> Iterator[str]:
    """Yield the workspace-relative paths of the files below `folder`, sorted by folder."""
    root = workspace.resolve()
    for here, folders, names in os.walk(root / folder):
        folders.sort()
        for name in sorted(names):
            yield (Path(here) / name).relative_to(root).as_posix()
