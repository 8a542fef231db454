"""The services a task brings: started for each trial, reached by its sandbox alone.

A password here is part of the task and no secret: it opens a service that nobody else can reach.
"""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from taskdata.schema.base import Slug, Value
from taskdata.schema.input_file import InputFile

_MESSAGE = re.compile(r"(?P<address>[^/]+)(?:/[A-Za-z0-9 _\-]+)+/[^/]+\.eml")

HOST = "127.0.0.1"
"""Where a sandbox finds its services, each at ports of its own."""

FOLDER = "services"
"""Folder of deliverables that hold the final state: `services/<name>/...`."""

OWN = "nightshift_"
"""How the names of the roles and databases begin that Nightshift makes for itself."""

SCRIPT_ROLE = f"{OWN}script"
"""The role in which programs that score a task log in to its databases."""

MAX_SERVICES = 8
"""Of one task; their ports lie side by side."""

_Identifier = Annotated[str, StringConstraints(pattern=r"^[a-z_][a-z0-9_]{0,62}$")]
_Password = Annotated[str, StringConstraints(pattern=r"^[!-~]{1,128}$")]
Address = Annotated[
    str,
    StringConstraints(
        pattern=r"^[a-z0-9][a-z0-9._+\-]{0,63}@[a-z0-9](?:[a-z0-9.\-]{0,61}[a-z0-9])?$"
    ),
]
"""A mail address in lower case."""


class ServiceBrief(Value):
    """What an agent is told about a service."""

    name: Slug
    description: str
    """What it is, where, and as whom to log in."""


class PostgresqlService(Value):
    """A PostgreSQL server with one database, which the agent's role owns."""

    kind: Literal["postgresql"] = "postgresql"
    name: Slug
    files: tuple[InputFile, ...] = ()
    """SQL scripts for psql, such as `pg_dump --no-owner --no-privileges` writes; run in the order
    of their paths as the agent's role."""
    database: _Identifier = "app"
    user: _Identifier = "agent"
    password: _Password = "agent"  # noqa: S105 - known to the agent

    @model_validator(mode="after")
    def _not_reserved(self) -> Self:
        if self.user.startswith("pg_") or self.user == "postgres":
            raise ValueError(f"the role {self.user!r} is PostgreSQL's own; choose another name")
        if self.database in ("postgres", "template0", "template1"):
            raise ValueError(f"the database {self.database!r} is PostgreSQL's own; choose another")
        for name in (self.user, self.database):
            if name.startswith(OWN):
                raise ValueError(f"{name!r}: names with {OWN} are Nightshift's; choose another")
        return self

    def description(self, ports: Sequence[int]) -> str:
        """Return what an agent is told, given its port."""
        return (
            f"PostgreSQL at {HOST}:{ports[0]}, database {self.database}, "
            f"user {self.user}, password {self.password}"
        )


class MailAccount(Value):
    """A person with mailboxes on a mail server."""

    address: Address
    """Also the user name."""
    password: _Password = "agent"  # noqa: S105 - known to the agent


class MailService(Value):
    """A mail server: SMTP to send, IMAP to read.

    What is sent to an account is delivered at once; what is sent to anybody else goes no further
    than an outbox, which the final state shows.
    """

    kind: Literal["mail"] = "mail"
    name: Slug
    files: tuple[InputFile, ...] = ()
    """Messages as `<address>/<mailbox>/<file>.eml`; a mailbox may be nested, `INBOX` is there."""
    accounts: tuple[MailAccount, ...] = Field(min_length=1, max_length=50)

    @model_validator(mode="after")
    def _messages_belong_to_accounts(self) -> Self:
        addresses = Counter(account.address for account in self.accounts)
        repeated = [address for address, count in addresses.items() if count > 1]
        if repeated:
            raise ValueError(f"mail service {self.name!r}: the account {repeated[0]} stands twice")
        for file in self.files:
            parts = _MESSAGE.fullmatch(file.path)
            if parts is None or parts["address"] not in addresses:
                raise ValueError(
                    f"mail service {self.name!r}: {file.path!r} is not "
                    f"<address>/<mailbox>/<file>.eml with an address of {sorted(addresses)} and a "
                    "mailbox of letters, digits, spaces, `_` and `-`"
                )
        return self

    def description(self, ports: Sequence[int]) -> str:
        """Return what an agent is told, given the ports of SMTP and IMAP."""
        accounts = ", ".join(f"{a.address} (password {a.password})" for a in self.accounts)
        return (
            f"mail server: SMTP at {HOST}:{ports[0]}, IMAP at {HOST}:{ports[1]}, "
            f"both without TLS; accounts: {accounts}"
        )


Service = Annotated[PostgresqlService | MailService, Field(discriminator="kind")]

_FIRST_PORTS = {"postgresql": (5432,), "mail": (1025, 1143)}


def ports_of(services: Sequence[Service]) -> tuple[tuple[int, ...], ...]:
    """Return the ports of each service, the same ones in every trial.

    The first service of a kind has the usual ports (those below 1024 want root, so mail has 1025
    and 1143), the second the next ones.
    """
    seen: Counter[str] = Counter()
    ports = []
    for service in services:
        ports.append(tuple(port + seen[service.kind] for port in _FIRST_PORTS[service.kind]))
        seen[service.kind] += 1
    return tuple(ports)


def briefs_of(services: Sequence[Service]) -> tuple[ServiceBrief, ...]:
    """Return what an agent is told about each service."""
    return tuple(
        ServiceBrief(name=service.name, description=service.description(ports))
        for service, ports in zip(services, ports_of(services), strict=True)
    )


def service_of(deliverable: str, services: Sequence[Service]) -> Service | None:
    """Return the service whose final state the deliverable is part of, None if it is no such."""
    folder, _, rest = deliverable.partition("/")
    name, _, file = rest.partition("/")
    if folder != FOLDER or not file:
        return None
    return next((service for service in services if service.name == name), None)
