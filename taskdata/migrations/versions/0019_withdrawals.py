"""The tombstones of withdrawn tasks."""

import sqlalchemy as sa
from alembic import op

import taskdata.tables

revision = "0019"
down_revision = "0018"


def upgrade() -> None:
    """Add the table."""
    op.create_table(
        "withdrawal",
        sa.Column("task_hash", sa.String(), primary_key=True),
        sa.Column("task_id", sa.String(), nullable=False),
        sa.Column("bank", sa.String(), nullable=False),
        sa.Column("reason", sa.String(), nullable=False),
        sa.Column("withdrawn_at", taskdata.tables.UtcDateTime(timezone=True), nullable=False),
    )


def downgrade() -> None:
    """Drop it; runs evaluate the withdrawn tasks again."""
    op.drop_table("withdrawal")
