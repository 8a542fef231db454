"""Import an exported bank: read, check, store and release it, all or nothing."""

import hashlib
import json
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pydantic import Field, TypeAdapter, ValidationError

from quality.bank_statistics import bank_statistics
from quality.safety.personal import masked
from stages.release.admission import NOBODY, Admission, LetIn
from stages.release.release import changes, supplied_reference
from taskdata.banks.loader import bundled_banks
from taskdata.errors import BadTaskData, Misuse
from taskdata.formats.registry import reader
from taskdata.formats.rows import Imported, RawRow, Source, quarantined
from taskdata.schema.base import Sha256, Slug, Value
from taskdata.schema.outline import outline
from taskdata.schema.quarantine import Finding
from taskdata.schema.release import Lineage, ReferenceKind, ReleaseName, ReleaseNotes, TaskChange
from taskdata.schema.safety import NOTHING_ALLOWED, SafetyRules
from taskdata.schema.seed import EXCERPT_CHARACTERS, QuarantinedRow
from taskdata.schema.statistics import BankStatistics
from taskdata.schema.task import BankRelease, Category, Task
from taskdata.store import Store
from taskdata.store.bank import Row, release_of, task_row

ORIGIN = "import"
"""The origin in the lineage of an imported task."""

_REASONS = 20
_MAX_REASON = 500


class ImportReport(Value):
    """What happened to every row and field of an imported file."""

    bank: Slug
    format: str
    release: Sha256 | None
    """Hash of the release; None if no row became a task."""
    version: int | None
    rows: int = Field(ge=0)
    imported: int = Field(ge=0)
    quarantined: int = Field(ge=0)
    """Refused rows, including duplicates."""
    duplicates: int = Field(ge=0)
    """Rows with the task id of an earlier row."""
    ignored: dict[str, int] = Field(default_factory=dict)
    """Ignored fields without an equivalent in a bank, with their number of rows."""
    assumed: dict[str, int] = Field(default_factory=dict)
    """Facts that the format lacks and that were assumed, with their number of rows."""
    reasons: tuple[QuarantinedRow, ...] = ()
    """The first rows in quarantine; the store has all of them."""
    seconds: float = Field(ge=0)


def import_bank(
    store: Store,
    bank: str,
    format: str,
    path: Path,
    category: Category | None = None,
    licence: str | None = None,
    safety: SafetyRules = NOTHING_ALLOWED,
    let_in: LetIn = NOBODY,
) -> ImportReport:
    """Import a file or folder as a release of `bank`.

    Invalid rows are quarantined, and so are tasks that `stages.release.admission` refuses. If the
    file as a whole is invalid, nothing is stored.

    Args:
        store: The store for the release.
        bank: Name of the bank.
        format: A name from `taskdata.formats.registry`.
        path: The file or folder.
        category: Category of tasks whose format has none; None assumes retrieval_qa.
        licence: Licence of tasks whose format names none; None: unknown.
        safety: The kinds of personal data and harm that are allowed. Nothing is masked: a task is
            imported as it is, or not at all.
        let_in: Tasks that a person lets in whatever is found in them.

    Raises:
        Misuse: if the format, the path or the name is invalid.
        BadTaskData: if the file is not of the format, or is incomplete.
    """
    started = time.monotonic()
    _require_free(bank)
    read = reader(format)
    with (
        tempfile.TemporaryDirectory(prefix="nightshift-import-") as folder,
        tempfile.TemporaryDirectory(prefix="nightshift-import-") as scratch,
        _spool(Path(folder), Admission(store, format, safety, let_in)) as spool,
    ):
        is_stored = store.artifacts.__contains__
        source = Source(format, path, category, licence, is_stored, Path(scratch))
        statistics = bank_statistics(spool.take(read(source)))
        notes = _release(store, bank, spool, statistics)
        return _report(bank, source, spool, notes, time.monotonic() - started)


def _report(
    bank: str, source: Source, spool: "_Spool", notes: ReleaseNotes | None, seconds: float
) -> ImportReport:
    return ImportReport(
        bank=bank,
        format=source.format,
        release=notes.release_hash if notes else None,
        version=notes.version if notes else None,
        rows=spool.rows,
        imported=len(spool.entries),
        quarantined=spool.rejected,
        duplicates=spool.duplicates,
        ignored=dict(source.ignored),
        assumed=dict(source.assumed),
        reasons=tuple(spool.reasons),
        seconds=seconds,
    )


def _require_free(bank: str) -> None:
    try:
        TypeAdapter(Slug).validate_python(bank)
    except ValidationError as exc:
        allowed = "lower-case letters, digits, _ and -"
        raise Misuse(f"bank name {bank!r}: expected at most 80 {allowed}") from exc
    if bank in bundled_banks():
        raise Misuse(f"bank name {bank!r} is that of a bundled bank; give another with --bank")


@dataclass(frozen=True)
class _Entry:
    """Position of a task in the spool file."""

    task_id: str
    hash: str
    start: int
    task_bytes: int
    outline_bytes: int
    reference: ReferenceKind


class _Spool:
    """Tasks on disk between reading and storing, so that memory does not grow with the bank."""

    def __init__(self, folder: Path, admission: Admission) -> None:
        self.folder = folder
        self.admission = admission
        self._tasks = (folder / "spool").open("w+b")
        self._rejected = (folder / "rejected").open("w+b")
        self.entries: list[_Entry] = []
        self.files: dict[str, Path] = {}
        self.reasons: list[QuarantinedRow] = []
        self.rows = self.rejected = self.duplicates = 0
        self._rows_by_id: dict[str, int] = {}

    def close(self) -> None:
        """Close the files."""
        self._tasks.close()
        self._rejected.close()

    def take(self, items: Iterable[Imported]) -> Iterator[Task]:
        """Write every item to disk and yield the valid tasks."""
        for item in items:
            self.rows += 1
            if isinstance(item, QuarantinedRow):
                self._reject(item)
                continue
            task = item.task
            first = self._rows_by_id.setdefault(task.id, item.row)
            if first != item.row:
                self.duplicates += 1
                raw = RawRow(item.row, task.id, task.query)
                reason = f"the task id {task.id!r} is that of row {first}"
                self._reject(quarantined(item.origin, raw, "id", reason, None))
                continue
            text = task.canonical_json().encode()
            content_hash = hashlib.sha256(text).hexdigest()
            raw = RawRow(item.row, task.id, task.query)
            if (tombstone := self.admission.tombstone(content_hash)) is not None:
                reason = f"the task was withdrawn on {tombstone.told}"
                self._reject(quarantined(item.origin, raw, "id", reason, None))
                continue
            if refused := self.admission.refused(task, content_hash, item.files):
                self._refuse(quarantined(item.origin, raw, None, "refused", None), refused)
                continue
            self._write(task, text, content_hash)
            self.files.update(item.files)
            yield task

    def _write(self, task: Task, text: bytes, content_hash: str) -> None:
        outlined = outline(task, content_hash).model_dump_json().encode()
        start = self._tasks.tell()
        self._tasks.write(text + outlined)
        sizes = (len(text), len(outlined))
        kind = supplied_reference(task)
        self.entries.append(_Entry(task.id, content_hash, start, *sizes, kind))

    def _refuse(self, row: QuarantinedRow, found: Sequence[Finding]) -> None:
        says = "; ".join(f"{one.rule}: {one.sentence}" for one in found)
        told = {
            "rule": found[0].rule,
            "value": found[0].value,
            "reason": says[:_MAX_REASON],
        }
        self._reject(row.model_copy(update=told))

    def _reject(self, row: QuarantinedRow) -> None:
        self.rejected += 1
        excerpt = masked(row.excerpt)[:EXCERPT_CHARACTERS]
        row = row.model_copy(update={"excerpt": excerpt, "reason": masked(row.reason)})
        if len(self.reasons) < _REASONS:
            self.reasons.append(row)
        self._rejected.write(row.model_dump_json().encode() + b"\n")

    def task_text(self, entry: _Entry) -> bytes:
        """Return a task as canonical JSON."""
        self._tasks.seek(entry.start)
        return self._tasks.read(entry.task_bytes)

    def task_rows(self) -> Iterator[Row]:
        """Yield the rows of the task table, in order of the ids."""
        for entry in self.by_id():
            spec = json.loads(self.task_text(entry))
            yield task_row(json.loads(self._tasks.read(entry.outline_bytes)), spec)

    def rejected_rows(self) -> Iterator[QuarantinedRow]:
        """Yield the rows that were refused."""
        self._rejected.seek(0)
        for line in self._rejected:
            yield QuarantinedRow.model_validate_json(line)

    def by_id(self) -> list[_Entry]:
        """Return the entries in order of the task ids."""
        return sorted(self.entries, key=lambda entry: entry.task_id)

    def snapshot(self) -> Path:
        """Return a file that holds the tasks as JSON Lines, in order of their ids."""
        path = self.folder / "snapshot.jsonl"
        with path.open("wb") as stream:
            for entry in self.by_id():
                stream.write(self.task_text(entry) + b"\n")
        return path


@contextmanager
def _spool(folder: Path, admission: Admission) -> Iterator[_Spool]:
    spool = _Spool(folder, admission)
    try:
        yield spool
    finally:
        spool.close()


def _release(
    store: Store, bank: str, spool: _Spool, statistics: BankStatistics
) -> ReleaseNotes | None:
    """Store the files, then everything else in one transaction, then the notes."""
    release = release_of(bank, (entry.hash for entry in spool.entries))
    if not spool.entries:
        store.write_release(release, (), spool.rejected_rows())
        return None
    with _artifacts(store) as put:
        for sha256, path in spool.files.items():
            if put(path) != sha256:
                raise BadTaskData(f"{path} changed while it was imported; try again")
        notes = _notes(store, spool, release, statistics, put(spool.snapshot()))
        store.write_release(release, spool.task_rows(), spool.rejected_rows())
    return store.add_release_notes(notes)


@contextmanager
def _artifacts(store: Store) -> Iterator[Callable[[Path], str]]:
    """Yield a function that stores a file; if the block fails, remove the newly stored files."""
    new: list[str] = []

    def put(path: Path) -> str:
        sha256, is_new = store.artifacts.add_file(path)
        if is_new:
            new.append(sha256)
        return sha256

    try:
        yield put
    except BaseException:
        for sha256 in new:
            store.artifacts.remove(sha256)
        raise


def _notes(
    store: Store,
    spool: _Spool,
    release: BankRelease,
    statistics: BankStatistics,
    snapshot_sha256: str,
) -> ReleaseNotes:
    previous = store.locate_release(release.name)
    lineage = tuple(
        Lineage(
            task_id=e.task_id,
            task_hash=e.hash,
            proof="unproven",
            origin=ORIGIN,
            reference=e.reference,
            decisions=spool.admission.decisions.get(e.task_id, ()),
        )
        for e in spool.by_id()
    )
    return ReleaseNotes(
        release_hash=release.hash,
        bank=release.name,
        version=1,
        previous_hash=previous.hash if previous else None,
        snapshot_sha256=snapshot_sha256,
        changes=_changes(store, spool, previous, lineage),
        statistics=statistics,
        lineage=lineage,
        created_at=datetime.now(UTC),
    )


def _changes(
    store: Store, spool: _Spool, previous: ReleaseName | None, lineage: tuple[Lineage, ...]
) -> tuple[TaskChange, ...]:
    """Return the changes since the last release; only changed tasks are read again."""
    old = dict(store.members_of_release(previous.hash)) if previous else {}
    entries = {entry.task_id: entry for entry in spool.entries}
    why = f"came with {ORIGIN}"
    found = [TaskChange(task_id=i, kind="added", why=why) for i in entries.keys() - old.keys()]
    gone = "not in the file that was imported"
    found += [TaskChange(task_id=i, kind="removed", why=gone) for i in old.keys() - entries.keys()]
    for task_id in entries.keys() & old.keys():
        if old[task_id] != entries[task_id].hash:
            before = store.task(old[task_id])
            after = Task.model_validate_json(spool.task_text(entries[task_id]))
            found += changes([before], [after], lineage)
    return tuple(sorted(found, key=lambda change: change.task_id))
