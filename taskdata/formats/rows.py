"""What a reader yields, and the rules that all readers share.

A row that does not fit is quarantined and the reader goes on; a file that is not of its format at
all is refused as a whole.
"""

import hashlib
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from taskdata.errors import BadTaskData
from taskdata.schema.seed import EXCERPT_CHARACTERS, QuarantinedRow
from taskdata.schema.task import UNKNOWN_LICENCE, Category, Task

IMPORT = "import"
"""The stage that quarantined rows name."""

MAX_NODES = 1_000
"""Of one checkpoint tree."""

_OF_THE_WHOLE = "checkpoints"
"""All that can be wrong with a task as a whole: ids that repeat, deliverables that nobody makes."""
_MAX_REASON = 500
_MAX_FIELD = 200
_MAX_SLUG = 80
_NOT_SLUG = re.compile(r"[^a-z0-9_]+")
_SHOWN = 4_000


class RowRefused(BadTaskData):
    """A row that cannot become a task; the rest of its file may. Never leaves the readers."""

    field: str | None = None
    value: Any = None


def refusal(where: str | None, reason: str, value: Any = None) -> RowRefused:
    """Return the exception that quarantines a row, naming its field and the value found there."""
    refused = RowRefused(reason)
    refused.field, refused.value = where, value
    return refused


@dataclass(frozen=True)
class ImportedTask:
    """A task as read, with the files it brings."""

    task: Task
    files: Mapping[str, Path]
    """Files found beside it, by sha256; one that the store has already may be absent."""
    origin: str
    row: int
    """Where it stood in its file, counted from 1."""


Imported = ImportedTask | QuarantinedRow


class RowNotes:
    """What became of those fields of a row that have no place of their own in a task."""

    def __init__(self) -> None:
        self.kept: dict[str, Any] = {}
        """Goes into the task's `extras`."""
        self.ignored: Counter[str] = Counter()
        self.assumed: Counter[str] = Counter()

    def keep(self, name: str, value: Any) -> None:
        """Keep a value in the task's `extras` under `name`."""
        self.kept[name] = value

    def keep_rest(self, found: Mapping[str, Any], known: Iterable[str], where: str = "") -> None:
        """Keep every field of `found` that is not among the `known` ones."""
        for name in found.keys() - set(known):
            self.kept[f"{where}{name}"] = found[name]


@dataclass
class Source:
    """What is imported, and the account of it."""

    format: str
    path: Path
    category: Category | None = None
    """Category of tasks whose format names none."""
    licence: str | None = None
    """Licence of tasks that state none; None: it is unknown."""
    is_stored: Callable[[str], bool] = lambda _sha256: False
    """Whether the artifact store holds a file already."""
    scratch: Path | None = None
    """Folder for files that readers make; None: readers make none."""
    ignored: Counter[str] = field(default_factory=Counter)
    """Fields that were read and left out, by how many rows had them."""
    assumed: Counter[str] = field(default_factory=Counter)
    """Facts that the format does not say and that were filled in, by rows."""

    def category_of(self, notes: RowNotes, stated: Any = None) -> Category:
        """Return the category a row states, else the one asked for, else retrieval_qa."""
        if isinstance(stated, str):
            name = _NOT_SLUG.sub("_", stated.lower()).strip("_").replace("_and_", "_")
            if name in set(Category):
                return Category(name)
            # The six categories differ in their first words: "Planning & Decision Making".
            first = name.partition("_")[0]
            found = [one for one in Category if first and one.startswith(f"{first}_")]
            if len(found) == 1:
                notes.keep("category", stated)
                return found[0]
        if stated is not None:
            notes.keep("category", stated)
        if self.category is not None:
            return self.category
        notes.assumed["category"] += 1
        return Category.RETRIEVAL_QA

    def licence_of(self, notes: RowNotes) -> str:
        """Return the licence asked for, for a row that states none; else that it is unknown."""
        if self.licence is None:
            notes.assumed["licence"] += 1
        return self.licence or UNKNOWN_LICENCE

    def extras(self, notes: RowNotes) -> dict[str, Any]:
        """Return the extras of a task: what was kept, under the name of the format."""
        return {self.format: notes.kept} if notes.kept else {}


@dataclass(frozen=True)
class RawRow:
    """One row of a file, decoded or refused."""

    number: int
    item: str | None = None
    value: Any = None
    refused: RowRefused | None = None


Made = tuple[Task, Mapping[str, Path]]


def each(
    source: Source, origin: str, rows: Iterable[RawRow], make: Callable[[RawRow, RowNotes], Made]
) -> Iterator[Imported]:
    """Yield every row as the task that `make` returns of it, or quarantined with its reason."""
    for raw in rows:
        notes = RowNotes()
        try:
            if raw.refused is not None:
                raise raw.refused
            task, files = make(raw, notes)
        except RowRefused as exc:
            yield quarantined(origin, raw, exc.field, str(exc), exc.value)
        except ValidationError as exc:
            fault = exc.errors(include_url=False, include_context=False)[0]
            where = ".".join(str(part) for part in fault["loc"]) or _OF_THE_WHOLE
            more = f" (and {exc.error_count() - 1} more)" if exc.error_count() > 1 else ""
            given = raw.value if fault["input"] is None else fault["input"]
            says = fault["msg"].removeprefix("Value error, ")
            yield quarantined(origin, raw, where, f"{says}{more}", given)
        else:
            source.ignored.update(notes.ignored)
            source.assumed.update(notes.assumed)
            yield ImportedTask(task=task, files=files, origin=origin, row=raw.number)


def quarantined(
    origin: str, raw: RawRow, where: str | None, reason: str, value: Any
) -> QuarantinedRow:
    """Return the record of a row that was not let through."""
    return QuarantinedRow(
        stage=IMPORT,
        origin=origin,
        row=raw.number,
        item=None if raw.item is None else readable(raw.item)[:_MAX_SLUG],
        field=None if where is None else readable(where)[:_MAX_FIELD],
        reason=readable(reason)[:_MAX_REASON],
        excerpt=_excerpt(raw.value if value is None else value),
        at=datetime.now(UTC),
    )


def readable(text: str) -> str:
    """Return the text without what no database takes: NUL and halves of surrogate pairs."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()


def slug(text: str) -> str:
    """Return a slug: `text` itself where it is one, else made of it, with a hash to keep apart."""
    folded = unicodedata.normalize("NFKD", text[:_SHOWN]).encode("ascii", "ignore").decode()
    made = _NOT_SLUG.sub("-", folded.lower()).strip("-_")
    if made == text and len(made) <= _MAX_SLUG:
        return made
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{made[:60].strip('-_')}-{digest}".lstrip("-")


def title_of(query: str) -> str:
    """Return a title for a task whose format has none: the beginning of its query."""
    words = readable(" ".join(query[:_SHOWN].split())) or "Untitled"
    return words if len(words) <= 80 else words[:79].rsplit(" ", 1)[0] + "…"


def _excerpt(value: Any) -> str:
    if value is None:
        return ""
    text = value if isinstance(value, str) else json.dumps(_shallow(value), default=repr)
    return readable(text[:EXCERPT_CHARACTERS])


def _shallow(value: Any) -> Any:
    """Cut a value down to what an excerpt can show, so that a huge one costs nothing."""
    if isinstance(value, str):
        return value[:EXCERPT_CHARACTERS]
    if isinstance(value, Mapping):
        return {str(k)[:80]: _brief(v) for k, v in list(value.items())[:20]}
    if isinstance(value, list | tuple):
        return [_brief(item) for item in value[:20]]
    return value


def _brief(value: Any) -> Any:
    return "..." if isinstance(value, Mapping | list | tuple) else _shallow(value)
