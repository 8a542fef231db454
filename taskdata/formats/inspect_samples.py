"""Samples that the `json_dataset` of inspect_ai reads; our whole task travels in their metadata."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from taskdata.formats.documents import document, lines
from taskdata.formats.exporting import Fetch, replacing, target
from taskdata.formats.files import BESIDE, Folder
from taskdata.formats.jsonl import whole_task
from taskdata.formats.rows import Imported, Made, RawRow, RowNotes, Source, each, refusal
from taskdata.schema.task import ObjectiveAnswer, SubjectiveAnswer, Task

DOCUMENT = "samples.jsonl"


def read(source: Source) -> Iterator[Imported]:
    """Yield the tasks that samples carry in their metadata.

    A sample whose `input` or `id` was changed is a task with that query or id. What was changed
    elsewhere beside the whole task is left out, and told.

    Raises:
        Misuse: if there is no such file.
        BadTaskData: if it is not UTF-8, or cut short.
    """
    path = document(source.path, (DOCUMENT,))
    folder = Folder(path.parent)

    def make(raw: RawRow, notes: RowNotes) -> Made:
        sample = raw.value
        metadata = sample.get("metadata") if isinstance(sample, dict) else None
        whole = metadata.get("task") if isinstance(metadata, dict) else None
        if not isinstance(whole, dict):
            raise refusal("metadata.task", "must hold the whole task, as our exports do", sample)
        stated = {"id": sample.get("id"), "query": sample.get("input")}
        changed = {key: value for key, value in stated.items() if value is not None}
        made = whole_task(whole | changed, folder, source, notes)
        notes.ignored.update(_not_taken(sample, made[0]))
        return made

    return each(source, path.name, map(_named, lines(path)), make)


def write(tasks: Iterable[Task], path: Path, fetch: Fetch, *, force: bool) -> None:
    """Write the samples to a `.jsonl` file, or to `samples.jsonl` in a folder.

    Raises:
        Misuse: if something is there and `force` is not given.
    """
    place = target(path, DOCUMENT, fetch, force=force)
    with replacing(place.document) as stream:
        for task in tasks:
            place.put(task.stored_files)
            stream.write(json.dumps(_sample(task), ensure_ascii=False).encode() + b"\n")


def _sample(task: Task) -> dict[str, Any]:
    whole = task.model_dump(mode="json")
    shown = ("tier", "category", "capabilities", "title", "tools", "deliverables")
    return {
        "id": task.id,
        "input": task.query,
        "target": _target(task),
        "metadata": {name: whole[name] for name in shown} | {"task": whole},
        "files": {file.path: f"{BESIDE}/{file.sha256}" for file in task.files},
    }


def _not_taken(sample: dict[str, Any], task: Task) -> Iterator[str]:
    """Yield the fields of a sample that say something else than the task that it carries."""
    ours = _sample(task)
    for name in sample.keys() - {"id", "input", "metadata"}:
        if name not in ours or sample[name] != ours[name]:
            yield name
    for name in sample["metadata"].keys() - {"task"}:
        if name not in ours["metadata"] or sample["metadata"][name] != ours["metadata"][name]:
            yield f"metadata.{name}"


def _target(task: Task) -> str | list[str]:
    """Return what a scorer compares with: several texts where any one of them will do."""
    answer = task.answer
    if isinstance(answer, SubjectiveAnswer):
        return list(answer.references)
    if isinstance(answer, ObjectiveAnswer):
        if len(answer.whitelist) == 1:
            return list(answer.whitelist[0])
        return "; ".join(group[0] for group in answer.whitelist if group)
    if task.reference is not None and task.reference.final_answer:
        return task.reference.final_answer
    return "\n".join(leaf.requirement for leaf in task.checkpoints.leaves())


def _named(raw: RawRow) -> RawRow:
    item = raw.value.get("id") if isinstance(raw.value, dict) else None
    return RawRow(raw.number, None if item is None else str(item), raw.value, raw.refused)
