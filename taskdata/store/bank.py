"""Tasks and bank releases in the store."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from sqlmodel import col, select

from taskdata.errors import Misuse
from taskdata.schema.task import BankRelease, Task
from taskdata.store.connection import StoreConnection
from taskdata.tables import ReleaseRow, ReleaseTaskRow, RunRow, TaskRow


def release_hash(task_hashes: Iterable[str]) -> str:
    """Return the hash of a release: sha256 over its sorted task hashes."""
    return hashlib.sha256("\n".join(sorted(task_hashes)).encode()).hexdigest()


class BankStore(StoreConnection):
    """What the store knows of tasks and releases."""

    def add_release(
        self, name: str, tasks: Sequence[Task], files: Mapping[str, Path]
    ) -> BankRelease:
        """Store tasks, their input files (by sha256) and the release they form; idempotent."""
        for sha256, path in files.items():
            if sha256 not in self.artifacts:
                self.artifacts.put_file(path)
        hashes = [task.content_hash for task in tasks]
        release = BankRelease(
            hash=release_hash(hashes), name=name, task_hashes=tuple(sorted(hashes))
        )
        with self._writing() as session:
            for task, task_hash in zip(tasks, hashes, strict=True):
                if session.get(TaskRow, task_hash) is None:
                    session.add(_task_row(task, task_hash))
            if session.get(ReleaseRow, release.hash) is None:
                session.add(ReleaseRow(hash=release.hash, name=name, created_at=datetime.now(UTC)))
                session.flush()
                session.add_all(
                    ReleaseTaskRow(release_hash=release.hash, task_hash=h)
                    for h in release.task_hashes
                )
        return release

    def task(self, task_hash: str) -> Task:
        """Return the task of that hash.

        Raises:
            Misuse: if the store has no such task.
        """
        with self._reading() as session:
            row = session.get(TaskRow, task_hash)
        if row is None:
            raise Misuse(f"task {task_hash} is not in the store")
        return Task.model_validate(row.spec)

    def tasks_of_release(self, release: str) -> dict[str, Task]:
        """Return the tasks of a release by content hash, in order of their ids."""
        query = (
            select(TaskRow)
            .join(ReleaseTaskRow, col(ReleaseTaskRow.task_hash) == col(TaskRow.hash))
            .where(ReleaseTaskRow.release_hash == release)
            .order_by(TaskRow.task_id)
        )
        with self._reading() as session:
            return {row.hash: Task.model_validate(row.spec) for row in session.exec(query)}

    def tasks_of_run(self, run_id: str) -> dict[str, Task]:
        """Return the tasks of the run's release by content hash."""
        with self._reading() as session:
            row = session.get(RunRow, run_id)
        if row is None:
            raise Misuse(f"run {run_id!r} is not in the store; `nightshift runs` lists them")
        return self.tasks_of_release(row.release_hash)


def _task_row(task: Task, task_hash: str) -> TaskRow:
    return TaskRow(
        hash=task_hash,
        task_id=task.id,
        tier=task.tier,
        category=task.category,
        spec=task.model_dump(mode="json"),
    )
