"""Pictures of the pages of files are kept by the files' content."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Add the table."""
    op.create_table(
        "page_pictures",
        sa.Column("sha256", sa.String(), primary_key=True),
        sa.Column("ending", sa.String(), primary_key=True),
        sa.Column("drawer", sa.String(), primary_key=True),
        sa.Column("pictures", sa.JSON(), nullable=False),
        sa.Column("page_count", sa.Integer(), nullable=False),
        sa.Column("reason", sa.String(), nullable=False),
    )


def downgrade() -> None:
    """Drop it."""
    op.drop_table("page_pictures")
