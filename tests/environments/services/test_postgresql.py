"""A task's own PostgreSQL server: filled, reached by its trial, written down at the end."""

import pytest

from environments.services.postgresql_binaries import newest_binaries
from taskdata.errors import ServiceFailed
from taskdata.schema.service import PostgresqlService

pytestmark = pytest.mark.postgres

USE = """
import psycopg
with psycopg.connect() as connection:
    print(connection.execute("SELECT * FROM orders ORDER BY id").fetchall())
    connection.execute("INSERT INTO orders (item, quantity) VALUES ('\\"plums\\"', 7)")
    connection.execute("CREATE TABLE notes (text text)")
"""


def test_an_agent_works_on_the_dump_and_the_end_is_written_down(provider, night, shop):
    said, state = night.over(provider, USE, shop)

    assert said == "[(1, 'apples', None), (2, 'pears', 3)]\n"
    assert state == {
        "services/shop/orders.csv": 'id,item,quantity\n1,apples,\n2,pears,3\n3,"""plums""",7\n',
        "services/shop/notes.csv": "text\n",
    }


def test_the_role_owns_its_database_and_no_more(bubblewrap, night, shop):
    said, _ = night.over(
        bubblewrap,
        "import os, psycopg\n"
        "attempts = [\n"
        "    'CREATE ROLE other SUPERUSER', \"COPY orders TO '/tmp/x'\",\n"
        "    \"COPY orders FROM PROGRAM 'id'\", 'SELECT rolpassword FROM pg_authid',\n"
        "    \"SELECT pg_read_file('/etc/passwd')\", 'SET SESSION AUTHORIZATION postgres',\n"
        "]\n"
        "for attempt in attempts:\n"
        "    with psycopg.connect(autocommit=True) as connection:\n"
        "        try: connection.execute(attempt)\n"
        "        except psycopg.errors.InsufficientPrivilege: print('no')\n"
        "other = {'user': 'postgres'}\n"
        "for who in (other, other | {'password': ''}, {'password': 'x'}):\n"
        "    try: psycopg.connect(**who)\n"
        "    except psycopg.OperationalError: print('out')\n",
        shop,
    )

    assert said == "no\n" * 6 + "out\n" * 3


def test_the_owner_cannot_hide_or_misplace_what_is_there(bubblewrap, night, shop):
    mischief = [
        'CREATE TABLE "../../x/y.z" (a int)',
        'CREATE SCHEMA "a.b"',
        'CREATE TABLE "a.b".c (a int)',
        "ALTER TABLE orders ENABLE ROW LEVEL SECURITY",
        "ALTER TABLE orders FORCE ROW LEVEL SECURITY",
        "ALTER DATABASE app SET search_path = nowhere",
        "ALTER DATABASE app SET statement_timeout = 1",
        "ALTER DATABASE app CONNECTION LIMIT 0",
    ]
    code = (
        "import psycopg\n"
        "with psycopg.connect(autocommit=True) as app:\n"
        f"    for statement in {mischief!r}: app.execute(statement)\n"
        "with psycopg.connect(dbname='postgres', autocommit=True) as other:\n"
        "    other.execute('ALTER DATABASE app ALLOW_CONNECTIONS false')\n"
    )

    _, state = night.over(bubblewrap, code, shop)

    assert state == {
        "services/shop/orders.csv": "id,item,quantity\n1,apples,\n2,pears,3\n",
        "services/shop/%2e%2e%2f%2e%2e%2fx%2fy%2ez.csv": "a\n",
        "services/shop/a%2eb.c.csv": "a\n",
    }


@pytest.mark.parametrize(
    "setting",
    [
        "idle_in_transaction_session_timeout = '1ms'",
        "role = 'agent'",
        "local_preload_libraries = 'nowhere'",
    ],
)
def test_no_setting_of_the_owners_keeps_its_rows_from_being_read(
    bubblewrap, night, shop, setting: str
):
    statements = [
        "ALTER TABLE orders ENABLE ROW LEVEL SECURITY",
        "ALTER TABLE orders FORCE ROW LEVEL SECURITY",
        "CREATE TABLE many AS SELECT i FROM generate_series(1, 200000) i",
        f"ALTER DATABASE app SET {setting}",
    ]
    code = (
        "import psycopg\n"
        "with psycopg.connect(autocommit=True) as app:\n"
        f"    for statement in {statements!r}: app.execute(statement)\n"
    )

    _, state = night.over(bubblewrap, code, shop)

    assert state["services/shop/orders.csv"] == "id,item,quantity\n1,apples,\n2,pears,3\n"
    assert state["services/shop/many.csv"].count("\n") == 200001


def test_a_lock_that_an_agent_left_does_not_hold_up_the_end(bubblewrap, night, shop):
    code = (
        "import psycopg, threading, time, os\n"
        "connection = psycopg.connect()\n"
        "connection.execute('LOCK TABLE orders IN ACCESS EXCLUSIVE MODE')\n"
        "threading.Thread(target=connection.execute, args=('SELECT pg_sleep(300)',)).start()\n"
        "time.sleep(0.3)\n"
        "os._exit(0)\n"
    )

    _, state = night.over(bubblewrap, code, shop)

    assert list(state) == ["services/shop/orders.csv"]


def test_a_database_that_its_owner_dropped_has_no_tables(bubblewrap, night, shop):
    code = (
        "import psycopg\n"
        "with psycopg.connect(dbname='postgres', autocommit=True) as c:\n"
        "    c.execute('DROP DATABASE app WITH (FORCE)')\n"
    )

    assert night.over(bubblewrap, code, shop) == ("", {})


def test_two_databases_have_ports_of_their_own(bubblewrap, night, shop, stored):
    other = PostgresqlService(
        name="other", database="second", files=(stored("x.sql", "CREATE TABLE here (a int);"),)
    )
    code = (
        "import psycopg\n"
        "with psycopg.connect(port=5433, dbname='second') as connection:\n"
        "    print(connection.execute('SELECT count(*) FROM here').fetchone())\n"
    )

    said, state = night.over(bubblewrap, code, shop, other)

    assert said == "(0,)\n"
    assert set(state) == {"services/shop/orders.csv", "services/other/here.csv"}


def test_a_script_that_fails_stops_the_trial_and_says_where(bubblewrap, night, stored):
    broken = PostgresqlService(
        name="shop", files=(stored("dump.sql", "SELECT 1;\nCREATE TABEL x;\n"),)
    )

    with pytest.raises(ServiceFailed, match=r"'shop' failed: psql .*dump\.sql:2: ERROR:.*TABEL"):
        night.over(bubblewrap, "", broken)


def test_the_newest_server_below_usr_is_found():
    folder = newest_binaries()

    assert folder is not None
    assert (folder / "initdb").is_file()
