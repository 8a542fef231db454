"""Of every pass of a gate, what each expectation found."""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"

_TABLES = ("gate_result", "bank_gate")


def upgrade() -> None:
    """Add the outcomes, and find the passes of a gate by its name."""
    for table in _TABLES:
        op.add_column(table, sa.Column("outcomes", sa.JSON(), nullable=True))
        op.create_index(f"ix_{table}_gate", table, ["gate"])


def downgrade() -> None:
    """Drop them; the validation results stay in the artifact store."""
    for table in _TABLES:
        op.drop_index(f"ix_{table}_gate", table_name=table)
        op.drop_column(table, "outcomes")
