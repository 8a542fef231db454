"""What reviewers answered to the items of the checklist."""

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0021"


def upgrade() -> None:
    """Add the column; decisions before it have no answers."""
    op.add_column("review", sa.Column("checklist", sa.JSON(none_as_null=True), nullable=True))


def downgrade() -> None:
    """Drop it; the answers are lost."""
    op.drop_column("review", "checklist")
