"""Locks by name in the database, such as the lock on a run that a process works on."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from hashlib import sha256

from sqlalchemy import text

from taskdata.store.connection import StoreConnection, _translated

_TAKE = text("SELECT pg_try_advisory_lock(:key)")
_IS_TAKEN = text(
    "SELECT EXISTS (SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1 "
    "AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) "
    "AND (classid::bigint << 32) + objid::bigint = :key)"
)


class HoldStore(StoreConnection):
    """Locks that one process of any machine holds; only a database server has them."""

    @property
    def is_served(self) -> bool:
        """Whether the database is on a server, so that processes of any machine may use it."""
        return self._engine.dialect.name == "postgresql"

    @contextmanager
    def hold(self, name: str) -> Iterator[bool]:
        """Try to lock a name for the length of the block; yield whether the lock was taken.

        The lock belongs to the connection, so it is released however the process ends.
        """
        alone = self._engine.execution_options(isolation_level="AUTOCOMMIT")
        with _translated(self._engine):
            connection = alone.connect()
        # A connection in the pool would stay open and keep the lock.
        connection.detach()
        with closing(connection):
            with _translated(self._engine):
                is_ours = bool(connection.execute(_TAKE, {"key": _key(name)}).scalar())
            yield is_ours

    def is_held(self, name: str) -> bool:
        """Return whether some process has locked the name."""
        with self._reading() as session:
            return bool(session.connection().execute(_IS_TAKEN, {"key": _key(name)}).scalar())


def _key(name: str) -> int:
    """Return the positive 63-bit number that stands for the name in PostgreSQL."""
    return int.from_bytes(sha256(f"nightshift {name}".encode()).digest()[:8]) >> 1
