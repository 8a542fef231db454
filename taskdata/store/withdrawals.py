"""Withdrawn tasks in the store; a withdrawal is never removed."""

from collections.abc import Iterable

from sqlalchemy.dialects import postgresql, sqlite
from sqlmodel import col, or_, select

from taskdata.schema.withdrawal import Withdrawal
from taskdata.store.connection import StoreConnection
from taskdata.tables import ReleaseNotesRow, ReleaseRow, ReleaseTaskRow, TaskRow, WithdrawalRow


class WithdrawalStore(StoreConnection):
    """Stores and finds the tombstones of tasks."""

    def add_withdrawals(self, withdrawals: Iterable[Withdrawal]) -> None:
        """Store tombstones; one that is there keeps its reason and date."""
        rows = [withdrawal.model_dump(mode="python") for withdrawal in withdrawals]
        if not rows:
            return
        table = WithdrawalRow.__table__  # type: ignore[attr-defined]
        insert = (sqlite if self._engine.dialect.name == "sqlite" else postgresql).insert(table)
        with self._writing() as session:
            session.connection().execute(insert.on_conflict_do_nothing(), rows)

    def withdrawals(self) -> dict[str, Withdrawal]:
        """Return every tombstone by content hash of the task, the oldest first."""
        query = select(WithdrawalRow).order_by(
            col(WithdrawalRow.withdrawn_at), WithdrawalRow.task_id, WithdrawalRow.task_hash
        )
        with self._reading() as session:
            rows = session.exec(query).all()
        return {row.task_hash: Withdrawal.model_validate(row.model_dump()) for row in rows}

    def withdrawn_of_release(self, release: str) -> dict[str, Withdrawal]:
        """Return the tombstones of a release's tasks by content hash, in order of the ids."""
        query = (
            select(WithdrawalRow)
            .join(ReleaseTaskRow, col(ReleaseTaskRow.task_hash) == col(WithdrawalRow.task_hash))
            .where(ReleaseTaskRow.release_hash == release)
            .order_by(WithdrawalRow.task_id)
        )
        with self._reading() as session:
            rows = session.exec(query).all()
        return {row.task_hash: Withdrawal.model_validate(row.model_dump()) for row in rows}

    def versions_of_task(self, bank: str, task_id: str) -> list[str]:
        """Return the content hashes under which releases of a bank hold the task."""
        noted = select(ReleaseNotesRow.release_hash).where(ReleaseNotesRow.bank == bank)
        query = (
            select(TaskRow.hash)
            .join(ReleaseTaskRow, col(ReleaseTaskRow.task_hash) == col(TaskRow.hash))
            .join(ReleaseRow, col(ReleaseRow.hash) == col(ReleaseTaskRow.release_hash))
            .where(TaskRow.task_id == task_id)
            .where(or_(ReleaseRow.name == bank, col(ReleaseRow.hash).in_(noted)))
            .order_by(TaskRow.hash)
            .distinct()
        )
        with self._reading() as session:
            return list(session.exec(query))
