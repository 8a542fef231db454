"""A bank as a Parquet table: columns to filter by, and the nested parts as JSON."""

import json
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from taskdata.errors import BadTaskData
from taskdata.formats.documents import decode, document
from taskdata.formats.exporting import Fetch, replacing, target
from taskdata.formats.files import Folder
from taskdata.formats.jsonl import whole_task
from taskdata.formats.rows import (
    Imported,
    Made,
    RawRow,
    RowNotes,
    RowRefused,
    Source,
    each,
    refusal,
)
from taskdata.places import UNSTORABLE, first_place, is_unstorable
from taskdata.schema.outline import outline
from taskdata.schema.task import Task

if TYPE_CHECKING:
    import pyarrow as pa

DOCUMENT = "tasks.parquet"
_PLAIN = ("id", "tier", "category", "capabilities", "title", "query", "human_minutes", "tools")
_NESTED = (
    "files",
    "deliverables",
    "checkpoints",
    "answer",
    "reference",
    "resources",
    "provenance",
    "environment",
    "extras",
    "package",
)
_DERIVED = ("hash", "source", "leaves", "depth", "checkable_share")
"""For those who filter; made anew from the rest on the way back."""
_BATCH = 200
_MAX_GROUP_BYTES = 1 << 30


def read(source: Source) -> Iterator[Imported]:
    """Yield the tasks of a file, or of `tasks.parquet` in a folder.

    Raises:
        Misuse: if there is no such file.
        BadTaskData: if it is not a Parquet file, or lacks a column.
    """
    path = document(source.path, (DOCUMENT,))
    folder = Folder(path.parent)

    def make(raw: RawRow, notes: RowNotes) -> Made:
        notes.ignored.update(raw.value.keys() - {*_PLAIN, *_NESTED, *_DERIVED})
        fields = {name: raw.value[name] for name in _PLAIN}
        place = first_place(fields, is_unstorable)
        if place is not None:
            raise refusal(place.where, UNSTORABLE, place.found)
        for name in _NESTED:
            text = raw.value.get(name)
            if text is not None:
                fields[name] = _nested(name, text)
        return whole_task(fields, folder, source, notes)

    return each(source, path.name, _rows(path), make)


def write(tasks: Iterable[Task], path: Path, fetch: Fetch, *, force: bool) -> None:
    """Write the tasks to a `.parquet` file, or to `tasks.parquet` in a folder.

    Raises:
        Misuse: if something is there and `force` is not given.
    """
    import pyarrow as pa
    from pyarrow import parquet

    place = target(path, DOCUMENT, fetch, force=force)
    schema = _schema()
    with (
        replacing(place.document) as stream,
        parquet.ParquetWriter(stream, schema, compression="zstd") as writer,
    ):
        for batch in _batches(tasks, _BATCH):
            for task in batch:
                place.put(task.stored_files)
            writer.write_table(pa.Table.from_pylist([_row(task) for task in batch], schema))


def _nested(name: str, text: Any) -> Any:
    if not isinstance(text, str):
        raise refusal(name, "must be a text that holds JSON", str(text))
    try:
        return decode(text)
    except RowRefused as exc:
        where = f"{name}.{exc.field}" if exc.field else name
        raise refusal(where, str(exc), exc.value) from exc


def _schema() -> "pa.Schema":
    import pyarrow as pa

    texts = pa.list_(pa.string())
    kinds = dict.fromkeys((*_PLAIN, *_NESTED, *_DERIVED), pa.string()) | {
        "capabilities": texts,
        "tools": texts,
        "human_minutes": pa.int64(),
        "leaves": pa.int32(),
        "depth": pa.int32(),
        "checkable_share": pa.float64(),
    }
    return pa.schema(list(kinds.items()))


def _row(task: Task) -> dict[str, Any]:
    whole = task.model_dump(mode="json")
    outlined = outline(task, task.content_hash)
    return (
        {name: whole[name] for name in _PLAIN}
        | {name: json.dumps(whole[name], ensure_ascii=False) for name in _NESTED if name in whole}
        | {name: getattr(outlined, name) for name in _DERIVED}
    )


def _rows(path: Path) -> Iterator[RawRow]:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(path) as table:
            missing = sorted({*_PLAIN, "checkpoints"} - set(table.schema_arrow.names))
            if missing:
                raise BadTaskData(f"{path}: column {missing[0]!r} is missing")
            groups = (table.metadata.row_group(n) for n in range(table.num_row_groups))
            if any(group.total_byte_size > _MAX_GROUP_BYTES for group in groups):
                raise BadTaskData(f"{path}: a row group is larger than {_MAX_GROUP_BYTES >> 20} MB")
            number = 0
            for batch in table.iter_batches(batch_size=_BATCH):
                for value in batch.to_pylist():
                    number += 1
                    yield RawRow(number, str(value["id"]), value)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as exc:
        raise BadTaskData(f"{path}: not a Parquet file: {' '.join(str(exc).split())}") from exc


def _batches(tasks: Iterable[Task], size: int) -> Iterator[list[Task]]:
    waiting = iter(tasks)
    while batch := list(islice(waiting, size)):
        yield batch
