"""A whole trial with services of its own, from its preprocess program to the score."""

from pathlib import Path

import pytest

from environments.sandbox.providers import PROVIDERS, sandbox_provider
from environments.services import running
from environments.services.kinds import KINDS
from stages.execute import work
from stages.execute.dialogue.prompts import opening
from stages.prepare import work as preparing
from stages.score import work as scoring
from taskdata.schema.checkpoint import Check, Checkpoint
from taskdata.schema.run import OutcomeStatus, TrialOutcome
from taskdata.schema.service import MailAccount, MailService, PostgresqlService
from taskdata.schema.task import (
    DeliverableSpec,
    InputFile,
    ReferenceSolution,
    ReferenceStep,
    Resources,
    TaskEnvironment,
)
from taskdata.store import Store

pytestmark = pytest.mark.postgres

PREPROCESS = """
import psycopg
with psycopg.connect() as connection:
    connection.execute("INSERT INTO orders VALUES (2, 'pears', 3)")
"""
WORK = """
import os, psycopg, smtplib, urllib.request
with psycopg.connect() as connection:
    [(total,)] = connection.execute("SELECT sum(quantity) FROM orders").fetchall()
    connection.execute("INSERT INTO orders VALUES (3, 'total', %s)", (total,))
with smtplib.SMTP("127.0.0.1", 1025) as server:
    server.sendmail("ann@example.org", ["bob@example.org"], f"Subject: Total {total}\\n\\nDone.\\n")
try: urllib.request.urlopen("http://forbidden.example/")
except OSError as error: print(error)
os.makedirs("output/services/shop")
open("output/services/shop/orders.csv", "w").write("id,item,quantity\\n3,total,999\\n")
open("output/done.txt", "w").write("done")
"""


def leaf(name: str, deliverable: str, **args: object) -> Checkpoint:
    check = Check(name="csv_table", deliverable=deliverable, args=args)
    return Checkpoint(id=name, requirement=f"The {name} is right.", verifier=check)


TREE = Checkpoint(
    id="root",
    requirement="The total is in the database and Bob was told.",
    children=(
        leaf(
            "database",
            "services/shop/orders.csv",
            columns=["id", "item", "quantity"],
            key="id",
            rows=[[1, "apples", 2], [2, "pears", 3], [3, "total", 5]],
        ),
        leaf(
            "message",
            "services/post/messages.csv",
            columns=["account", "subject"],
            key="account",
            rows=[["bob@example.org", "Total 5"]],
        ),
        Checkpoint(
            id="note",
            requirement="There is a note.",
            verifier=Check(name="text_contains", deliverable="done.txt", args={"all": [["done"]]}),
        ),
    ),
)


@pytest.fixture
def tried(store: Store, new_task, new_run, tmp_path: Path):
    """Try a task with two services once; return what became of it."""
    if reason := KINDS["postgresql"].missing():
        pytest.skip(reason)

    def stored(path: str, content: str) -> InputFile:
        data = content.encode()
        sha256 = store.artifacts.put_bytes(data)
        return InputFile(path=path, sha256=sha256, size_bytes=len(data))

    def run(sandbox: str = "bubblewrap", dump: str | None = None) -> TrialOutcome:
        sql = dump or (
            "CREATE TABLE orders (id int PRIMARY KEY, item text, quantity int);\n"
            "INSERT INTO orders VALUES (1, 'apples', 2);\n"
        )
        people = (MailAccount(address="ann@example.org"), MailAccount(address="bob@example.org"))
        step = ReferenceStep(tool="python_execute", arguments={"code": WORK})
        task = new_task(
            environment=TaskEnvironment(
                preprocess=(stored("preprocess/main.py", PREPROCESS),),
                services=(
                    PostgresqlService(name="shop", files=(stored("dump.sql", sql),)),
                    MailService(name="post", accounts=people),
                ),
            ),
            deliverables=(DeliverableSpec(name="done.txt", type="txt"),),
            checkpoints=TREE,
            resources=Resources(network=("allowed.example",)),
            reference=ReferenceSolution(steps=(step,), final_answer="done"),
        )
        made = new_run(task, agents=("reference",), sandbox=sandbox)
        preparing.do(store, made.id)
        work.do(store, made.id, 0, tmp_path)
        scoring.do(store, made.id, 0)
        (trial,) = store.trials(made.id)
        outcome = store.outcome(trial.id)
        assert outcome is not None
        return outcome

    return run


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.docker] if name == "docker" else [])
        for name in PROVIDERS
    ],
)
def test_the_final_state_of_services_is_scored_by_ordinary_checks(tried, store: Store, name: str):
    if reason := sandbox_provider(name).unavailable():
        pytest.skip(reason)

    outcome = tried(name)

    assert outcome.status is OutcomeStatus.FINISHED, outcome.error_detail
    score = store.score(outcome.trial_id)
    assert score is not None
    assert [(found.leaf_id, found.score) for found in score.leaves] == [
        ("database", 10.0),
        ("message", 10.0),
        ("note", 10.0),
    ]
    posing = "'services/shop/orders.csv' is in services/, which the task's services have"
    assert outcome.rejected_files == (posing,)
    assert [service.name for service in outcome.limits.services] == ["shop", "post"]
    refused = [target.target for target in outcome.limits.refused_targets]
    assert refused == ["forbidden.example:80"]


def test_a_service_that_does_not_start_is_never_the_agents_failure(tried, store: Store):
    outcome = tried(dump="CREATE TABEL orders;")

    assert outcome.status is OutcomeStatus.INFRASTRUCTURE
    assert outcome.error.startswith("service 'shop' failed: psql ended with code")
    assert outcome.tool_calls == 0


def test_a_service_that_is_late_is_named(tried, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(running, "READY_SECONDS", 0.01)

    outcome = tried()

    assert outcome.status is OutcomeStatus.INFRASTRUCTURE
    assert "was not ready within 0.01 s" in outcome.error


def test_the_opening_tells_where_services_are_and_nothing_without_them(new_task):
    def opening_of(task) -> str:
        return opening("react_v3", task.brief(), ())[-1].text

    plain = new_task()
    shop = TaskEnvironment(services=(PostgresqlService(name="shop"),))

    told = opening_of(new_task(environment=shop))

    assert "shop: PostgreSQL at 127.0.0.1:5432, database app, user agent, password agent" in told
    assert "Services" not in opening_of(plain)
