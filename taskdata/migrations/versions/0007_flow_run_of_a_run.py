"""A run, and a refresh, names the flow run that started it."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"

_TABLES = ("run", "refresh")


def upgrade() -> None:
    """Add the columns; of earlier runs nobody noted it."""
    for table in _TABLES:
        op.add_column(table, sa.Column("flow_run_id", sa.String(), nullable=True))


def downgrade() -> None:
    """Drop them."""
    for table in _TABLES:
        op.drop_column(table, "flow_run_id")
