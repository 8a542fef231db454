"""A database is opened at the revision of the tables, or refused with a clear error."""

import pytest
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine, text

from taskdata import tables
from taskdata.errors import Misuse, StoreUnavailable
from taskdata.store import Store, StoreAddress


def test_the_migrations_end_at_the_revision_of_the_tables(store):
    config = Config()
    config.set_main_option("script_location", "taskdata/migrations")
    assert ScriptDirectory.from_config(config).get_current_head() == tables.REVISION


def test_the_migrations_make_exactly_the_tables_of_the_code(store):
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext
    from sqlmodel import SQLModel

    with store._engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, SQLModel.metadata) == []


def test_a_database_of_a_newer_version_is_refused(tmp_path):
    url = f"sqlite:///{tmp_path}/newer.db"
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE alembic_version (version_num VARCHAR(32))"))
        connection.execute(text("INSERT INTO alembic_version VALUES ('9999')"))
    with pytest.raises(Misuse, match="9999"):
        Store.open(StoreAddress(database_url=url, artifacts_url=f"file://{tmp_path}/a"))


def test_a_database_that_is_not_there_is_a_clear_error(tmp_path):
    address = StoreAddress(
        database_url="postgresql://nobody:secret@127.0.0.1:9/none",
        artifacts_url=f"file://{tmp_path}",
    )
    with pytest.raises(StoreUnavailable) as caught:
        Store.open(address)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:secret/pass@host:secretport/db",
        "postgres+nodriver://me:secret@host/db",
        "mysql://me:secret@host/db",
        "me:secret@host",
    ],
)
def test_a_database_url_that_is_none_is_refused_and_its_password_not_told(url, tmp_path):
    with pytest.raises(Misuse, match="database URL") as caught:
        Store.open(StoreAddress(database_url=url, artifacts_url=f"file://{tmp_path}"))
    assert "secret" not in str(caught.value)
