"""What is kept of every published run for the pages that look over many nights."""

import sqlalchemy as sa
from alembic import op

import taskdata.tables

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """Add the table; nights of runs that are there already are made when the next is published."""
    op.create_table(
        "night",
        sa.Column("run_id", sa.String(), primary_key=True),
        sa.Column("created_at", taskdata.tables.UtcDateTime(timezone=True), nullable=False),
        sa.Column("release_hash", sa.String(), nullable=False),
        sa.Column("confirms", sa.String(), nullable=True),
        sa.Column("night", sa.Text(), nullable=False),
        sa.Column("morning", sa.Text(), nullable=True),
    )
    op.create_index("ix_night_created_at", "night", ["created_at"])
    op.create_index("ix_night_confirms", "night", ["confirms"])


def downgrade() -> None:
    """Drop it; everything in it can be made again from the runs."""
    op.drop_table("night")
