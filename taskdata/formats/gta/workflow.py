"""GTA-Workflow: `end.json` or `step.json`, `toolmeta.json`, input files (GTA-2, section 3.3)."""

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from taskdata.canary import FIELD
from taskdata.formats.documents import document
from taskdata.formats.files import Folder, beside, require_same
from taskdata.formats.gta.atomic import read_answer
from taskdata.formats.gta.deliverables import read_deliverables
from taskdata.formats.gta.dialogs import Dialog, decoded, read_dialog, read_files
from taskdata.formats.gta.items import items
from taskdata.formats.gta.tools import WORKFLOW_TOOLS, capabilities_of, read_toolmeta, tools_of
from taskdata.formats.gta.trees import OURS, read_tree
from taskdata.formats.rows import (
    Imported,
    Made,
    RawRow,
    RowNotes,
    RowRefused,
    Source,
    each,
    refusal,
    slug,
    title_of,
)
from taskdata.schema.task import Answer, InputFile, Provenance, Task, Tier

DOCUMENTS = ("end.json", "step.json")
_FIELDS = {"tools", "files", "dialogs", "gt_answer", "sub_tasks", "deliverables", OURS}
_TREES = ("full_tree", "checkpoints", "checkpoint_tree", "tree")
"""Where a tree stands instead of in `sub_tasks`."""
_QUERIES = ("prompt", "query")
"""Where a query stands instead of in `dialogs`."""
_CATEGORIES = ("category", "workflow_category_6class", "workflow_category")
"""Names under which an item states its category; the published data set has the second."""
_TYPE_OF_FILE = re.compile(r"(files|resources)\.\d+\.type")


def read(source: Source) -> Iterator[Imported]:
    """Yield the items of a data set: the folder of `end.json` or `step.json`, or one of them.

    Raises:
        Misuse: if there is no such file.
        BadTaskData: if it is not JSON.
    """
    path = document(source.path, DOCUMENTS)
    for name in DOCUMENTS:
        if source.path.is_dir() and name != path.name and (source.path / name).exists():
            source.ignored[name] += 1
    folder = Folder(path.parent)
    # An agent whose results are imported needs no tools, and its bank may come without the file.
    every = read_toolmeta(path.parent, source.ignored) or WORKFLOW_TOOLS

    def make(raw: RawRow, notes: RowNotes) -> Made:
        item = raw.value
        if not isinstance(item, dict):
            raise refusal(None, "must be a mapping with dialogs, files and sub_tasks", item)
        item = _in_one_shape(item)
        raw = replace(raw, value=item)
        if "sub_tasks" not in item:
            raise refusal("sub_tasks", "is missing: nothing says what to check", item)
        ours = item.get(OURS)
        if ours is not None and not isinstance(ours, dict):
            raise refusal(OURS, "must be a mapping", ours)
        dialog = read_dialog(item, notes)
        files, places = read_files(item, dialog, folder, notes)
        tools = tools_of(item, every, notes)
        found = _Item(source, folder, raw, notes, dialog, files, tools)
        if ours is not None:
            return _own(found, ours)
        return _foreign(found), places

    return each(source, path.name, items(path, source), make)


def _in_one_shape(item: dict[str, Any]) -> dict[str, Any]:
    """Return the item with its tree in `sub_tasks` and its query in `dialogs`.

    Data sets keep the tree in the place of the answer, or under a name of its own, too.
    """
    shaped = dict(item)
    if shaped.get("sub_tasks") is None:
        shaped.pop("sub_tasks", None)
        name = next((name for name in _TREES if shaped.get(name) is not None), None)
        if name is None and _is_tree(shaped.get("gt_answer")):
            name = "gt_answer"
        if name is not None:
            shaped["sub_tasks"] = shaped.pop(name)
    if "sub_tasks" in shaped:
        shaped["sub_tasks"] = decoded("sub_tasks", shaped["sub_tasks"])
    query = next((name for name in _QUERIES if isinstance(shaped.get(name), str)), None)
    if "dialogs" not in shaped and query is not None:
        shaped["dialogs"] = [{"role": "user", "content": shaped.pop(query)}]
    shaped.pop("task_id", None)
    shaped.pop(FIELD, None)
    return shaped


def _is_tree(value: Any) -> bool:
    nodes = value if isinstance(value, list) else [value]
    return bool(nodes) and all(
        isinstance(node, Mapping) and ("requirements" in node or "sub_tasks" in node)
        for node in nodes
    )


@dataclass(frozen=True)
class _Item:
    """What items of others and of ours state in the same place."""

    source: Source
    folder: Folder
    raw: RawRow
    notes: RowNotes
    dialog: Dialog
    files: tuple[InputFile, ...]
    tools: tuple[str, ...]


def _foreign(found: _Item) -> Task:
    source, notes, item = found.source, found.notes, found.raw.value
    inputs = {Path(f.path).name for f in found.files}
    deliverables = read_deliverables(item.get("deliverables"), found.dialog.query, inputs, notes)
    shown = tuple(d.name for d in deliverables)
    answer = _answer(item, notes)
    notes.keep("key", found.raw.item)
    named = next((name for name in _CATEGORIES if isinstance(item.get(name), str)), "category")
    notes.keep_rest(item, {*_FIELDS, named})
    notes.assumed.update(("title", "human_minutes"))
    tree = read_tree(item["sub_tasks"], shown, None, notes)
    return Task(
        id=slug(f"{source.format}-{found.raw.item}"),
        tier=Tier.WORKFLOW,
        category=source.category_of(notes, item.get(named)),
        capabilities=capabilities_of(found.tools, notes),
        title=title_of(found.dialog.query),
        query=found.dialog.query,
        files=found.files,
        tools=found.tools,
        deliverables=deliverables,
        checkpoints=tree,
        answer=answer,
        reference=found.dialog.reference,
        provenance=Provenance(source=source.format, license=source.licence_of(notes)),
        extras=source.extras(notes),
    )


def _answer(item: Mapping[str, Any], notes: RowNotes) -> Answer | None:
    """Return the item's answer; one of another shape is kept, because the tree alone is scored."""
    answer = None
    with suppress(RowRefused):
        answer = read_answer(item["gt_answer"], notes) if item.get("gt_answer") else None
    if "gt_answer" in item and answer is None:
        notes.keep("gt_answer", item["gt_answer"])
    return answer


def _own(found: _Item, ours: dict[str, Any]) -> Made:
    """Return the task of an item that we exported.

    What the format has a field for is read from there, so that an edit of it counts.
    """
    item = found.raw.value
    files, places = _own_files(found, ours.get("files"))
    added = RowNotes()
    tree = read_tree(item["sub_tasks"], (), ours.get("root"), added)
    added.keep_rest(item, {*_FIELDS, "category"})
    added.kept |= {k: v for k, v in found.notes.kept.items() if not _TYPE_OF_FILE.fullmatch(k)}
    extras = ours.get("extras") or {}
    if added.kept and isinstance(extras, dict):
        before = extras.get(found.source.format)
        merged = (before if isinstance(before, dict) else {}) | added.kept
        extras = extras | {found.source.format: merged}
    stated = {"query": found.dialog.query, "tools": found.tools, "files": files}
    fields = {key: value for key, value in ours.items() if key != "root"}
    task = Task.model_validate(fields | stated | {"checkpoints": tree, "extras": extras})
    hidden = [file for file in task.stored_files if file.sha256 not in places]
    return task, places | beside(found.folder, hidden, found.source.is_stored)


def _own_files(found: _Item, stated: Any) -> tuple[list[InputFile], dict[str, Path]]:
    """Return the files under the names they have in the task, and where they are by sha256."""
    published = found.raw.value.get("files") or []
    if not isinstance(stated, list) or len(stated) != len(published):
        raise refusal(f"{OURS}.files", "must name as many files as the item", stated)
    files = [InputFile.model_validate(file) for file in stated]
    places: dict[str, Path] = {}
    for position, (file, entry) in enumerate(zip(files, published, strict=True)):
        where = f"files.{position}.path"
        path = entry["path"] if isinstance(entry, Mapping) else entry
        read, places[file.sha256] = found.folder.find(where, path)
        require_same(where, file, read)
    return files, places
