"""What a task says of its services, and where an agent finds them."""

import pytest
from pydantic import ValidationError

from taskdata.schema.checkpoint import Check, Checkpoint
from taskdata.schema.service import (
    MailAccount,
    MailService,
    PostgresqlService,
    briefs_of,
    ports_of,
)
from taskdata.schema.task import DeliverableSpec, InputFile, TaskEnvironment

SHOP = PostgresqlService(name="shop", password="s3")
POST = MailService(name="post", accounts=(MailAccount(address="ann@example.org"),))


def test_services_of_one_kind_have_ports_side_by_side():
    again = SHOP.model_copy(update={"name": "more"})

    assert ports_of((SHOP, POST, again)) == ((5432,), (1025, 1143), (5433,))


def test_an_agent_is_told_where_and_as_whom():
    shop, post = briefs_of((SHOP, POST))

    assert shop.description == (
        "PostgreSQL at 127.0.0.1:5432, database app, user agent, password s3"
    )
    assert "SMTP at 127.0.0.1:1025, IMAP at 127.0.0.1:1143" in post.description
    assert "ann@example.org (password agent)" in post.description


@pytest.mark.parametrize(
    "fields",
    [
        {"user": "postgres"},
        {"user": "pg_monitor"},
        {"user": 'x"; DROP'},
        {"database": "template1"},
        {"password": "two\nlines"},
        {"password": ""},
    ],
)
def test_a_database_leaves_the_servers_own_names_alone(fields: dict[str, str]):
    with pytest.raises(ValidationError):
        PostgresqlService(name="shop", **fields)


@pytest.mark.parametrize(
    "path",
    [
        "1.eml",
        "ann@example.org/1.eml",
        "eve@x.org/INBOX/1.eml",
        "ann@example.org/INBOX/1",
        "ann@example.org/Entwürfe/1.eml",
    ],
)
def test_a_message_belongs_to_a_mailbox_of_an_account(path: str):
    file = InputFile(path=path, sha256="a" * 64, size_bytes=1)

    with pytest.raises(ValidationError, match=r"is not <address>/<mailbox>/<file>\.eml"):
        MailService(name="post", accounts=POST.accounts, files=(file,))


def test_an_account_stands_once():
    with pytest.raises(ValidationError, match=r"ann@example\.org stands twice"):
        MailService(name="post", accounts=POST.accounts * 2)


def test_two_services_do_not_share_a_name():
    with pytest.raises(ValidationError, match="the names of services repeat"):
        TaskEnvironment(services=(SHOP, POST.model_copy(update={"name": "shop"})))


def looking_at(name: str) -> Checkpoint:
    check = Check(name="csv_rows", deliverable=name, args={"min": 1})
    return Checkpoint(id="rows", requirement="There are rows.", verifier=check)


def test_a_checkpoint_may_look_at_the_final_state_of_a_service(new_task):
    around = TaskEnvironment(services=(SHOP,))
    tree = looking_at("services/shop/orders.csv")

    task = new_task(environment=around, checkpoints=tree, deliverables=())

    assert task.state_files == {"services/shop/orders.csv"}
    with pytest.raises(ValidationError, match="not among the deliverables"):
        new_task(environment=around, checkpoints=looking_at("services/other/orders.csv"))
    with pytest.raises(ValidationError, match="not among the deliverables"):
        new_task(checkpoints=tree)


def test_an_agent_is_never_asked_for_the_state_of_a_service(new_task):
    spec = DeliverableSpec(name="services/shop/orders.csv", type="csv")

    with pytest.raises(ValidationError, match="which no agent can write"):
        new_task(environment=TaskEnvironment(services=(SHOP,)), deliverables=(spec,))


def test_a_task_without_services_keeps_its_hash(new_task):
    environment = TaskEnvironment(servers=("word",))

    assert "services" not in new_task(environment=environment).canonical_json()
