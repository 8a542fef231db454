"""A large dump is restored once; each trial starts from the cluster that came of it."""

import gzip

import pytest

from environments.services import postgresql
from taskdata.errors import ServiceFailed
from taskdata.schema.service import PostgresqlService

pytestmark = pytest.mark.postgres

DUMP = """
--
-- PostgreSQL database dump
--
-- Dumped from database version {version}
CREATE SCHEMA email;
CREATE TABLE email.messages (id int PRIMARY KEY, subject text);
COPY email.messages (id, subject) FROM stdin;
1	Hello
2	Again
\\.
{more}
"""


@pytest.fixture
def dumped(stored):
    def make(version: str = "9.6", more: str = "", path: str = "init.sql.gz") -> PostgresqlService:
        text = DUMP.format(version=version, more=more).encode()
        packed = gzip.compress(text, mtime=0) if path.endswith(".gz") else text
        return PostgresqlService(
            name="pool",
            database="gym",
            user="eigent",
            password="camel",
            files=(stored(path, packed),),
        )

    return make


COUNT = "SELECT count(*), max(subject) FROM email.messages"
CHANGE = (
    "import psycopg\n"
    "with psycopg.connect() as c:\n"
    f"    print(c.execute('{COUNT}').fetchone())\n"
    "    c.execute(\"INSERT INTO email.messages VALUES (3, 'Mine')\")\n"
)


def test_a_dump_is_restored_once_and_every_trial_has_its_own_copy(
    bubblewrap, night, dumped, kept, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(postgresql, "_LARGE", 1)
    pool = dumped()

    first, state = night.over(bubblewrap, CHANGE, pool)
    clusters = {path: path.stat().st_mtime_ns for path in kept.glob("services/*-*-*.tar")}
    second, _ = night.over(bubblewrap, CHANGE, pool.model_copy(update={"name": "other"}))

    assert first == second == "(2, 'Hello')\n"
    assert state["services/pool/email.messages.csv"].splitlines()[-1] == "3,Mine"
    assert len(clusters) == 1
    assert {p: p.stat().st_mtime_ns for p in kept.glob("services/*-*-*.tar")} == clusters


@pytest.mark.parametrize(
    ("line", "fault"),
    [("SET transaction_sleep = 0;", "ERROR"), ("\\enclose key", "error: invalid command")],
)
def test_a_dump_of_a_newer_version_says_so(
    bubblewrap, night, dumped, monkeypatch, line: str, fault: str
):
    monkeypatch.setattr(postgresql, "_LARGE", 1)
    newer = dumped("99.1", line)

    with pytest.raises(ServiceFailed) as failed:
        night.over(bubblewrap, "", newer)

    told = str(failed.value)
    assert f"init.sql.gz:12: {fault}" in told
    assert "dumped by PostgreSQL 99, and here is" in told
    assert "pg_dump" in told
