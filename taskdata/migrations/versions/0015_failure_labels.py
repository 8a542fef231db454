"""Of every diagnosis, the labels of the taxonomies beside GTA-2's."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    """Add the column; earlier diagnoses have none of these labels."""
    op.add_column("diagnosis", sa.Column("labels", sa.JSON(), nullable=True))


def downgrade() -> None:
    """Drop it."""
    op.drop_column("diagnosis", "labels")
