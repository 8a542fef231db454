"""What a task's program gets of a PostgreSQL server: roles, and a database of its own.

The agent owned the database, so what it left there may be code: views, functions, operators,
policies. Code that learns what a program asks could answer just that. So nothing in the database
sees the text of a query, the names of PostgreSQL's own functions and operators mean these alone,
row-level security does not apply, and no setting of a role or the database is left.
"""

from dataclasses import dataclass
from typing import Any, LiteralString

import psycopg
from psycopg import sql

_KEPT = "nightshift_kept"
"""The database as the agent left it, which every program gets a copy of."""

_TELLS_QUERIES: tuple[LiteralString, ...] = (
    "current_query",
    "pg_cursor",
    "pg_prepared_statement",
    "pg_stat_get_activity",
    "pg_stat_get_backend_activity",
)
# Only what the superuser owns is left as it is, such as the functions of an extension. Views find
# what they use by number, so what is renamed still works there.
_RENAMED: tuple[LiteralString, ...] = (
    "UPDATE pg_proc f SET proname = 'renamed_' || f.oid WHERE f.proowner <> 10 AND EXISTS ("
    "SELECT FROM pg_proc o WHERE o.pronamespace = 'pg_catalog'::regnamespace "
    "AND o.proname = f.proname)",
    "UPDATE pg_operator SET oprname = 'renamed_' || oid WHERE oprowner <> 10",
)
_READS_ALL_FROM = 140000
_STRATEGY_FROM = 150000


@dataclass(frozen=True)
class ScriptAccess:
    """What a program of a task is told, and how long it may wait for an answer."""

    database: str
    user: str
    """The role that the agent had, which some formats write into their programs."""
    user_password: str
    role: str
    password: str
    seconds: int


def close_off(
    server: "psycopg.Connection[Any]", left: "psycopg.Connection[Any] | None", access: ScriptAccess
) -> None:
    """Make the roles of programs, and put the database aside that each gets a copy of.

    Args:
        server: A superuser's connection to another database.
        left: The same to the database that the agent left, closed afterwards; None: there is none.
        access: What programs are told.
    """
    role, user = sql.Identifier(access.role), sql.Identifier(access.user)
    server.execute(sql.SQL("CREATE ROLE {} LOGIN BYPASSRLS IN ROLE {}").format(role, user))
    server.execute(sql.SQL("ALTER ROLE {} BYPASSRLS").format(user))
    _reset_roles(server, access)
    if server.info.server_version >= _READS_ALL_FROM:
        server.execute(sql.SQL("GRANT pg_read_all_data TO {}, {}").format(role, user))
    if left is None:
        return
    with left.transaction():
        for name in _TELLS_QUERIES:
            for row in left.execute(
                "SELECT oid::regprocedure::text FROM pg_proc "
                "WHERE proname = %s AND pronamespace = 'pg_catalog'::regnamespace",
                (name,),
            ).fetchall():
                left.execute(f"REVOKE EXECUTE ON FUNCTION {row[0]} FROM PUBLIC".encode())
        for statement in _RENAMED:
            left.execute(statement)
    left.close()
    kept, database = sql.Identifier(_KEPT), sql.Identifier(access.database)
    server.execute(sql.SQL("ALTER DATABASE {} RENAME TO {}").format(database, kept))
    server.execute(sql.SQL("ALTER DATABASE {} OWNER TO CURRENT_USER").format(kept))
    server.execute(sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS false").format(kept))


def renew(server: "psycopg.Connection[Any]", access: ScriptAccess) -> None:
    """Undo what an earlier program has changed: the database, the roles and their settings."""
    database, kept = sql.Identifier(access.database), sql.Identifier(_KEPT)
    _reset_roles(server, access)
    server.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(database))
    if not server.execute("SELECT 1 FROM pg_database WHERE datname = %s", (_KEPT,)).fetchone():
        return
    server.execute(
        sql.SQL("CREATE DATABASE {} TEMPLATE {} OWNER {} {}").format(
            database, kept, sql.Identifier(access.user), copied_as_files(server)
        )
    )


def _reset_roles(server: "psycopg.Connection[Any]", access: ScriptAccess) -> None:
    server.execute("DELETE FROM pg_catalog.pg_db_role_setting")
    for name, password in (
        (access.role, access.password),
        (access.user, access.user_password),
    ):
        role, limit = sql.Identifier(name), access.seconds * 1000
        server.execute(sql.SQL("ALTER ROLE {} PASSWORD {}").format(role, password))
        server.execute(sql.SQL("ALTER ROLE {} SET statement_timeout = {}").format(role, limit))
    own = sql.Identifier(access.role)
    server.execute(sql.SQL("ALTER ROLE {} SET search_path = public").format(own))


def drop_templates(server: "psycopg.Connection[Any]") -> None:
    """Drop the databases that new ones are made from, half of the files of a small cluster."""
    for name in ("template0", "template1"):
        template = sql.Identifier(name)
        server.execute(sql.SQL("ALTER DATABASE {} IS_TEMPLATE false").format(template))
        server.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(template))


def copied_as_files(server: "psycopg.Connection[Any]") -> sql.SQL:
    """Return the clause that has CREATE DATABASE copy files, so that the copies are the same.

    Otherwise every page would be written to the log as well and get a number of its own.
    """
    newer = server.info.server_version >= _STRATEGY_FROM
    return sql.SQL("STRATEGY FILE_COPY" if newer else "")
