"""One table records all model calls: those of trials, of refreshes, and the shared replies."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple
from uuid import uuid4

import sqlalchemy as sa
from alembic import op

import taskdata.tables

revision = "0009"
down_revision = "0008"

_BATCH = 500
_BILL = "bill/"
_TOKENS = (
    "input_tokens",
    "output_tokens",
    "cached_input_tokens",
    "cache_write_tokens",
    "reasoning_tokens",
)
_REPLIES = sa.table(
    "model_reply",
    sa.column("key", sa.String()),
    sa.column("model", sa.String()),
    sa.column("reply", sa.JSON()),
    sa.column("at", taskdata.tables.UtcDateTime(timezone=True)),
)
_CALLS = sa.table(
    "model_call",
    sa.column("id", sa.Integer()),
    sa.column("purpose", sa.String()),
    sa.column("trial_id", sa.String()),
    sa.column("attempt", sa.Integer()),
    sa.column("refresh_id", sa.String()),
    sa.column("key", sa.String()),
    sa.column("shared_key", sa.String()),
    sa.column("model", sa.String()),
    *(sa.column(name, sa.Integer()) for name in _TOKENS),
    sa.column("tokens_at_most", sa.Integer()),
    sa.column("cost_usd", sa.Float()),
    sa.column("cost_at_most_usd", sa.Float()),
    sa.column("at", taskdata.tables.UtcDateTime(timezone=True)),
    sa.column("reply", sa.JSON(none_as_null=True)),
)


class _Reply(NamedTuple):
    key: str
    model: str
    reply: dict[str, Any]
    at: datetime


def upgrade() -> None:
    """Widen the table of trials' calls and move the shared replies and refreshes' bills into it."""
    with op.batch_alter_table("model_call") as table:
        table.add_column(sa.Column("purpose", sa.String(), nullable=True))
        table.add_column(sa.Column("refresh_id", sa.String(), nullable=True))
        table.add_column(sa.Column("shared_key", sa.String(), nullable=True))
        table.add_column(sa.Column("tokens_at_most", sa.Integer(), nullable=True))
    # No attempt of an agent has the number 0, which stood for the judge.
    of_judge = sa.case((_CALLS.c.attempt == 0, "judge"), else_="agent")
    op.execute(sa.update(_CALLS).values(purpose=of_judge))
    with op.batch_alter_table("model_call") as table:
        table.alter_column("purpose", existing_type=sa.String(), nullable=False)
        table.alter_column("trial_id", existing_type=sa.String(), nullable=True)
        table.create_foreign_key("refresh_of_model_call", "refresh", ["refresh_id"], ["id"])
    _move_replies()
    op.create_index(op.f("ix_model_call_refresh_id"), "model_call", ["refresh_id"], unique=False)
    is_shared = sa.text("shared_key IS NOT NULL")
    op.create_index(
        "shared_replies",
        "model_call",
        ["shared_key", "id"],
        sqlite_where=is_shared,
        postgresql_where=is_shared,
    )
    op.drop_table("model_reply")


def downgrade() -> None:
    """Move shared replies and refreshes' calls back into a table of their own."""
    op.create_table(
        "model_reply",
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("model", sa.String(), nullable=False),
        sa.Column("reply", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("at", taskdata.tables.UtcDateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("key"),
    )
    _move_back()
    op.drop_index("shared_replies", table_name="model_call")
    op.drop_index(op.f("ix_model_call_refresh_id"), table_name="model_call")
    with op.batch_alter_table("model_call") as table:
        table.drop_constraint("refresh_of_model_call", type_="foreignkey")
        table.alter_column("trial_id", existing_type=sa.String(), nullable=False)
        for name in ("purpose", "refresh_id", "shared_key", "tokens_at_most"):
            table.drop_column(name)


def _move_replies() -> None:
    connection = op.get_bind()
    refreshes = set(connection.execute(sa.text("SELECT id FROM refresh")).scalars())
    for replies in _pages(connection):
        moved = [_call(reply, refreshes) for reply in replies]
        connection.execute(sa.insert(_CALLS), moved)


def _pages(connection: sa.Connection) -> Iterator[list[_Reply]]:
    last = ""
    query = sa.select(_REPLIES).order_by(_REPLIES.c.key).limit(_BATCH)
    while True:
        rows = connection.execute(query.where(_REPLIES.c.key > last)).all()
        if not rows:
            return
        last = rows[-1].key
        yield [_Reply(*row) for row in rows]


def _call(kept: _Reply, refreshes: set[str]) -> dict[str, Any]:
    """Return the row of a shared reply, or of a bill.

    Neither reply nor bill counts twice: the money of a shared reply is in the bill of its refresh,
    or in the row of its trial's own call.
    """
    row: dict[str, Any] = dict.fromkeys((column.name for column in _CALLS.columns), None)
    del row["id"]
    row |= {"attempt": 0, "model": kept.model, "at": kept.at} | dict.fromkeys(_TOKENS, 0)
    if kept.key.startswith(_BILL):
        payer = kept.key.removeprefix(_BILL).rpartition("/")[0]
        return row | {
            "purpose": "construction",
            "refresh_id": payer if payer in refreshes else None,
            "key": "0" * 64,
            "tokens_at_most": kept.reply["tokens"],
            "cost_usd": kept.reply["usd"],
            "reply": kept.reply,
        }
    usage = kept.reply.get("usage", {})
    return (
        row
        | {name: usage.get(name, 0) for name in _TOKENS}
        | {
            # An owner with slashes is a candidate at a stage; the others are trials.
            "purpose": "construction" if "/" in kept.reply.get("owner", "") else "agent",
            "key": kept.key,
            "shared_key": kept.key,
            "cost_usd": kept.reply.get("cost_usd"),
            "reply": kept.reply,
        }
    )


def _move_back() -> None:
    connection = op.get_bind()
    calls = _CALLS.c
    first = sa.select(sa.func.min(calls.id)).where(calls.shared_key.is_not(None))
    shared = sa.select(calls.shared_key, calls.model, calls.reply, calls.at).where(
        calls.id.in_(first.group_by(calls.shared_key))
    )
    connection.execute(sa.insert(_REPLIES).from_select(["key", "model", "reply", "at"], shared))
    tokens = sa.func.coalesce(calls.tokens_at_most, calls.input_tokens + calls.output_tokens)
    usd = sa.func.coalesce(calls.cost_usd, calls.cost_at_most_usd)
    of_refreshes = sa.select(
        calls.refresh_id, calls.model, tokens.label("tokens"), usd.label("usd"), calls.at
    ).where(calls.refresh_id.is_not(None))
    bills = [
        {
            "key": f"{_BILL}{row.refresh_id}/{uuid4().hex}",
            "model": row.model,
            "reply": {"calls": 1, "tokens": row.tokens, "usd": row.usd, "failed_attempts": []},
            "at": row.at,
        }
        for row in connection.execute(of_refreshes)
    ]
    if bills:
        connection.execute(sa.insert(_REPLIES), bills)
    connection.execute(sa.delete(_CALLS).where(calls.trial_id.is_(None)))
