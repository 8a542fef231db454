"""Copying a whole database: out to an SQLite file as it is at one moment, and in again.

A copy is an SQLite file whatever the database is, so that a backup of one kind can be restored into
another, and needs no programs of the server's version.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy import Connection
from sqlmodel import SQLModel

from taskdata.store.connection import StoreAddress, StoreConnection, _translated
from taskdata.store.references import certain_names_in, names_in
from taskdata.tables import RunRow, SeedRow, TaskRow, TrialRow

_PAGE = 1_000
_Copy = TypeVar("_Copy", bound="CopyingStore")
_FACTS = (RunRow, SeedRow, TaskRow)


class CopyingStore(StoreConnection):
    """Copies all rows out and in."""

    def copy_out(self, target: "CopyingStore") -> None:
        """Write all rows as they are at one moment to an SQLite store that is new; writers go on.

        Raises:
            StoreUnavailable: if either database refuses.
        """
        if self._engine.dialect.name == "sqlite":
            with (
                _translated(self._engine),
                closing(self._engine.raw_connection()) as source,
                closing(sqlite3.connect(target._engine.url.database or "")) as copy,
            ):
                driver: Any = source.driver_connection
                driver.backup(copy)
                # One file, without the log of what was written last beside it.
                copy.execute("PRAGMA journal_mode=DELETE")
            return
        target.migrate()
        moment = self._engine.execution_options(isolation_level="REPEATABLE READ")
        with (
            _translated(self._engine),
            moment.connect() as source_rows,
            target._plainly_writing() as copied,
        ):
            _copy_rows(source_rows, copied)

    def copy_in(self, source: "CopyingStore", *, replace: bool) -> None:
        """Take over all rows of another store of the same revision, all or none.

        Args:
            source: Where they are.
            replace: Whether all rows that are here go first; else there must be none.
        """
        with source._plainly_reading() as rows, self._plainly_writing() as connection:
            if replace:
                for table in reversed(SQLModel.metadata.sorted_tables):
                    connection.execute(sa.delete(table))
            _copy_rows(rows, connection)
            if self._engine.dialect.name == "postgresql":
                _set_sequences(connection)

    def is_empty(self) -> bool:
        """Return whether there are neither runs, nor seeds, nor tasks."""
        with self._plainly_reading() as connection:
            return not any(
                connection.execute(sa.select(sa.exists().select_from(_table(rows)))).scalar()
                for rows in _FACTS
            )

    def artifact_names(self) -> tuple[set[str], set[str]]:
        """Return the artifacts that the rows refer to for certain, and all that they may mean."""
        certain, possible = set[bytes](), set[bytes]()
        with self._plainly_reading() as connection:
            for table in SQLModel.metadata.sorted_tables:
                certain.update(certain_names_in(connection, table))
                possible.update(names_in(connection, table))
        return {name.hex() for name in certain}, {name.hex() for name in possible}


@contextmanager
def sqlite_copy(store: type[_Copy], path: Path) -> Iterator[_Copy]:
    """Yield the store of an SQLite file alone, without artifacts."""
    address = StoreAddress(database_url=f"sqlite:///{path}", artifacts_url="memory://")
    with closing(store(address)) as copy:
        yield copy


def _copy_rows(source: Connection, target: Connection) -> None:
    for table in SQLModel.metadata.sorted_tables:
        # A refinement refers to the trial of the round before.
        order = [table.c.round] if table is _table(TrialRow) else list(table.primary_key)
        rows = source.execute(
            sa.select(table).order_by(*order), execution_options={"yield_per": _PAGE}
        )
        for page in rows.mappings().partitions():
            target.execute(sa.insert(table), [dict(row) for row in page])


def _set_sequences(connection: Connection) -> None:
    """Have new rows numbered after those that were copied with their numbers."""
    for table in SQLModel.metadata.sorted_tables:
        for column in table.primary_key:
            if column.autoincrement is True or (
                column.name == "id" and isinstance(column.type, sa.Integer)
            ):
                last = sa.select(sa.func.max(column)).scalar_subquery()
                sequence = sa.func.pg_get_serial_sequence(table.name, column.name)
                connection.execute(
                    sa.select(sa.func.setval(sequence, sa.func.coalesce(last + 1, 1), False))
                )


def _table(rows: type[SQLModel]) -> sa.Table:
    table: sa.Table = rows.__table__  # type: ignore[attr-defined]
    return table
