"""Model calls are kept from the moment of their reply."""

import sqlalchemy as sa
from alembic import op

import taskdata.tables

revision = "0004"
down_revision = "0003"

_TOKENS = (
    "input_tokens",
    "output_tokens",
    "cached_input_tokens",
    "cache_write_tokens",
    "reasoning_tokens",
)


def upgrade() -> None:
    """Add the table; calls of earlier runs are in their transcripts alone."""
    op.create_table(
        "model_call",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("trial_id", sa.String(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("model", sa.String(), nullable=False),
        *(sa.Column(name, sa.Integer(), nullable=False) for name in _TOKENS),
        sa.Column("cost_usd", sa.Float(), nullable=True),
        sa.Column("at", taskdata.tables.UtcDateTime(timezone=True), nullable=False),
        sa.Column("reply", sa.JSON(none_as_null=True), nullable=True),
        sa.ForeignKeyConstraint(["trial_id"], ["trial.id"]),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index(op.f("ix_model_call_trial_id"), "model_call", ["trial_id"], unique=False)


def downgrade() -> None:
    """Drop it."""
    op.drop_index(op.f("ix_model_call_trial_id"), table_name="model_call")
    op.drop_table("model_call")
