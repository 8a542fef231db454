"""Write a bank as GTA-Workflow publishes one; its own facts go under the key `nightshift`."""

import json
import re
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import Any

from taskdata.formats.exporting import Fetch, Target, replacing, target
from taskdata.formats.gta.tools import TOOLMETA
from taskdata.formats.gta.trees import OURS
from taskdata.formats.gta.workflow import DOCUMENTS
from taskdata.schema.checkpoint import Checkpoint
from taskdata.schema.task import InputFile, Task

INPUTS = "inputs"
"""Folder of the published input files: each in a folder named by its sha256."""

FOR_PACKS = "tasks.json"

_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._-]{0,99}")
_KINDS = {
    "image": (".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp"),
    "audio": (".mp3", ".wav", ".m4a", ".flac"),
    "video": (".mp4", ".mov", ".webm"),
}
_PUBLISHED = {"query", "files", "tools", "checkpoints"}


def write(tasks: Iterable[Task], path: Path, fetch: Fetch, *, force: bool) -> None:
    """Write `end.json`, `tasks.json`, `toolmeta.json` and the files into folder `path`.

    `tasks.json` has what the builder of GTA-2's eval packs takes of each task, in the form that it
    takes (agent_app_eval in its repository).

    Raises:
        Misuse: if the folder is not empty and `force` is not given.
    """
    place = target(path, DOCUMENTS[0], fetch, force=force)
    tools: dict[str, None] = {}
    packed: list[dict[str, Any]] = []
    with replacing(place.document) as stream:
        stream.write(b"{")
        for position, task in enumerate(tasks):
            tools |= dict.fromkeys(task.tools)
            item = _item(task, place)
            text = json.dumps(item, ensure_ascii=False)
            tree = {"prompt": task.query, "full_tree": item["sub_tasks"]}
            packed.append({"task_id": position, **tree})
            stream.write(f'{"," if position else ""}\n"{position}": {text}'.encode())
        stream.write(b"\n}\n")
    with replacing(place.folder / FOR_PACKS) as stream:
        stream.write(json.dumps({"tasks": packed}, ensure_ascii=False, indent=1).encode())
    with replacing(place.folder / TOOLMETA) as stream:
        meta = {name: {"name": name} for name in tools}
        stream.write(json.dumps(meta, ensure_ascii=False, indent=1).encode())


def _item(task: Task, place: Target) -> dict[str, Any]:
    """Return the task as published, each fact in one place."""
    whole = task.model_dump(mode="json")
    files = [_file(file, place) for file in task.files]
    visible = {file.sha256 for file in task.files}
    place.put(file for file in task.stored_files if file.sha256 not in visible)
    root = task.checkpoints
    own = {key: value for key, value in whole.items() if key not in _PUBLISHED}
    own["files"] = whole["files"]
    if root.children:
        own["root"] = _facts(root)
    return {
        "tools": [{"name": name} for name in task.tools],
        "files": files,
        "dialogs": [{"role": "user", "content": task.query, "resources": files}],
        "sub_tasks": [_node(c) for c in root.children] if root.children else _node(root),
        OURS: own,
    }


def _file(file: InputFile, place: Target) -> dict[str, str]:
    name = PurePosixPath(file.path).name
    path = f"{INPUTS}/{file.sha256}/{name if _PLAIN.fullmatch(name) else 'file'}"
    place.put_at(path, file)
    suffix = PurePosixPath(name).suffix.lower()
    kind = next((kind for kind, ends in _KINDS.items() if suffix in ends), "file")
    return {"type": kind, "path": path}


def _facts(node: Checkpoint) -> dict[str, Any]:
    own: dict[str, Any] = {"id": node.id}
    if node.verifier is not None:
        own["verifier"] = node.verifier.model_dump(mode="json")
    own |= node.model_dump(mode="json", include={"rule", "passes_from"})
    return {"id": node.id, "requirements": node.requirement, "weight": node.weight, OURS: own}


def _node(node: Checkpoint) -> dict[str, Any]:
    return _facts(node) | {"sub_tasks": [_node(child) for child in node.children]}
