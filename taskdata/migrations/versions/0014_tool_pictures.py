"""Of every attempt, the pictures of its tools' results, and whether the agent verified its work."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    """Add the columns; results of earlier attempts had no pictures."""
    op.add_column("outcome", sa.Column("tool_pictures", sa.JSON(), nullable=True))
    op.add_column("outcome", sa.Column("self_verification", sa.String(), nullable=True))


def downgrade() -> None:
    """Drop them."""
    op.drop_column("outcome", "self_verification")
    op.drop_column("outcome", "tool_pictures")
