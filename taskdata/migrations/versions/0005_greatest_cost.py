"""Of a model call whose cost is unknown, the most that it can be is kept."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Add the column; of earlier calls nobody noted it."""
    op.add_column("model_call", sa.Column("cost_at_most_usd", sa.Float(), nullable=True))


def downgrade() -> None:
    """Drop it."""
    op.drop_column("model_call", "cost_at_most_usd")
