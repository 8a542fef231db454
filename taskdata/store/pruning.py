"""Removing runs: their rows, and the artifacts that no other row refers to.

A prune goes in steps that can be repeated: runs are marked as being removed, in one transaction,
and are found by nobody from then on; their artifacts are removed; their rows are. A prune that was
interrupted is finished by the next one. Rows stay as long as they refer to an artifact that is too
young to be removed, so that no artifact is forgotten.
"""

import logging
import sqlite3
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy import Connection
from sqlmodel import SQLModel

from taskdata.artifacts import GRACE
from taskdata.schema.run import RunStatus
from taskdata.store.connection import StoreConnection
from taskdata.store.references import names_in
from taskdata.tables import (
    AnnotationRow,
    DeliverableRow,
    DiagnosisRow,
    GateResultRow,
    LabelAnnotationRow,
    LeafScoreRow,
    ModelCallRow,
    OutcomeRow,
    PagePicturesRow,
    PlanAnnotationRow,
    RenderedRow,
    RunRow,
    ScoreRow,
    ScoringErrorRow,
    StageReportRow,
    TrialRow,
)

_logger = logging.getLogger(__name__)

_FREE_SHARE = 0.25
"""Share of an SQLite file without rows above which it is written anew."""

_Condition = sa.ColumnElement[bool]


def _table(rows: type[SQLModel]) -> sa.Table:
    table: sa.Table = rows.__table__  # type: ignore[attr-defined]
    return table


_RUNS, _TRIALS, _OUTCOMES = _table(RunRow), _table(TrialRow), _table(OutcomeRow)
_FILES, _CALLS, _PICTURES = _table(DeliverableRow), _table(ModelCallRow), _table(PagePicturesRow)
_OF_TRIAL = [
    _table(r)
    for r in (
        ScoreRow,
        LeafScoreRow,
        ScoringErrorRow,
        RenderedRow,
        DiagnosisRow,
        AnnotationRow,
        LabelAnnotationRow,
        PlanAnnotationRow,
    )
]
_OF_RUN = [_table(r) for r in (GateResultRow, StageReportRow)]


class Room(NamedTuple):
    """How much the artifacts of some runs take that nothing else refers to."""

    artifacts: int
    size_bytes: int
    young: int
    """Of these, files that were written so lately that they stay for another day."""
    young_bytes: int


class PruningStore(StoreConnection):
    """Removes runs."""

    def being_removed(self) -> list[str]:
        """Return the ids of runs that an earlier prune has begun to remove."""
        query = sa.select(_RUNS.c.id).where(_RUNS.c.status == RunStatus.REMOVING.value)
        with self._plainly_reading() as connection:
            return sorted(connection.execute(query).scalars())

    def unfinished_runs(self) -> set[str]:
        """Return the ids of runs that did not complete: what they paid for is still needed."""
        over = (RunStatus.COMPLETED.value, RunStatus.REMOVING.value)
        query = sa.select(_RUNS.c.id).where(_RUNS.c.status.not_in(over))
        with self._plainly_reading() as connection:
            return set(connection.execute(query).scalars())

    def confirming_runs(self) -> dict[str, str]:
        """Return by id of each confirming re-run which run it confirms."""
        purpose = _RUNS.c.config["purpose"].as_string()
        query = sa.select(_RUNS.c.id, _RUNS.c.config["confirms"].as_string())
        wanted = query.where(purpose == "confirmation", _RUNS.c.status != RunStatus.REMOVING.value)
        with self._plainly_reading() as connection:
            return dict(connection.execute(wanted).tuples().all())

    def runs_in_use(self) -> set[str]:
        """Return the ids of runs that rows refer to which do not go with a run."""
        used: set[str] = set()
        with self._plainly_reading() as connection:
            for column, target in _foreign_references():
                query = sa.select(_run_of(target)).where(
                    target.c.id.in_(sa.select(column).where(column.is_not(None)))
                )
                used.update(connection.execute(query).scalars())
        return used

    def count_trials(self, run_ids: Collection[str]) -> dict[str, int]:
        """Return how many trials each of the runs has; runs without any are left out."""
        query = sa.select(_TRIALS.c.run_id, sa.func.count()).group_by(_TRIALS.c.run_id)
        with self._plainly_reading() as connection:
            counts = connection.execute(query).all()
        return {run_id: count for run_id, count in counts if run_id in run_ids}

    def unneeded_artifacts(self, run_ids: Sequence[str]) -> set[str]:
        """Return the artifacts that no row refers to but those of these runs.

        Those that no row at all refers to are among them: what was cut short leaves such.
        """
        conditions = _conditions(run_ids)
        # Listed before rows are read: what is written and referred to meanwhile is not here.
        going = {bytes.fromhex(name) for name, _ in self.artifacts.listed()}
        kept = set[bytes]()
        with self._plainly_reading() as connection:
            for table in SQLModel.metadata.sorted_tables:
                goes = conditions.get(table.name)
                others = None if goes is None else ~sa.func.coalesce(goes, sa.false())
                kept.update(n for n in names_in(connection, table, others) if n in going)
        return {name.hex() for name in going - kept}

    def room_of(self, names: Collection[str], now: datetime) -> Room:
        """Return how much the artifacts of these names take."""
        files = [file for name, file in self.artifacts.listed() if name in names]
        young = [file for file in files if now - file.written_at < GRACE]
        return Room(
            len(files),
            sum(file.size_bytes for file in files),
            len(young),
            sum(file.size_bytes for file in young),
        )

    def begin_removing(self, run_ids: Sequence[str]) -> None:
        """Mark the runs as being removed, so that nobody finds them any more."""
        mark = sa.update(_RUNS).where(_RUNS.c.id.in_(run_ids))
        with self._plainly_writing() as connection:
            connection.execute(mark.values(status=RunStatus.REMOVING.value))

    def remove_artifacts(self, names: Collection[str], now: datetime) -> set[str]:
        """Remove the artifacts that are old enough; return those that are not."""
        return {name for name in sorted(names) if not self.artifacts.remove_old(name, now)}

    def remove_rows(self, waiting_for: set[str]) -> list[str]:
        """Remove the rows of runs that are being removed; return the ids of these runs.

        Args:
            waiting_for: Artifacts that are still there. A run whose rows refer to one stays.
        """
        removed = []
        for run_id in self.being_removed():
            with self._plainly_writing() as connection:
                if not waiting_for or waiting_for.isdisjoint(_names_of(connection, run_id)):
                    _remove_rows(connection, run_id)
                    removed.append(run_id)
        return removed

    def compact(self) -> None:
        """Give what removed rows took in an SQLite file back to the disk, once that is a lot.

        It takes as much room again for a moment, and holds up writers meanwhile. PostgreSQL's
        autovacuum does the like by itself.
        """
        if self._engine.dialect.name != "sqlite":
            return
        with self._write_lock(), closing(self._engine.raw_connection()) as connection:
            free, pages = (
                int(connection.execute(f"PRAGMA {name}").fetchone()[0])
                for name in ("freelist_count", "page_count")
            )
            if free <= _FREE_SHARE * pages:
                return
            try:
                connection.execute("VACUUM")
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            except sqlite3.OperationalError as exc:
                # New rows take the free pages all the same.
                _logger.warning("the database file stays as large as it was: %s", exc)

    def database_bytes(self) -> int:
        """Return how much the database takes on its disk."""
        if self._engine.dialect.name != "sqlite":
            size = sa.text("SELECT pg_database_size(current_database())")
            with self._plainly_reading() as connection:
                return int(connection.execute(size).scalar_one())
        database = self._engine.url.database or ""
        files = (Path(f"{database}{ending}") for ending in ("", "-wal", "-shm"))
        return sum(file.stat().st_size for file in files if file.is_file())


def _conditions(run_ids: Sequence[str]) -> dict[str, _Condition]:
    """Return by table which of its rows go with those runs; all other tables keep all rows.

    Replies that all work shares stay, and so do pictures of files that other runs delivered.
    """
    of_run = _TRIALS.c.run_id.in_(run_ids)
    trials = sa.select(_TRIALS.c.id).where(of_run)
    outcomes = sa.select(_OUTCOMES.c.id).where(_OUTCOMES.c.trial_id.in_(trials))
    own = _FILES.c.outcome_id.in_(outcomes)
    delivered, elsewhere = (sa.select(_FILES.c.sha256).where(c) for c in (own, ~own))
    return {
        _FILES.name: own,
        _PICTURES.name: _PICTURES.c.sha256.in_(delivered) & _PICTURES.c.sha256.not_in(elsewhere),
        _CALLS.name: _CALLS.c.trial_id.in_(trials) & _CALLS.c.shared_key.is_(None),
        **{table.name: table.c.trial_id.in_(trials) for table in (_OUTCOMES, *_OF_TRIAL)},
        **{table.name: table.c.run_id.in_(run_ids) for table in (_TRIALS, *_OF_RUN)},
        _RUNS.name: _RUNS.c.id.in_(run_ids),
    }


def _names_of(connection: Connection, run_id: str) -> Iterator[str]:
    for name, condition in _conditions([run_id]).items():
        for found in names_in(connection, SQLModel.metadata.tables[name], condition):
            yield found.hex()


def _remove_rows(connection: Connection, run_id: str) -> None:
    conditions = _conditions([run_id])
    # Which pictures go is told by the deliverables, and these by the outcomes: in this order.
    first = (_PICTURES, _FILES)
    rest = [t for t in reversed(SQLModel.metadata.sorted_tables) if t not in first]
    shared = _CALLS.c.shared_key.is_not(None)
    trials = sa.select(_TRIALS.c.id).where(_TRIALS.c.run_id == run_id)
    connection.execute(
        sa.update(_CALLS).where(shared, _CALLS.c.trial_id.in_(trials)).values(trial_id=None)
    )
    for table in (*first, *rest):
        if table.name in conditions:
            connection.execute(sa.delete(table).where(conditions[table.name]))


def _foreign_references() -> Iterator[tuple[sa.Column[Any], sa.Table]]:
    """Yield columns of tables that stay, each with the table of runs' rows that it refers to."""
    going = _conditions([])
    for table in SQLModel.metadata.sorted_tables:
        if table.name in going:
            continue
        for key in table.foreign_keys:
            if key.column.table.name in (_RUNS.name, _TRIALS.name):
                yield key.parent, key.column.table


def _run_of(table: sa.Table) -> sa.Column[Any]:
    return table.c.id if table.name == _RUNS.name else table.c.run_id
