"""Of every attempt, how often its agent called each tool and why calls gave no result."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    """Add the column; of earlier attempts only their transcripts say it."""
    op.add_column("outcome", sa.Column("tool_uses", sa.JSON(), nullable=True))


def downgrade() -> None:
    """Drop it."""
    op.drop_column("outcome", "tool_uses")
