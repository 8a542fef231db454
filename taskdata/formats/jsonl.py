"""Our own exchange format: one task a line as canonical JSON, its files in `files/` beside it."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from taskdata.formats.documents import document, lines
from taskdata.formats.exporting import Fetch, replacing, target
from taskdata.formats.files import Folder, beside
from taskdata.formats.rows import MAX_NODES, Imported, Made, RawRow, RowNotes, Source, each, refusal
from taskdata.schema.task import Task

DOCUMENT = "tasks.jsonl"


def read(source: Source) -> Iterator[Imported]:
    """Yield the tasks of a file, or of `tasks.jsonl` in a folder.

    Raises:
        Misuse: if there is no such file.
        BadTaskData: if it is not UTF-8, or cut short.
    """
    path = document(source.path, (DOCUMENT,))
    folder = Folder(path.parent)

    def make(raw: RawRow, notes: RowNotes) -> Made:
        return whole_task(raw.value, folder, source, notes)

    return each(source, path.name, map(_named, lines(path)), make)


def whole_task(value: Any, folder: Folder, source: Source, notes: RowNotes) -> Made:
    """Return a task that was exported whole, and its files found in `folder`.

    Of a row without a licence it is the one asked for, or unknown.

    Raises:
        RowRefused: if it is no mapping, its tree has too many nodes or weights that add up to 0,
            or one of its files is missing or has changed.
        ValidationError: if it does not fit the schema.
    """
    if not isinstance(value, dict):
        raise refusal(None, "must be a mapping with the fields of a task", value)
    origin = value.get("provenance", {})
    if isinstance(origin, dict) and "license" not in origin:
        value = value | {"provenance": origin | {"license": source.licence_of(notes)}}
    task = Task.model_validate(value)
    _require_sound_tree(task)
    return task, beside(folder, task.stored_files, source.is_stored)


def _require_sound_tree(task: Task) -> None:
    for count, node in enumerate(task.checkpoints.nodes(), start=1):
        if count > MAX_NODES:
            raise refusal("checkpoints", f"the tree has more than {MAX_NODES} nodes")
        if task.provenance.as_published or not node.children:
            continue
        if not sum(child.weight for child in node.children):
            reason = f"the weights of the children of {node.id!r} add up to 0"
            raise refusal("checkpoints", reason, node.requirement)


def write(tasks: Iterable[Task], path: Path, fetch: Fetch, *, force: bool) -> None:
    """Write the tasks to a `.jsonl` file, or to `tasks.jsonl` in a folder.

    Raises:
        Misuse: if something is there and `force` is not given.
    """
    place = target(path, DOCUMENT, fetch, force=force)
    with replacing(place.document) as stream:
        for task in tasks:
            place.put(task.stored_files)
            stream.write(task.canonical_json().encode() + b"\n")


def _named(raw: RawRow) -> RawRow:
    item = raw.value.get("id") if isinstance(raw.value, dict) else None
    return RawRow(raw.number, item if isinstance(item, str) else None, raw.value, raw.refused)
