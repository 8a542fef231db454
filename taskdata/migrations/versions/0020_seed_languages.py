"""The language of a seed."""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"


def upgrade() -> None:
    """Add the column; that of earlier seeds is filled in when a language is first asked for."""
    op.add_column("seed", sa.Column("language", sa.String(), nullable=True))
    op.create_index("ix_seed_language", "seed", ["language"])


def downgrade() -> None:
    """Drop it."""
    op.drop_index("ix_seed_language", table_name="seed")
    op.drop_column("seed", "language")
