"""Results as a GTA eval pack: the JSON input of GTA-2's scorer of agent applications.

Its `tasks` hold `task_id`, `assistant_outputs` (traces of messages, of which the first counts),
`attached_files` (paths) and `meta`.
"""

import shutil
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any

from environments.sandbox.collect import Collected, collect
from stages.execute.imported.archives import without_bombs
from stages.execute.imported.folder import FILES
from stages.execute.imported.result import (
    MAX_ANSWER_BYTES,
    Effort,
    Result,
    answer_text,
    names_of,
    read_effort,
)
from taskdata.errors import BadTaskData
from taskdata.formats.documents import small_document
from taskdata.formats.files import Folder
from taskdata.formats.rows import RowRefused
from taskdata.schema.task import Resources, Task

_SECONDS = ("seconds", "call_elapsed_sec", "elapsed_sec")
"""Names under which packs state the time, the most exact first."""


def read_pack(pack: Path, root: Path, task: Task, destination: Path) -> Result | None:
    """Return the result for `task` in the eval pack; None if there is none.

    Args:
        pack: The JSON file.
        root: Folder that the paths in the pack are relative to; no path may lead out of it.
        task: Its `task_id` is its id, or its key in the data set that it was imported from.
        destination: Folder for the copies.

    Raises:
        BadTaskData: if the pack, or its entry for the task, is invalid.
    """
    status = pack.stat()
    entries = _entries(pack, status.st_mtime_ns, status.st_size)
    entry = next((entries[name] for name in names_of(task) if name in entries), None)
    if entry is None:
        return None
    where = f"{pack}: task {entry['task_id']}"
    return Result(
        final_answer=_answer(where, entry.get("assistant_outputs")),
        files=without_bombs(_files(where, entry, root, task.resources, destination)),
        effort=_effort(where, entry.get("meta")),
    )


@lru_cache(maxsize=4)
def _entries(pack: Path, _changed_ns: int, _size: int) -> Mapping[str, dict[str, Any]]:
    """Return the pack's entries by task id, read once for all trials of a process."""
    whole = small_document(pack)
    tasks = whole.get("tasks") if isinstance(whole, dict) else None
    if not isinstance(tasks, list):
        raise BadTaskData(f"{pack}: no eval pack; expected a mapping with a list `tasks`")
    entries: dict[str, dict[str, Any]] = {}
    for position, entry in enumerate(tasks):
        key = entry.get("task_id") if isinstance(entry, dict) else None
        if not isinstance(key, int | str) or isinstance(key, bool):
            raise BadTaskData(f"{pack}: tasks.{position}.task_id: must be a number or a text")
        if str(key) in entries:
            raise BadTaskData(f"{pack}: task {key}: stands in the pack twice")
        entries[str(key)] = entry
    return entries


def _answer(where: str, traces: Any) -> str:
    """Return the last text that the assistant wrote in the first trace; empty if there is none."""
    if not isinstance(traces, list):
        raise BadTaskData(f"{where}: assistant_outputs: must be a list of traces")
    trace = traces[0] if traces and isinstance(traces[0], list) else traces
    texts = [
        message["content"]
        for message in trace
        if isinstance(message, dict)
        and message.get("role") == "assistant"
        and isinstance(message.get("content"), str)
    ]
    last = next((text for text in reversed(texts) if text.strip()), "")
    data = last.encode("utf-8", "replace")
    if len(data) > MAX_ANSWER_BYTES:
        raise BadTaskData(f"{where}: its answer is larger than {MAX_ANSWER_BYTES >> 10} KiB")
    return answer_text(data)


def _effort(where: str, meta: Any) -> Effort:
    """Return the effort that the entry states; other metadata is ignored."""
    if not isinstance(meta, dict):
        return Effort()
    found = {name: meta[name] for name in Effort.model_fields if meta.get(name) is not None}
    seconds = next((meta[name] for name in _SECONDS if meta.get(name) is not None), None)
    return read_effort(f"{where}: meta", found | {"seconds": seconds})


def _files(
    where: str, entry: Mapping[str, Any], root: Path, resources: Resources, destination: Path
) -> Collected:
    attached = entry.get("attached_files") or []
    paths = [attached] if isinstance(attached, str) else attached
    if not isinstance(paths, list) or not all(isinstance(path, str) for path in paths):
        raise BadTaskData(f"{where}: attached_files: must be a list of paths")
    staged = destination / "staged"
    staged.mkdir(parents=True)
    refused = _stage(paths, root, resources, staged)
    collected = collect(staged, resources, destination / "collected")
    return Collected(collected.files, (*refused, *collected.rejected))


def _stage(paths: list[str], root: Path, resources: Resources, staged: Path) -> list[str]:
    """Copy the files within `root` under their names as deliverables; return the refused ones."""
    folder, left = Folder(root), resources.disk_mb << 20
    refused = []
    for path in paths[: resources.max_files]:
        try:
            file, found = folder.find(path, _relative(path, root))
        except RowRefused as exc:
            refused.append(f"{ascii(path)[:120]} {exc}")
            continue
        target = staged / _delivered_as(path)
        if file.size_bytes > left or target.exists():
            why = "has the name of another" if target.exists() else "exceeds the space allowed"
            refused.append(f"{ascii(path)[:120]} {why}")
            continue
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(found, target)
        except OSError as exc:
            refused.append(f"{ascii(path)[:120]} cannot be copied ({exc.strerror})")
            continue
        left -= file.size_bytes
    if len(paths) > resources.max_files:
        refused.append(f"{len(paths) - resources.max_files} files more than allowed")
    return refused


def _relative(path: str, root: Path) -> str:
    """Return the path relative to `root`; unchanged if it does not lead there."""
    is_below = path.startswith("/") and PurePosixPath(path).is_relative_to(root)
    return str(PurePosixPath(path).relative_to(root)) if is_below else path


def _delivered_as(path: str) -> str:
    """Return the path below the folder `files` of a pack, else the file name alone."""
    parts = PurePosixPath(path).parts
    if FILES in parts[:-1]:
        last = len(parts) - 1 - parts[::-1].index(FILES)
        return str(PurePosixPath(*parts[last + 1 :]))
    return parts[-1]
