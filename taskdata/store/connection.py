"""Opens the database: engine settings, migrations, sessions. No other code connects."""

import logging
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path
from threading import RLock
from typing import Any, TypeGuard

from filelock import FileLock
from sqlalchemy import Connection, Engine, create_engine, event, inspect, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, InternalError, NoSuchModuleError, OperationalError
from sqlmodel import Session

from taskdata.artifacts import ArtifactStore
from taskdata.errors import Misuse, StoreUnavailable
from taskdata.full_disks import is_read_only, way_out
from taskdata.private_files import private_file, private_folder, tighten
from taskdata.schema.base import Value
from taskdata.tables import REVISION

_logger = logging.getLogger(__name__)

_MIGRATION_LOCK = 0x6E69676874  # "night": any constant shared by all our processes
_SCHEME_CHARS = 20
_BUSY_SECONDS = 60
_SET_BACK = timedelta(days=1)


class StoreAddress(Value):
    """Where a store is; travels to worker processes."""

    database_url: str
    artifacts_url: str


class StoreConnection:
    """Base of the store: owns the engine and the artifact store of one process."""

    def __init__(self, address: StoreAddress) -> None:
        self.address = address
        self._engine = _engine(address.database_url)
        self._writes = self._engine.execution_options(writes=True)
        self._sqlite_lock = RLock()

    @cached_property
    def artifacts(self) -> ArtifactStore:
        """The content-addressed files of this store."""
        return ArtifactStore(self.address.artifacts_url)

    def close(self) -> None:
        """Close the connections."""
        self._engine.dispose()

    @contextmanager
    def _reading(self) -> Iterator[Session]:
        with _translated(self._engine), Session(self._engine) as session:
            yield session

    @contextmanager
    def _writing(self) -> Iterator[Session]:
        with (
            self._write_lock(),
            _translated(self._engine),
            Session(self._writes, expire_on_commit=False) as session,
            session.begin(),
        ):
            yield session

    @contextmanager
    def _plainly_reading(self) -> Iterator[Connection]:
        """Read without the ORM: a session costs more than the statements of trials and calls."""
        with _translated(self._engine), self._engine.connect() as connection:
            yield connection

    @contextmanager
    def _plainly_writing(self) -> Iterator[Connection]:
        """Write without the ORM."""
        with self._write_lock(), _translated(self._engine), self._writes.begin() as connection:
            yield connection

    def _write_lock(self) -> AbstractContextManager[Any]:
        # SQLite allows one writer at a time, and the others poll. The lock wakes the threads of
        # this process instead.
        return self._sqlite_lock if self._engine.dialect.name == "sqlite" else nullcontext()

    def migrate(self) -> None:
        """Bring the tables to this code's revision; safe when several processes start at once.

        Raises:
            Misuse: if the database was made by newer code.
        """
        with _translated(self._engine):
            if _revision(self._engine) == REVISION:
                return
            with _migration_lock(self._engine):
                found = _revision(self._engine)
                if found != REVISION:
                    _upgrade(self._engine, found)


def not_before(at: datetime, last: datetime | None) -> datetime:
    """Return a time for what comes after `last`, however the clock was set meanwhile.

    What is ordered by time stays in the order in which it happened. A `last` that is more than a
    day ahead is a clock that was wrong then, which nothing later is to follow.
    """
    if last is None or not timedelta(0) <= last - at <= _SET_BACK:
        return at
    return last + timedelta(microseconds=1)


def _engine(url: str) -> Engine:
    try:
        parsed = make_url(url)
        if parsed.drivername == "postgresql":
            parsed = parsed.set(drivername="postgresql+psycopg")
        if parsed.get_backend_name() == "sqlite" and _is_path(parsed.database):
            if is_read_only(Path(parsed.database)):
                return _read_only_engine(parsed, Path(parsed.database))
            _keep_private(Path(parsed.database))
        # A server may have closed a pooled connection. A file has not, so it needs no ping.
        is_file = parsed.get_backend_name() == "sqlite"
        engine = create_engine(parsed, pool_pre_ping=not is_file)
    except (ArgumentError, NoSuchModuleError, ImportError, ValueError):
        # The message shows neither the URL nor its fault: either may hold the password.
        scheme, separator, _ = url.partition("://")
        shown = f"{scheme[:_SCHEME_CHARS]}://..." if separator else "without scheme"
        raise Misuse(
            f"database URL {shown}: not understood; expected sqlite:///PATH or "
            "postgresql://USER:PASSWORD@HOST:PORT/DATABASE, special characters percent-encoded"
        ) from None
    if is_file:
        event.listen(engine, "connect", _configure_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
    return engine


def _read_only_engine(url: URL, database: Path) -> Engine:
    """Return an engine on a copy of a database whose disk takes no writes.

    To read a database with a log of writes, SQLite has to write beside it.
    """
    folder = tempfile.TemporaryDirectory(prefix="nightshift-read-only-")
    copy = Path(folder.name) / "copy.db"
    for ending in ("", "-wal"):
        found = Path(f"{database}{ending}")
        if found.is_file():
            shutil.copyfile(found, f"{copy}{ending}")

    def connect() -> sqlite3.Connection:
        connection = sqlite3.connect(Path(folder.name) / copy.name, check_same_thread=False)
        _configure_sqlite(connection, None)
        connection.execute("PRAGMA query_only=ON")
        return connection

    engine = create_engine(url, creator=connect)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _is_path(database: str | None) -> TypeGuard[str]:
    return bool(database) and not str(database).startswith((":memory:", "file:"))


def _keep_private(database: Path) -> None:
    """Create the database's folder and file if need be, closed to other accounts."""
    if not database.parent.exists():
        private_folder(database.parent)
    # SQLite gives the files that it writes beside a database the mode of the database.
    for path in (database, *(Path(f"{database}{ending}") for ending in ("-wal", "-shm"))):
        tighten(path)
    # If it cannot be created, the first connection raises the error.
    with suppress(PermissionError):
        private_file(database)


def _configure_sqlite(connection: sqlite3.Connection, _record: Any) -> None:
    # We send BEGIN ourselves: after the driver's own deferred BEGIN, a transaction that reads
    # before it writes fails at once, without waiting, if another process wrote in between.
    connection.isolation_level = None
    for pragma in (
        f"busy_timeout={_BUSY_SECONDS * 1000}",
        "journal_mode=WAL",
        "foreign_keys=ON",
        "synchronous=NORMAL",
    ):
        connection.execute(f"PRAGMA {pragma}")


def _begin_sqlite(connection: Connection) -> None:
    writes = connection.get_execution_options().get("writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


@contextmanager
def _translated(engine: Engine) -> Iterator[None]:
    try:
        yield
    except (OperationalError, InternalError) as exc:
        # psycopg has a write to a server that takes none among its internal errors.
        if isinstance(exc, InternalError) and way_out(exc) is None:
            raise
        where = engine.url.render_as_string(hide_password=True)
        reason = str(exc.orig).strip().splitlines()[0]
        helps = way_out(exc)
        said = f"{reason}; {helps}" if helps else reason
        raise StoreUnavailable(f"database {where}: {said}") from exc


def _revision(engine: Engine) -> str | None:
    with engine.connect() as connection:
        if not inspect(connection).has_table("alembic_version"):
            return None
        return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()


def _upgrade(engine: Engine, found: str | None) -> None:
    from alembic import command
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option(
        "script_location", str(Path(__file__).resolve().parent.parent / "migrations")
    )
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    if found is not None and found not in known:
        raise Misuse(
            f"database {engine.url.render_as_string(hide_password=True)} is at revision {found}, "
            f"which this version ({REVISION}) does not know; update Nightshift"
        )
    _logger.info("migrating database", extra={"from": found, "to": REVISION})
    with engine.execution_options(writes=True).begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


@contextmanager
def _migration_lock(engine: Engine) -> Iterator[None]:
    if engine.url.get_backend_name() == "postgresql":
        with engine.connect() as connection:
            connection.execute(text(f"SELECT pg_advisory_lock({_MIGRATION_LOCK})"))
            try:
                yield
            finally:
                connection.execute(text(f"SELECT pg_advisory_unlock({_MIGRATION_LOCK})"))
        return
    if not engine.url.database:
        yield
        return
    with FileLock(f"{engine.url.database}.lock", fallback_to_soft=False):
        yield
