"""Of everything in quarantine, the rule and the value; what a person decided about it."""

import sqlalchemy as sa
from alembic import op

import taskdata.tables

revision = "0021"
down_revision = "0020"

_COLUMNS = ("rule", "value", "ended")


def upgrade() -> None:
    """Add columns and table; candidates in quarantine get the entry that they did not have yet."""
    for name in _COLUMNS:
        op.add_column("quarantine", sa.Column(name, sa.String(), nullable=True))
    op.create_table(
        "quarantine_decision",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("item", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("rule", sa.String(), nullable=True),
        sa.Column("found", sa.String(), nullable=False),
        sa.Column("reason", sa.String(), nullable=False),
        sa.Column("by", sa.String(), nullable=False),
        sa.Column("replaced_by", sa.String(), nullable=True),
        sa.Column("at", taskdata.tables.UtcDateTime(timezone=True), nullable=False),
    )
    op.create_index("ix_quarantine_decision_item", "quarantine_decision", ["item"])
    op.execute(
        "INSERT INTO quarantine (stage, origin, item, reason, excerpt, at) "
        "SELECT candidate.stage, candidate.refresh_id, candidate.id, candidate.reason, '', "
        "refresh.created_at FROM candidate JOIN refresh ON refresh.id = candidate.refresh_id "
        "WHERE candidate.status = 'quarantined'"
    )


def downgrade() -> None:
    """Drop them; overrides and their reasons are lost."""
    op.drop_table("quarantine_decision")
    for name in _COLUMNS:
        op.drop_column("quarantine", name)
