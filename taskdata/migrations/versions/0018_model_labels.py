"""Of every diagnosis, what came of asking a model about what the rules left open."""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    """Add the column; no model was asked for earlier diagnoses."""
    op.add_column("diagnosis", sa.Column("by_model", sa.JSON(), nullable=True))


def downgrade() -> None:
    """Drop it."""
    op.drop_column("diagnosis", "by_model")
