"""A PostgreSQL server with one database, from initdb to the final state, as CSV and as a cluster.

Nothing survives a trial, so nothing is ever flushed to disk. Until the host has been told that the
server is ready, nobody else can know its socket, and the server trusts every connection; from then
on every user needs a password, and only this program knows the superuser's.
"""

import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, LiteralString

import psycopg
from psycopg import sql

from environments.services.inside.cluster import (
    DATA,
    SUPERUSER,
    Failed,
    fill,
    make_empty,
    pack_template,
    run,
    version,
)
from environments.services.inside.lines import (
    ALIVE,
    FAILED,
    KEEP,
    KEPT,
    LOST,
    OUTPUT,
    RENEW,
    SOCKETS,
    STATE,
    last_lines,
    orders,
    plain,
    say,
    settings,
)
from environments.services.inside.packing import pack, unpack
from environments.services.inside.script_access import (
    ScriptAccess,
    close_off,
    drop_templates,
    renew,
)
from environments.services.inside.template import EMPTY, FILLED, KEPT_MOUNT, TEMPLATE_MOUNT
from environments.services.postgresql_binaries import MISSING, newest_binaries

_PORT = 5432
_SOCKETS = SOCKETS / "postgresql"
_LOG = OUTPUT / "server.log"
_START_SECONDS = 60.0
_END_SECONDS = 1.0

_OPTIONS = {
    "listen_addresses": "",
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "autovacuum": "off",
    "jit": "off",
    "shared_buffers": "64MB",
    "max_wal_size": "64MB",
    "max_connections": "50",
    # Parallel workers would need more shared memory than a sandbox has.
    "max_parallel_workers": "0",
    "log_min_messages": "fatal",
    # What is asked is nobody's business, see `script_access`.
    "track_activities": "off",
}
# Before PostgreSQL 15 every user may create functions where the superuser would find them.
_OWN_NAMES_ONLY = "-c search_path=pg_catalog"
# The database owner's session settings must not change what is written down. The host limits how
# long it takes.
_READING = (
    f"{_OWN_NAMES_ONLY} -c role=none -c row_security=off -c datestyle=ISO "
    "-c intervalstyle=postgres -c timezone=UTC -c extra_float_digits=1 -c bytea_output=hex "
    "-c client_encoding=UTF8 -c statement_timeout=0 -c lock_timeout=0 "
    "-c idle_in_transaction_session_timeout=0 -c default_transaction_read_only=on"
)
_TABLES: LiteralString = """
    SELECT n.nspname, c.relname, ARRAY(
        SELECT a.attname FROM pg_catalog.pg_index i
        JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum = ANY (i.indkey)
        WHERE i.indrelid = c.oid AND i.indisprimary
        ORDER BY pg_catalog.array_position(i.indkey::smallint[], a.attnum))::text[],
        c.relkind = 'p'
    FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relpersistence <> 't'
        AND n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'pg\\_%'
    ORDER BY 1, 2
"""


def main() -> int:
    """Serve what the first line asks for; return the exit code."""
    given = settings()
    binaries = newest_binaries()
    if binaries is None:
        say(failed=MISSING)
        return 1
    server = _Server(binaries, given)
    if "make" in given:
        return _reported(lambda: server.make(filled=given["make"] == FILLED))
    code = _reported(server.start)
    work = {
        STATE: server.write_state,
        KEEP: server.keep,
        RENEW: server.renew,
        ALIVE: server.answer,
    }
    for order in orders() if code == 0 else ():
        code = _reported(work[order], lambda: LOST if server.is_lost() else FAILED)
    return code


def _reported(
    work: Callable[[], dict[str, str]], failure: Callable[[], str] = lambda: FAILED
) -> int:
    """Do the work and tell the host the result, or a failure under the key `failure` returns."""
    try:
        say(**work())
    except (psycopg.Error, OSError, subprocess.SubprocessError, Failed) as error:
        say(**{failure(): " ".join(str(error).split())[:500], "log": last_lines(_LOG)})
        return 1
    return 0


class _Server:
    """The server and its database."""

    def __init__(self, binaries: Path, given: dict[str, Any]) -> None:
        self._binaries = binaries
        self._database: str = given["database"]
        self._user: str = given["user"]
        self._user_password: str = given["password"]
        self._access = ScriptAccess(**given["access"]) if "access" in given else None
        self._sockets = OUTPUT if given.get("make") else _SOCKETS
        self._is_kept = bool(given.get("is_kept"))
        self._is_filled = bool(given.get("is_filled"))
        self._password = secrets.token_hex(16)
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> dict[str, str]:
        """Start and fill the server, then require passwords; return the facts for the host."""
        self._make_data()
        with closing(self._begun()) as connection:
            if not self._is_kept and not self._is_filled:
                self._fill_empty(connection)
            if self._access is not None:
                self._give_to_scripts(connection, self._access)
            (DATA / "pg_hba.conf").write_text("local all all scram-sha-256\n")
            connection.execute(
                sql.SQL("ALTER ROLE {} PASSWORD {}").format(
                    sql.Identifier(SUPERUSER), self._password
                )
            )
            connection.execute("SELECT pg_reload_conf()")
        return {"ready": self._asked_as_the_agent()}

    def make(self, *, filled: bool) -> dict[str, str]:
        """Make a cluster with the database and pack it; return the facts for the host."""
        make_empty(self._binaries)
        with closing(self._begun()) as connection:
            role, database = sql.Identifier(self._user), sql.Identifier(self._database)
            for statement in (
                sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(role, self._user_password),
                sql.SQL("CREATE DATABASE {} OWNER {}").format(database, role),
            ):
                connection.execute(statement)
            drop_templates(connection)
        where = self._where(self._database)
        if filled:
            fill(self._binaries, where, self._user)
        with closing(psycopg.connect(**where, user=SUPERUSER, autocommit=True)) as connection:
            # What differs at the end is kept, and readers of rows that are not frozen change them.
            connection.execute("VACUUM (FREEZE, ANALYZE)")
        self._stop()
        pack_template()
        return {"ready": version(self._binaries)}

    def _begun(self) -> "psycopg.Connection[Any]":
        """Start the server and return a superuser's connection."""
        settings = _OPTIONS | {"unix_socket_directories": str(self._sockets)}
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        with _LOG.open("wb") as log:
            self._process = subprocess.Popen(
                [self._binaries / "postgres", "-D", DATA, *options],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        return self._first_connection()

    def _make_data(self) -> None:
        if not self._is_kept:
            run(("tar", "--extract", "--file", TEMPLATE_MOUNT, "--directory", OUTPUT))
            return
        unpack(Path(KEPT_MOUNT), Path(TEMPLATE_MOUNT), DATA)
        kept, ours = (DATA / "PG_VERSION").read_text().strip(), version(self._binaries)
        if ours.split(".")[0] != kept.split(".")[0]:
            raise Failed(
                f"its final state was kept by PostgreSQL {kept}, and here is {ours}: "
                f"install PostgreSQL {kept} and score again"
            )
        (DATA / "pg_hba.conf").write_text("local all all trust\n")

    def _fill_empty(self, connection: "psycopg.Connection[Any]") -> None:
        role, database = sql.Identifier(self._user), sql.Identifier(self._database)
        empty = sql.Identifier(EMPTY)
        for statement in (
            sql.SQL("ALTER DATABASE {} RENAME TO {}").format(empty, database),
            sql.SQL("ALTER ROLE {} RENAME TO {}").format(empty, role),
            sql.SQL("ALTER ROLE {} PASSWORD {}").format(role, self._user_password),
        ):
            connection.execute(statement)
        fill(self._binaries, self._where(self._database), self._user)

    def _give_to_scripts(self, connection: "psycopg.Connection[Any]", access: ScriptAccess) -> None:
        left = None
        if self._made_readable(connection):
            where = self._where(self._database)
            left = psycopg.connect(
                **where, user=SUPERUSER, options=_OWN_NAMES_ONLY, autocommit=True
            )
        close_off(connection, left, access)

    def renew(self) -> dict[str, str]:
        """Give the next program the final state; return the facts for the host."""
        if self._access is None:
            raise Failed("no program was announced")
        with closing(self._above()) as connection:
            renew(connection, self._access)
        return {"done": "renewed"}

    def answer(self) -> dict[str, str]:
        """Ask the server anything; return the facts for the host."""
        self._above().close()
        return {"alive": "yes"}

    def keep(self) -> dict[str, str]:
        """Stop the server and pack what it holds; return the facts for the host."""
        shutil.rmtree(OUTPUT / STATE, ignore_errors=True)
        folder = OUTPUT / KEPT
        folder.mkdir()
        self._stop()
        pack(DATA, Path(TEMPLATE_MOUNT), folder / KEPT)
        return {"kept": version(self._binaries)}

    def _stop(self) -> None:
        if self._process is None:
            raise Failed("the server has not been started")
        self._process.send_signal(signal.SIGINT)
        if code := self._process.wait():
            raise Failed(f"the server ended with code {code}")
        # After a clean end nothing in the log is needed, and the log is most of what has changed.
        run((self._binaries / "pg_resetwal", "-D", DATA))

    def _above(self) -> "psycopg.Connection[Any]":
        return psycopg.connect(
            **self._where(SUPERUSER),
            user=SUPERUSER,
            password=self._password,
            options=_OWN_NAMES_ONLY,
            autocommit=True,
        )

    def write_state(self) -> dict[str, str]:
        """Write every table to a CSV file; return the facts for the host.

        If the owner has dropped the database, there are no files.
        """
        folder = OUTPUT / STATE
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        who: dict[str, Any] = {"user": SUPERUSER, "password": self._password}
        with closing(self._above()) as above:
            if not self._made_readable(above):
                return {"done": "no database"}
        with closing(
            psycopg.connect(**self._where(self._database), **who, options=_READING, autocommit=True)
        ) as connection:
            tables = connection.execute(_TABLES).fetchall()
            for schema, table, keys, partitioned in tables:
                name = plain(table) if schema == "public" else f"{plain(schema)}.{plain(table)}"
                rows = _rows(schema, table, keys, partitioned)
                with (
                    (folder / f"{name}.csv").open("wb") as file,
                    connection.cursor().copy(rows) as copy,
                ):
                    for chunk in copy:
                        file.write(chunk)
        return {"done": f"{len(tables)} tables"}

    def _made_readable(self, connection: "psycopg.Connection[Any]") -> bool:
        """End other sessions, which may hold locks; return whether the database still exists.

        The owner may have closed the database to everybody, also by settings under which no session
        survives.
        """
        connection.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
            "WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
        )
        found = connection.execute(
            "SELECT 1 FROM pg_database WHERE datname = %s", (self._database,)
        ).fetchone()
        if found is None:
            return False
        for change in ("ALLOW_CONNECTIONS true", "RESET ALL"):
            connection.execute(
                sql.SQL("ALTER DATABASE {} {}").format(
                    sql.Identifier(self._database), sql.SQL(change)
                )
            )
        return True

    def is_lost(self) -> bool:
        """Return whether the server process itself is gone, which no client can cause."""
        if self._process is None:
            return True
        try:
            self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            return False
        return True

    def _first_connection(self) -> "psycopg.Connection[Any]":
        deadline = time.monotonic() + _START_SECONDS
        while True:
            if self._process is not None and self._process.poll() is not None:
                raise Failed(f"the server ended with code {self._process.returncode}")
            try:
                return psycopg.connect(**self._where(SUPERUSER), user=SUPERUSER, autocommit=True)
            except psycopg.OperationalError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.01)

    def _asked_as_the_agent(self) -> str:
        """Connect as the agent will and ask for the version; this is the health check."""
        # Programs get the database later, each a copy of its own.
        where = self._where(self._database if self._access is None else SUPERUSER)
        # The server applies new access rules a moment after it is told to.
        deadline = time.monotonic() + _START_SECONDS
        while _lets_in_without_password(where, self._user):
            if time.monotonic() > deadline:
                raise Failed("the server goes on trusting whoever connects")
            time.sleep(0.01)
        with closing(
            psycopg.connect(**where, user=self._user, password=self._user_password)
        ) as connection:
            row = connection.execute("SHOW server_version").fetchone()
        return str(row[0]).split()[0] if row else ""

    def _where(self, database: str) -> dict[str, Any]:
        return {"host": str(self._sockets), "port": _PORT, "dbname": database}


def _lets_in_without_password(where: dict[str, Any], user: str) -> bool:
    try:
        psycopg.connect(**where, user=user).close()
    except psycopg.OperationalError:
        return False
    return True


def _rows(schema: str, table: str, keys: list[str], partitioned: bool) -> sql.Composed:
    """Return the query for all rows in a deterministic order."""
    order = sql.SQL(", ").join(map(sql.Identifier, keys)) if keys else sql.SQL("ctid")
    return sql.SQL(
        "COPY (SELECT * FROM {} ORDER BY {}) TO STDOUT WITH (FORMAT csv, HEADER)"
    ).format(
        sql.SQL("{}{}").format(
            sql.SQL("" if partitioned else "ONLY "), sql.Identifier(schema, table)
        ),
        order,
    )


if __name__ == "__main__":
    sys.exit(main())
