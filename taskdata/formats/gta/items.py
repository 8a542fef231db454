"""The items of a document: a mapping by key, a list, or a list or mapping under `tasks`.

The last forms are those that the builder of GTA-2's eval packs takes, and that predictions are
kept in beside their tasks.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from taskdata.formats.documents import members
from taskdata.formats.rows import RawRow, Source

_LIST = "tasks"
_ID = "task_id"
_OF_AN_ITEM = {"dialogs", "prompt", "query", "sub_tasks"}


def items(path: Path, source: Source) -> Iterator[RawRow]:
    """Yield the items of the document in `path`, each known by its `task_id` if it has one.

    Members beside `tasks` are counted as ignored.

    Raises:
        BadTaskData: if it is not JSON, is cut short or is not UTF-8.
    """
    if not any(_holds_items(raw) for raw in members(path)):
        yield from map(_by_id, members(path))
        return
    for raw in members(path):
        if _holds_items(raw):
            yield from map(_by_id, _within(raw))
        else:
            source.ignored[raw.item or "?"] += 1


def _holds_items(raw: RawRow) -> bool:
    """Return whether it is the member `tasks`, and not an item that has this key."""
    if raw.item != _LIST or not isinstance(raw.value, list | dict):
        return False
    return isinstance(raw.value, list) or not raw.value.keys() & _OF_AN_ITEM


def _within(raw: RawRow) -> Iterator[RawRow]:
    if isinstance(raw.value, Mapping):
        keyed = [(str(key), value) for key, value in raw.value.items()]
    else:
        keyed = [(str(number), value) for number, value in enumerate(raw.value)]
    for number, (key, value) in enumerate(keyed, start=1):
        yield RawRow(number, key, value)


def _by_id(raw: RawRow) -> RawRow:
    key = raw.value.get(_ID) if isinstance(raw.value, dict) else None
    is_id = isinstance(key, int | str) and not isinstance(key, bool) and key != ""
    return replace(raw, item=str(key)) if is_id else raw
