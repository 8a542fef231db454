"""Holding a name in the database for one process at a time: a run that is being worked on."""

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
    """Names that one process holds, whatever its machine; a file has no such thing."""

    @property
    def is_served(self) -> bool:
        """Whether a server keeps the database, so that processes anywhere may use it."""
        return self._engine.dialect.name == "postgresql"

    @contextmanager
    def hold(self, name: str) -> Iterator[bool]:
        """Try to hold a name for the length of the block; yield whether it is held.

        The hold is the connection's own, so it goes with its process however that ends.
        """
        alone = self._engine.execution_options(isolation_level="AUTOCOMMIT")
        with _translated(self._engine):
            connection = alone.connect()
        # Given back to the pool it would stay open, and the name held.
        connection.detach()
        with closing(connection):
            with _translated(self._engine):
                is_ours = bool(connection.execute(_TAKE, {"key": _key(name)}).scalar())
            yield is_ours

    def is_held(self, name: str) -> bool:
        """Return whether some process holds the name."""
        with self._reading() as session:
            return bool(session.connection().execute(_IS_TAKEN, {"key": _key(name)}).scalar())


def _key(name: str) -> int:
    """Return the positive 63-bit number that PostgreSQL knows the name by."""
    return int.from_bytes(sha256(f"nightshift {name}".encode()).digest()[:8]) >> 1
