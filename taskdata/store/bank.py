"""Tasks and bank releases in the store."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import Any

from cachetools import LRUCache
from sqlalchemy import Table
from sqlalchemy.dialects import postgresql, sqlite
from sqlmodel import Session, SQLModel, col, desc, func, select

from taskdata.errors import BadTaskData, Misuse
from taskdata.schema.base import digest_of
from taskdata.schema.outline import TaskFilter, TaskOutline, outline
from taskdata.schema.seed import QuarantinedRow
from taskdata.schema.task import BankRelease, Task
from taskdata.store.connection import StoreAddress, StoreConnection
from taskdata.tables import (
    QuarantineRow,
    ReleaseNotesRow,
    ReleaseRow,
    ReleaseTaskRow,
    RunRow,
    TaskRow,
)

_BATCH = 500
_CACHED_TASKS = 256
_ALL = TaskFilter()

Row = dict[str, Any]


@dataclass(frozen=True)
class StoredBank:
    """A bank that the store has releases of."""

    name: str
    version: int
    """The newest one."""
    release_hash: str
    tasks: int
    created_at: datetime


def release_hash(task_hashes: Iterable[str]) -> str:
    """Return the hash of a release: sha256 over its sorted task hashes."""
    return hashlib.sha256("\n".join(sorted(task_hashes)).encode()).hexdigest()


def release_of(name: str, task_hashes: Iterable[str]) -> BankRelease:
    """Return the release that tasks of these hashes form."""
    hashes = tuple(sorted(task_hashes))
    return BankRelease(hash=release_hash(hashes), name=name, task_hashes=hashes)


def task_row(outlined: Mapping[str, Any], spec: Mapping[str, Any]) -> Row:
    """Return a row of the task table, of a task's outline and the task itself as JSON."""
    return {
        "hash": outlined["hash"],
        "task_id": outlined["id"],
        "tier": outlined["tier"],
        "category": outlined["category"],
        "spec": spec,
        "outline": outlined,
    }


class BankStore(StoreConnection):
    """Stores and finds tasks and releases."""

    def __init__(self, address: StoreAddress) -> None:
        super().__init__(address)
        # A hash always means the same task, and every repetition of every agent reads it.
        self._cached_tasks: LRUCache[str, Task] = LRUCache(_CACHED_TASKS)
        self._cache_lock = Lock()

    def add_release(
        self, name: str, tasks: Sequence[Task], files: Mapping[str, Path]
    ) -> BankRelease:
        """Store tasks, their input files (by sha256) and the release they form; idempotent."""
        for sha256, path in files.items():
            if not self.artifacts.is_fresh(sha256):
                self.artifacts.put_file(path)
        hashes = [task.content_hash for task in tasks]
        release = release_of(name, hashes)
        rows = (
            task_row(outline(task, h).model_dump(mode="json"), task.model_dump(mode="json"))
            for task, h in zip(tasks, hashes, strict=True)
        )
        self.write_release(release, rows)
        return release

    def write_release(
        self,
        release: BankRelease,
        rows: Iterable[Row],
        rejected: Iterable[QuarantinedRow] = (),
    ) -> None:
        """Store tasks, their release, and rows that did not become tasks, all or nothing.

        A task or release that exists is left as it is.

        Args:
            release: What the tasks form; if it has none, only the rejected rows are stored.
            rows: Its tasks, as `task_row` makes them; taken a few hundred at a time.
            rejected: Rows that were rejected.
        """
        with self._writing() as session:
            self._insert_new(session, TaskRow, rows)
            if release.task_hashes:
                made = {"hash": release.hash, "name": release.name, "created_at": datetime.now(UTC)}
                self._insert_new(session, ReleaseRow, [made])
                members = (
                    {"release_hash": release.hash, "task_hash": h} for h in release.task_hashes
                )
                self._insert_new(session, ReleaseTaskRow, members)
            self._insert_new(session, QuarantineRow, (row.model_dump() for row in rejected))

    def _insert_new(self, session: Session, kind: type[SQLModel], rows: Iterable[Row]) -> None:
        """Insert rows in batches; rows whose key exists are left as they are."""
        table: Table = kind.__table__  # type: ignore[attr-defined]
        on_sqlite = self._engine.dialect.name == "sqlite"
        insert = sqlite.insert(table) if on_sqlite else postgresql.insert(table)
        waiting = iter(rows)
        while batch := list(islice(waiting, _BATCH)):
            session.connection().execute(insert.on_conflict_do_nothing(), batch)

    def task(self, task_hash: str) -> Task:
        """Return the task of that hash.

        Raises:
            Misuse: if the store has no such task.
            BadTaskData: if its content has changed since it was stored.
        """
        with self._cache_lock:
            known = self._cached_tasks.get(task_hash)
        if known is not None:
            return known
        with self._reading() as session:
            row = session.get(TaskRow, task_hash)
        if row is None:
            raise Misuse(f"task {task_hash} is not in the store")
        found = _unchanged(task_hash, row.spec)
        with self._cache_lock:
            self._cached_tasks[task_hash] = found
        return found

    def tasks_of_release(self, release: str) -> dict[str, Task]:
        """Return the tasks of a release by content hash, in order of their ids."""
        return dict(self.each_task_of_release(release))

    def each_task_of_release(
        self, release: str, only: Sequence[str] = ()
    ) -> Iterator[tuple[str, Task]]:
        """Yield content hash and task, in order of their ids, holding a few at a time.

        Args:
            release: Hash of the release.
            only: Ids of the tasks wanted; empty means all.

        Raises:
            BadTaskData: if the content of a task has changed since it was stored.
        """
        members = self.members_of_release(release)
        wanted = [h for task_id, h in members if not only or task_id in only]
        for start in range(0, len(wanted), _BATCH):
            batch = wanted[start : start + _BATCH]
            query = select(TaskRow).where(col(TaskRow.hash).in_(batch)).order_by(TaskRow.task_id)
            with self._reading() as session:
                found = [(row.hash, row.spec) for row in session.exec(query)]
            for task_hash, spec in found:
                yield task_hash, _unchanged(task_hash, spec)

    def members_of_release(self, release: str) -> list[tuple[str, str]]:
        """Return id and content hash of a release's tasks, in order of the ids."""
        query = (
            select(TaskRow.task_id, TaskRow.hash)
            .join(ReleaseTaskRow, col(ReleaseTaskRow.task_hash) == col(TaskRow.hash))
            .where(ReleaseTaskRow.release_hash == release)
            .order_by(TaskRow.task_id)
        )
        with self._reading() as session:
            return list(session.exec(query))

    def outlines(self, release: str, wanted: TaskFilter = _ALL) -> list[TaskOutline]:
        """Return the outlines of a release's tasks that the filter admits, in order of ids."""
        query = (
            select(TaskRow.hash, TaskRow.outline)
            .join(ReleaseTaskRow, col(ReleaseTaskRow.task_hash) == col(TaskRow.hash))
            .where(ReleaseTaskRow.release_hash == release)
            .order_by(TaskRow.task_id)
        )
        if wanted.tier is not None:
            query = query.where(TaskRow.tier == wanted.tier)
        if wanted.category is not None:
            query = query.where(TaskRow.category == wanted.category)
        with self._reading() as session:
            rows = session.exec(query).all()
        found = (
            outline(self.task(task_hash), task_hash)
            if stored is None
            else TaskOutline.model_validate(stored)
            for task_hash, stored in rows
        )
        return [task for task in found if wanted.admits(task)]

    def stored_banks(self) -> list[StoredBank]:
        """Return the banks that have a release with notes, the newest release first."""
        releases = select(
            ReleaseNotesRow.bank,
            ReleaseNotesRow.version,
            ReleaseNotesRow.release_hash,
            ReleaseNotesRow.created_at,
        ).order_by(desc(ReleaseNotesRow.created_at), desc(ReleaseNotesRow.version))
        sizes = select(ReleaseTaskRow.release_hash, func.count()).group_by(
            ReleaseTaskRow.release_hash
        )
        newest: dict[str, StoredBank] = {}
        with self._reading() as session:
            tasks = dict(session.exec(sizes).all())
            for name, version, release, created_at in session.exec(releases):
                if name not in newest or newest[name].version < version:
                    newest[name] = StoredBank(name, version, release, tasks[release], created_at)
        return list(newest.values())

    def tasks_of_run(self, run_id: str) -> dict[str, Task]:
        """Return the tasks of the run's release by content hash."""
        with self._reading() as session:
            row = session.get(RunRow, run_id)
        if row is None:
            raise Misuse(f"run {run_id!r} is not in the store; `nightshift runs` lists them")
        return self.tasks_of_release(row.release_hash)


def _unchanged(task_hash: str, spec: dict[str, Any]) -> Task:
    """Return a stored task; a score of one that was edited would compare with no other score."""
    found = digest_of(spec)
    if found != task_hash:
        raise BadTaskData(
            f"task {spec.get('id')!r} was changed in the store: its content has the hash "
            f"{found[:12]}, "
            f"and {task_hash[:12]} was stored; restore a backup (`nightshift restore`)"
        )
    return Task.model_validate(spec)
