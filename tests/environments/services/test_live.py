"""Services for programs that score: started again from what a trial has left, apart from it."""

import asyncio
import os
import signal
from collections.abc import Callable

import pytest

from environments.ports import Completed
from environments.sandbox.workspace import new_workspace
from environments.services.live import live_services
from environments.services.running import running_services
from taskdata.errors import NightshiftError, ServiceFailed
from taskdata.schema.limits import KeptState
from taskdata.schema.service import PostgresqlService
from taskdata.schema.task import Resources

pytestmark = pytest.mark.postgres

CONNECT = "import os, psycopg\nc = psycopg.connect(autocommit=True)\n"


def execute(*statements: str) -> str:
    """A program that carries out statements as the role that it was told."""
    return CONNECT + f"for statement in {statements!r}: c.execute(statement)\n"


def ask(query: str) -> str:
    return CONNECT + f"print(c.execute({query!r}).fetchall())\n"


@pytest.fixture
def after(bubblewrap, night) -> Callable[..., list[Completed]]:
    """Have an agent's program use services, then others over what it left, one after another."""

    async def look(kept, names, services, programs) -> list[Completed]:
        done, room = [], night.room(bubblewrap)
        async with live_services(services, names, kept, 20, room) as live:
            for code in programs:
                ports = await live.renewed(names)
                with new_workspace(night.folder, {}) as workspace:
                    limits = Resources(wall_seconds=120)
                    async with bubblewrap.open(workspace, limits, "test", ports) as sandbox:
                        done.append(await sandbox.run([*sandbox.python(), "-c", code]))
                await live.require_alive(names)
        return done

    async def both(agent, programs, services, names) -> list[Completed]:
        room = night.room(bubblewrap)
        async with running_services(services, room, keep=names) as running:
            done = await night.run(bubblewrap, running, agent)
            assert done.exit_code == 0, done.stderr.decode()
            state = await running.final_state()
            assert state.missing == ()
        after.kept = state.kept
        return await look(state.kept, names, services, programs)

    def after(agent: str, programs: list[str], *services, names=None) -> list[Completed]:
        names = names or [service.name for service in services]
        return asyncio.run(both(agent, programs, services, names))

    after.again = lambda kept, names, services, programs: asyncio.run(
        look(kept, names, services, programs)
    )
    return after


def said(done: Completed) -> str:
    assert done.exit_code == 0, done.stderr.decode()
    return done.stdout.decode().strip()


def test_each_program_finds_the_final_state_and_changes_nothing_that_is_kept(after, shop):
    agent = execute(
        "INSERT INTO orders (item, quantity) VALUES ('plums', 7)",
        "CREATE SCHEMA mail",
        "CREATE TABLE mail.sent AS SELECT 'ann' AS whom",
    )
    spoil = execute(
        "DELETE FROM orders",
        "DROP SCHEMA mail CASCADE",
        "ALTER ROLE CURRENT_USER SET search_path = nowhere",
    )
    everything = ask("SELECT o.id, item, quantity, whom FROM orders o, mail.sent ORDER BY 1")
    expected = "[(1, 'apples', None, 'ann'), (2, 'pears', 3, 'ann'), (3, 'plums', 7, 'ann')]"

    done = after(agent, [everything, spoil, everything], shop)

    assert [said(one) for one in done] == [expected, "", expected]
    [again] = after.again(after.kept, ["shop"], [shop], [everything])
    assert said(again) == expected
    assert after.kept["shop"].size_bytes < 500_000


def test_a_program_is_told_in_variables_and_formats_may_write_the_agents_role(after, shop):
    told = (
        "import os, psycopg\n"
        "url = os.environ['DATABASE_URL']\n"
        "assert psycopg.connect(url).info.user == os.environ['PGUSER']\n"
        "names = 'PGHOST', 'PGPORT', 'PGDATABASE', 'PGUSER'\n"
        "print(*(os.environ[name] for name in names), len(os.environ['PGPASSWORD']))\n"
        "own = psycopg.connect(host=os.environ['PGHOST'], port=5432, dbname='app',\n"
        "                      user='agent', password='agent')\n"
        "print(own.execute('SELECT count(*) FROM orders').fetchone())\n"
    )

    locked = ("ALTER ROLE agent PASSWORD 'other'", "ALTER ROLE agent SET role = 'nobody'")

    done = after(execute(*locked), [told], shop)

    assert said(done[0]).splitlines() == [
        "127.0.0.1 5432 app nightshift_script 32",
        "(2,)",
    ]


HOSTILE = [
    # Answers whatever is asked, for it reads the question.
    "CREATE FUNCTION echo() RETURNS text LANGUAGE sql VOLATILE AS 'SELECT current_query()'",
    "CREATE VIEW answers AS SELECT substring(echo() from $$'([^']*)'$$) AS answer",
    # Is a better match for the column than PostgreSQL's own function and operator.
    "CREATE TABLE results (name varchar, total int)",
    "INSERT INTO results VALUES ('wrong', 1)",
    "CREATE FUNCTION lower(varchar) RETURNS text LANGUAGE sql AS $$SELECT 'right'$$",
    "CREATE FUNCTION yes(varchar, text) RETURNS bool LANGUAGE sql AS 'SELECT true'",
    "CREATE OPERATOR = (LEFTARG = varchar, RIGHTARG = text, FUNCTION = yes)",
    # Hides rows from everybody, also from those who could see them.
    "ALTER TABLE orders ENABLE ROW LEVEL SECURITY",
    "ALTER TABLE orders FORCE ROW LEVEL SECURITY",
    "REVOKE ALL ON orders FROM agent",
    "ALTER DATABASE app SET search_path = nowhere",
    "ALTER ROLE agent SET statement_timeout = 1",
    "ALTER DATABASE app CONNECTION LIMIT 0",
    # Runs for ever, and for as much memory as there is.
    "CREATE VIEW endless AS SELECT 1 AS a FROM generate_series(1, 1000000000000)",
    # Fires when the program writes.
    "CREATE FUNCTION fire() RETURNS trigger LANGUAGE plpgsql AS "
    "$$BEGIN EXECUTE 'COPY orders TO PROGRAM ''id'''; RETURN NEW; END$$",
    "CREATE TABLE trap (a int)",
    "CREATE TRIGGER fire BEFORE INSERT ON trap FOR EACH ROW EXECUTE FUNCTION fire()",
]


def test_what_an_agent_left_as_code_neither_knows_what_is_asked_nor_does_more_than_the_program(
    after, shop
):
    programs = [
        ask("SELECT count(*) FROM answers WHERE answer = '42'"),
        ask("SELECT count(*) FROM results WHERE lower(name) = 'right' OR name = 'right'::text"),
        ask("SELECT count(*) FROM orders"),
        ask("SELECT query FROM pg_stat_activity"),
        execute("INSERT INTO trap VALUES (1)"),
        execute("SET statement_timeout = '2s'", "SELECT count(*) FROM endless"),
    ]

    echo, shadowed, hidden, queries, trap, endless = after(execute(*HOSTILE), programs, shop)

    assert b"permission denied for function current_query" in echo.stderr
    assert said(shadowed) == "[(0,)]"
    assert said(hidden) == "[(2,)]"
    assert b"permission denied" in queries.stderr
    assert b"InsufficientPrivilege" in trap.stderr
    assert b"COPY orders TO PROGRAM" in trap.stderr
    assert b"statement timeout" in endless.stderr


def test_a_program_reaches_the_services_that_it_names_and_nobody_else(after, shop, post):
    reach = (
        "import socket\n"
        "for where in (('127.0.0.1', 5432), ('127.0.0.1', 1025), ('127.0.0.1', 1143),\n"
        "              ('1.1.1.1', 443)):\n"
        "    try: socket.create_connection(where, timeout=1); print('in')\n"
        "    except OSError: print('out')\n"
    )

    done = after("", [reach], shop, post, names=["shop"])

    assert said(done[0]).split() == ["in", "out", "out", "out"]


def test_mail_is_there_with_its_flags_and_sent_again_for_each_program(after, post):
    agent = (
        "import imaplib, smtplib\n"
        "with smtplib.SMTP('127.0.0.1', 1025) as s:\n"
        "    s.sendmail('ann@example.org', ['x@else.where'], 'Subject: Out\\n\\nGone.\\n')\n"
        "box = imaplib.IMAP4('127.0.0.1', 1143)\n"
        "box.login('ann@example.org', 'agent')\n"
        "box.create('Projects/2026')\n"
        "box.select('INBOX')\n"
        "box.store('1', '+FLAGS', '\\\\Flagged')\n"
    )
    look = (
        "import imaplib\n"
        "box = imaplib.IMAP4('127.0.0.1', 1143)\n"
        "box.login('ann@example.org', 'agent')\n"
        "print(any(b'2026' in line for line in box.list()[1]), box.select('INBOX')[1])\n"
        "print(b'Flagged' in box.fetch('1', 'FLAGS')[1][0])\n"
        "box.store('1', '+FLAGS', '\\\\Deleted'); box.expunge()\n"
    )

    done = after(agent, [look, look], post)

    assert [said(one).split("\n") for one in done] == [["True [b'1']", "True"]] * 2


def test_a_state_that_is_not_there_or_not_a_state_is_a_failure_of_ours(after, artifacts, shop):
    lost = KeptState(sha256="0" * 64, size_bytes=1, base_sha256="0" * 64)
    with pytest.raises(NightshiftError, match="is not in"):
        after.again({"shop": lost}, ["shop"], [shop], [])
    spoilt = artifacts.put_bytes(b"no cluster")
    bad = KeptState(sha256=spoilt, size_bytes=10, base_sha256=spoilt)
    with pytest.raises(ServiceFailed, match="'shop' failed: the packed state cannot be read"):
        after.again({"shop": bad}, ["shop"], [shop], [])


def test_without_a_state_the_services_are_as_a_trial_finds_them_until_they_are_lost(
    after, bubblewrap, night, shop, servers_below
):
    [found] = after.again(None, ["shop"], [shop], [ask("SELECT count(*) FROM orders")])
    assert said(found) == "[(2,)]"

    async def lose() -> None:
        room = night.room(bubblewrap)
        async with live_services([shop], ["shop"], None, 20, room) as live:
            await live.require_alive(["shop"])
            for server in servers_below(night.folder):
                os.kill(server, signal.SIGKILL)
            await live.require_alive(["shop"])

    with pytest.raises(ServiceFailed, match="'shop' was lost: "):
        asyncio.run(lose())


def test_the_agents_own_database_is_gone_if_it_dropped_it(after, shop: PostgresqlService):
    drop = (
        "import psycopg\n"
        "with psycopg.connect(dbname='postgres', autocommit=True) as c:\n"
        "    c.execute('DROP DATABASE app WITH (FORCE)')\n"
    )
    [done] = after(drop, [ask("SELECT 1")], shop)
    assert b'database "app" does not exist' in done.stderr
