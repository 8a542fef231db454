"""Every released schema, with a row in each of its tables, comes to the head with its rows."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory

from taskdata.store import Store
from tests.soak import at_length_only

CONFIG = Config()
CONFIG.set_main_option("script_location", str(Path("taskdata/migrations").resolve()))
REVISIONS = sorted(s.revision for s in ScriptDirectory.from_config(CONFIG).walk_revisions())

KEY = "a" * 64
"""Every text, and so every key and every reference."""

MADE_ANEW = {"model_reply"}
"""Tables whose rows a later revision moves elsewhere: test_migrations.py follows them."""

CHECKED = {("outcome", "status"): "finished"}


@pytest.fixture
def address(empty_database):
    return empty_database


@pytest.fixture
def engine(address):
    engine = sa.create_engine(address.database_url.replace("postgresql:", "postgresql+psycopg:"))
    if engine.dialect.name == "sqlite":
        enforce = "PRAGMA foreign_keys=ON"
        sa.event.listen(engine, "connect", lambda connection, _: connection.execute(enforce))
    yield engine
    engine.dispose()


def bring(engine, revision: str) -> None:
    with engine.begin() as connection:
        CONFIG.attributes["connection"] = connection
        command.upgrade(CONFIG, revision)


def tables_of(engine) -> list[sa.Table]:
    metadata = sa.MetaData()
    metadata.reflect(engine)
    return [table for table in metadata.sorted_tables if table.name != "alembic_version"]


def value(column: sa.Column) -> object:
    if (column.table.name, column.name) in CHECKED:
        return CHECKED[column.table.name, column.name]
    kinds = {
        sa.Boolean: True,
        sa.Integer: 7,  # a sequence of PostgreSQL does not see it, and begins at 1
        sa.Float: 0.5,
        sa.DateTime: datetime(2026, 3, 1, 22, tzinfo=UTC),
        sa.JSON: {"a": [1]},
    }
    return next((found for kind, found in kinds.items() if isinstance(column.type, kind)), KEY)


def fill(engine, but: set[str]) -> set[str]:
    """Put a row into every table that has none yet; return the names of the tables."""
    tables = tables_of(engine)
    with engine.begin() as connection:
        for table in tables:
            if table.name not in but:
                row = {column.name: value(column) for column in table.columns}
                connection.execute(sa.insert(table).values(row))
    return {table.name for table in tables}


def rows(engine, names: set[str]) -> dict[str, dict[str, object]]:
    """The first row of each of these tables."""
    with engine.connect() as connection:
        return {
            table.name: dict(connection.execute(sa.select(table)).mappings().first() or {})
            for table in tables_of(engine)
            if table.name in names
        }


def kept(before: dict, after: dict) -> None:
    """Hold that every fact of before is there afterwards; there may be more facts now."""
    for name, row in before.items():
        if name not in MADE_ANEW:
            assert after[name].items() >= row.items() if name in after else False, name


def test_a_row_of_every_table_goes_through_all_later_revisions(address, engine):
    filled: set[str] = set()
    before: dict[str, dict[str, object]] = {}
    for revision in REVISIONS:
        bring(engine, revision)
        new = fill(engine, filled) - filled
        filled |= new
        before |= rows(engine, new)
    Store.open(address).close()
    assert filled - MADE_ANEW == {table.name for table in tables_of(engine)}
    kept(before, rows(engine, filled))


@at_length_only
@pytest.mark.soak
@pytest.mark.parametrize("revision", REVISIONS)
def test_every_released_schema_comes_to_the_head(address, engine, revision):
    bring(engine, revision)
    names = fill(engine, set())
    before = rows(engine, names)
    Store.open(address).close()
    kept(before, rows(engine, names))
