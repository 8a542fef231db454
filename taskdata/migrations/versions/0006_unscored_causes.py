"""A leaf without a score says why; of earlier ones the verifier's name tells it."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Add the column; what was stored before is read from the score trees, cause included."""
    op.add_column("leaf_score", sa.Column("unscored", sa.String(), nullable=True))


def downgrade() -> None:
    """Drop it."""
    op.drop_column("leaf_score", "unscored")
